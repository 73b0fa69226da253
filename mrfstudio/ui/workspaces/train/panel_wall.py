"""Small pictures of a run on one plot: point at a pixel to read it, zoom in, enlarge, save as any plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSizeF
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.training import Panel
from mrfstudio.ui.canvas.overlays import LayerStyle, layer_picture, signed
from mrfstudio.ui.plots.content import Content, Dots, Note, PlotPicture, PlotShapes, Range, frames
from mrfstudio.ui.plots.heat_map import MapPlot, on_paper
from mrfstudio.ui.style.colours import Colours

Key = tuple[int, float, float, float, float]


@dataclass(frozen=True, eq=False)
class Hung:
    """A panel and the place where it hangs, in pixels from the upper left corner of the wall."""

    panel: Panel
    place: QRectF
    name: str
    """Which of all panels it is, for a table of numbers."""

    @property
    def key(self) -> Key:
        """The same for the same panel at the same place."""
        at = self.place
        return id(self.panel), at.x(), at.y(), at.width(), at.height()


class PanelWall(MapPlot):
    """Hangs panels where `hang` says, again whenever the wall or its letters have another size."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(Content(title), parent)
        self.hung: Sequence[Hung] = ()
        self.labels: tuple[str, ...] = ()
        """Of beliefs, as they are called."""
        self._size = QSizeF(1, 1)
        self._known: dict[Key, PlotPicture] = {}

    def set_empty_text(self, text: str) -> None:
        if text != self.content.empty:  # said again with every look at a run
            self.content.empty = text
            self.update()

    @property
    def empty_text(self) -> str:
        return self.content.empty

    def hang(self, wide: float, high: float) -> tuple[list[Hung], list[Note], list[Dots]]:
        """Panels, words and coloured squares for a wall of so many pixels."""
        raise NotImplementedError

    def hang_again(self) -> None:
        """Panels or sizes have changed."""
        top = self.heading_height() if self.content.title else 0
        self._size = QSizeF(max(self.width(), 1), max(self.height() - top, 1))
        self.hung, self.content.notes, self.content.dots = self.hang(self._size.width(), self._size.height())
        known = self._known
        self._known = {each.key: known.get(each.key) or panel_picture(each, self.labels) for each in self.hung}
        self.content.pictures = list(self._known.values())
        self.content.shapes = self._frames()
        self._dress()
        self.content.tell()

    def _frames(self) -> list[PlotShapes]:
        spans = [((at.left(), at.right()), (at.top(), at.bottom())) for at in (each.place for each in self.hung)]
        return [frames(spans, lambda colours: QColor(colours.border), 1.0)] if spans else []

    def whole_x(self) -> Range:
        return 0.0, self._size.width()

    def whole_y(self) -> Range:
        return 0.0, self._size.height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.hang_again()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "_known"):
            self.hang_again()


def panel_picture(hung: Hung, labels: tuple[str, ...]) -> PlotPicture:
    """A panel as a map with sharp pixels that says its numbers."""
    panel, place = hung.panel, hung.place

    def colour(values: np.ndarray, colours: Colours) -> np.ndarray:
        look = LayerStyle(dark=colours.name == "dark")
        pixels = layer_picture(panel.layer, values, look)
        if pixels is None:  # the file of a run that another version of the program wrote
            pixels = signed(values, look)
        return on_paper(pixels, colours)

    def describe(row: int, column: int, value: float) -> str:
        cell = panel.array[row, column]
        said = f"{value:.6g}"
        if np.ndim(cell):
            names = labels if len(labels) == len(cell) else [f"label {label}" for label in range(len(cell))]
            said = ", ".join(f"{name} {share:.1%}" for name, share in zip(names, cell, strict=True))
        help = f"<br>{panel.help}" if panel.help else ""
        return f"<b>{panel.title}</b>, row {row}, column {column}: <b>{said}</b>{help}"

    x, y = (place.left(), place.right()), (place.top(), place.bottom())
    return PlotPicture(panel.array, x, y, colour, describe, name=hung.name)
