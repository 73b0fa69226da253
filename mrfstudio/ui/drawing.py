"""Things that paint themselves at any size, as pixels or as SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True, eq=False)
class Drawing:
    """`paint` fills an area of `size` units on `paper`; a picture of it has `scale` pixels for a unit."""

    size: QSize
    paint: Callable[[QPainter], None]
    scale: float = 1.0
    paper: str | None = None

    def image(self) -> QImage:
        """As pixels."""
        image = QImage(self.size * self.scale, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(self.scale)
        image.fill(QColor(self.paper) if self.paper else Qt.GlobalColor.transparent)
        painter = QPainter(image)
        self.paint(painter)
        painter.end()
        return image

    def svg(self, title: str = "") -> str:
        """As SVG text: lines and letters stay such, pictures are embedded."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        area = QRectF(0, 0, self.size.width(), self.size.height())
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(self.size)
        generator.setViewBox(area)
        generator.setTitle(title)
        painter = QPainter(generator)
        if self.paper:
            painter.fillRect(area, QColor(self.paper))
        self.paint(painter)
        painter.end()
        data: QByteArray = buffer.data()
        return bytes(data.data()).decode()


def drawing_of(widget: QWidget, scale: float = 2.0) -> Drawing:
    """A widget as it looks now."""
    return Drawing(widget.size(), lambda painter: widget.render(painter, QPoint()), scale)
