"""Panels as pictures: an array with the name of its layer, drawn in the colours of the theme, once."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.training_frames import Panel
from mrfstudio.ui.canvas.overlays import Look, as_image, layer_picture, signed
from mrfstudio.ui.colours import colours_of


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
            look = Look(dark=colours.name == "dark")
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
