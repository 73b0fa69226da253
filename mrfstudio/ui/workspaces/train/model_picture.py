"""The model's own picture: clones, receptive fields, potentials, as small panels that refresh as it learns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mrfstudio.engine.protocol.training import Panel
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, layer_picture, signed
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for


class PanelPictures:
    """Draws panels for one widget and remembers their pixels until other panels or another theme come."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._pixels: dict[int, np.ndarray] = {}
        self._theme = ""

    def forget(self) -> None:
        self._pixels.clear()

    def paint(self, painter: QPainter, panel: Panel, square: QRectF) -> None:
        """Draw a panel as large as fits into a rectangle, with sharp pixels and a thin frame."""
        colours = colours_of(self._widget)
        if colours.name != self._theme:
            self._theme = colours.name
            self.forget()
        key = id(panel)
        if key not in self._pixels:
            look = LayerStyle(dark=colours.name == "dark")
            picture = layer_picture(panel.layer, panel.array, look)
            if picture is None:  # the file of a run that another version of the program wrote
                picture = signed(panel.array, look)
            self._pixels[key] = np.ascontiguousarray(picture)
        pixels = self._pixels[key]
        place = fitted(square, pixels.shape[1], pixels.shape[0])
        painter.fillRect(place, QColor(colours.paper))
        painter.drawImage(place, as_image(pixels))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.drawRect(place.adjusted(-0.5, -0.5, 0.5, 0.5))


def fitted(square: QRectF, width: int, height: int) -> QRectF:
    """The largest rectangle of a picture's shape in the middle of another, on whole pixels."""
    scale = min(square.width() / width, square.height() / height)
    size = QPointF(max(round(width * scale), 1), max(round(height * scale), 1))
    corner = square.center() - size / 2
    return QRectF(round(corner.x()), round(corner.y()), size.x(), size.y())


LARGE = 2.2
"""How much larger a matrix is drawn than a patch: it has many more entries."""
WIDEST = 2.0
"""Width over height of a panel at most; a row of numbers is drawn flat in it."""
TITLED = 30
"""Sides from which a panel has room for its title."""
SIDES = (110, 96, 84, 72, 64, 56, 48, 42, 36, 30, 26, 22, 18, 14)


class ModelPicture(QWidget):
    """Panels in rows, as large as all of them fit; nothing moves while the model has the same panels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.panels: tuple[Panel, ...] = ()
        self.empty_text = ""
        self._pictures = PanelPictures(self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Inside the model")
        stands_for(self, "hidden", "coupling")
        self.setWhatsThis("What the model has learned, drawn from its parameters alone.")

    def set_panels(self, panels: Sequence[Panel]) -> None:
        self.panels = tuple(panels)
        self._pictures.forget()
        self.update()

    def set_empty_text(self, text: str) -> None:
        if text != self.empty_text:  # said again with every look at a run, and painting takes milliseconds
            self.empty_text = text
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 300), px(self, 320))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 150), px(self, 100))

    # Geometry ---------------------------------------------------------------------------------------------------------

    def places(self) -> list[QRectF]:
        """Where the panels are drawn, each above its title; panels that do not fit have no place."""
        gap, line = px(self, 6), self.fontMetrics().height()
        top = round(line * 1.5) + gap
        found: list[QRectF] = []
        for side in SIDES:
            found, bottom = self._flow(px(self, side), gap, line, top)
            if bottom <= self.height() - gap:
                return found
        return [place for place in found if place.bottom() + line <= self.height()]

    def _flow(self, side: float, gap: float, line: float, top: float) -> tuple[list[QRectF], float]:
        """Rows of panels at a side of small ones; kinds of panels begin a new row."""
        x, y, tall = float(gap), float(top), 0.0
        places: list[QRectF] = []
        before = ""
        for panel in self.panels:
            matrix = panel.layer == "signed" and self._mixed
            height = side * (LARGE if matrix else 1.0)
            width = height * min(panel.array.shape[1] / panel.array.shape[0], WIDEST)
            titled = line if width > px(self, TITLED) else 0
            if places and (x + width + gap > self.width() or panel.group != before):
                x, y, tall = float(gap), y + tall + gap, 0.0
            if panel.group != before:
                y += line + gap / 2 if panel.group else 0
            places.append(QRectF(x, y, width, height))
            tall = max(tall, height + titled)
            x += width + gap
            before = panel.group
        return places, y + tall

    @property
    def _mixed(self) -> bool:
        return len({panel.layer for panel in self.panels}) > 1

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        painter.fillRect(self.rect(), QColor(colours.surface))
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        if not self.panels:
            margin = px(self, 16)
            painter.setPen(QColor(colours.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(margin, margin, -margin, -margin), flags, self.empty_text)
            return
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.text))
        painter.drawText(px(self, 8), metrics.ascent() + px(self, 6), "Inside the model")
        painter.setFont(self.font())
        before = ""
        for panel, place in zip(self.panels, self.places(), strict=False):
            if panel.group != before:
                before = panel.group
                painter.setPen(QColor(colours.muted))
                painter.drawText(QPointF(place.left(), place.top() - metrics.descent() - px(self, 2)), panel.group)
            self._pictures.paint(painter, panel, place)
            if place.width() > px(self, TITLED):
                painter.setPen(QColor(colours.muted))
                words = metrics.elidedText(panel.title, Qt.TextElideMode.ElideRight, int(place.width()))
                below = QRectF(place.left(), place.bottom() + 1, place.width(), metrics.height())
                painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, words)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            panel = self.panel_at(event.pos())
            QToolTip.showText(event.globalPos(), "" if panel is None else f"<b>{panel.title}</b><br>{panel.help}", self)
            return True
        return super().event(event)

    def panel_at(self, position: QPoint) -> Panel | None:
        """The panel under a position."""
        pairs = zip(self.panels, self.places(), strict=False)
        return next((panel for panel, place in pairs if place.contains(position.toPointF())), None)
