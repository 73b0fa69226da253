"""The model's own picture: clones, receptive fields, potentials, as small panels that refresh as it learns."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.training import Panel
from mrfstudio.ui.plots.content import Dots, Note
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for
from mrfstudio.ui.workspaces.train.panel_wall import Hung, PanelWall

TITLE = "Inside the model"
LARGE = 2.2
"""How much larger a matrix is drawn than a patch: it has many more entries."""
WIDEST = 2.0
"""Width over height of a panel at most; a row of numbers is drawn flat in it."""
TITLED = 30
"""Sides from which a panel has room for its title."""
SIDES = (110, 96, 84, 72, 64, 56, 48, 42, 36, 30, 26, 22, 18, 14)


class ModelPicture(PanelWall):
    """Panels in rows, as large as all of them fit; nothing moves while the model has the same panels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TITLE, parent)
        self.panels: tuple[Panel, ...] = ()
        stands_for(self, "hidden", "coupling")
        self.setWhatsThis("What the model has learned, drawn from its parameters alone.")

    def set_panels(self, panels: Sequence[Panel]) -> None:
        self.panels = tuple(panels)
        self.hang_again()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 300), px(self, 320))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 150), px(self, 100))

    def hang(self, wide: float, high: float) -> tuple[list[Hung], list[Note], list[Dots]]:
        """Panels that do not fit at the smallest side have no place."""
        gap, line = px(self, 6), self.fontMetrics().height()
        places: list[QRectF] = []
        for side in SIDES:
            places, bottom = self._flow(wide, px(self, side), gap, line)
            if bottom <= high - gap:
                break
        hung = [
            Hung(panel, _fitted(place, panel), f"{panel.group} {panel.title}".strip())
            for panel, place in zip(self.panels, places, strict=True)
            if place.bottom() + line <= high
        ]
        return hung, self._words(hung, places, line), []

    def _words(self, hung: list[Hung], places: list[QRectF], line: float) -> list[Note]:
        """Groups above their first panel, titles below each."""
        notes, before, metrics = [], "", self.fontMetrics()
        for each, place in zip(hung, places, strict=False):
            if each.panel.group != before:
                before = each.panel.group
                notes.append(Note(before, place.left(), place.top(), (0.0, 1.0)))
            if place.width() > px(self, TITLED):
                words = metrics.elidedText(each.panel.title, Qt.TextElideMode.ElideRight, int(place.width()))
                notes.append(Note(words, place.center().x(), place.bottom() + px(self, 2)))
        return notes

    def _flow(self, wide: float, side: float, gap: float, line: float) -> tuple[list[QRectF], float]:
        """Rows of panels at a side of small ones; kinds of panels begin a new row."""
        x, y, tall = float(gap), 0.0, 0.0
        places: list[QRectF] = []
        before = ""
        for panel in self.panels:
            matrix = panel.layer == "signed" and self._mixed
            height = side * (LARGE if matrix else 1.0)
            width = height * min(panel.array.shape[1] / panel.array.shape[0], WIDEST)
            titled = line if width > px(self, TITLED) else 0
            if places and (x + width + gap > wide or panel.group != before):
                x, y, tall = float(gap), y + tall + gap, 0.0
            if panel.group != before:
                y += line + gap if panel.group else 0
            places.append(QRectF(x, y, width, height))
            tall = max(tall, height + titled)
            x += width + gap
            before = panel.group
        return places, y + tall

    @property
    def _mixed(self) -> bool:
        return len({panel.layer for panel in self.panels}) > 1


def _fitted(place: QRectF, panel: Panel) -> QRectF:
    """The largest rectangle of a panel's shape in the middle of another, on whole pixels."""
    height, width = panel.array.shape[:2]
    scale = min(place.width() / width, place.height() / height)
    wide, high = max(round(width * scale), 1), max(round(height * scale), 1)
    return QRectF(round(place.center().x() - wide / 2), round(place.center().y() - high / 2), wide, high)
