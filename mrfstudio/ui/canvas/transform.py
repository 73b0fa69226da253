"""Where the picture is on the screen: one scale and one offset."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSizeF

SMALLEST, LARGEST = 1 / 16, 96.0
MARGIN = 0.04  # of the smaller side, kept free around a fitted picture


@dataclass(frozen=True)
class Transform:
    """Image coordinates (x right, y down, pixel (r, c) covers [c, c+1) × [r, r+1)) to widget coordinates.

    `scale` is logical screen pixels for one image pixel, `left` and `top` the picture's corner in the widget.
    """

    scale: float = 1.0
    left: float = 0.0
    top: float = 0.0

    @staticmethod
    def fitting(shape: tuple[int, int], size: QSizeF) -> Transform:
        """The whole picture (height, width), centred, as large as fits; whole scales when that costs little."""
        height, width = max(shape[0], 1), max(shape[1], 1)
        free = MARGIN * min(size.width(), size.height())
        scale = min((size.width() - 2 * free) / width, (size.height() - 2 * free) / height)
        scale = min(max(scale, SMALLEST), LARGEST)
        if scale >= 4:  # equal squares look calmer than squares that differ by one screen pixel
            scale = float(math.floor(scale))
        return Transform(scale, round((size.width() - width * scale) / 2), round((size.height() - height * scale) / 2))

    def to_image(self, point: QPointF) -> tuple[float, float]:
        """Widget to image coordinates (x, y)."""
        return (point.x() - self.left) / self.scale, (point.y() - self.top) / self.scale

    def to_widget(self, x: float, y: float) -> QPointF:
        """Image to widget coordinates."""
        return QPointF(self.left + x * self.scale, self.top + y * self.scale)

    def rectangle(self, top: float, left: float, height: float, width: float) -> QRectF:
        """A rectangle of image pixels in widget coordinates."""
        corner = self.to_widget(left, top)
        return QRectF(corner.x(), corner.y(), width * self.scale, height * self.scale)

    def zoomed(self, factor: float, anchor: QPointF, largest: float = LARGEST) -> Transform:
        """Larger or smaller, with the image point under `anchor` staying where it is."""
        scale = min(max(self.scale * factor, SMALLEST), largest)
        x, y = self.to_image(anchor)
        return Transform(scale, anchor.x() - x * scale, anchor.y() - y * scale)

    def moved(self, dx: float, dy: float) -> Transform:
        return replace(self, left=self.left + dx, top=self.top + dy)

    def kept_in_sight(self, shape: tuple[int, int], size: QSizeF) -> Transform:
        """Moved back so far that the middle third of the widget still touches the picture: it cannot get lost."""
        height, width = shape[0] * self.scale, shape[1] * self.scale
        third_x, third_y = size.width() / 3, size.height() / 3
        left = min(max(self.left, third_x - width), 2 * third_x)
        top = min(max(self.top, third_y - height), 2 * third_y)
        return replace(self, left=left, top=top)

    def visible(self, shape: tuple[int, int], size: QSizeF) -> tuple[int, int, int, int]:
        """Top, left, height, width of the image pixels that can be seen; zero height or width if none can."""
        x0, y0 = self.to_image(QPointF(0, 0))
        x1, y1 = self.to_image(QPointF(size.width(), size.height()))
        left, top = min(max(math.floor(x0), 0), shape[1]), min(max(math.floor(y0), 0), shape[0])
        right, bottom = max(min(math.ceil(x1), shape[1]), left), max(min(math.ceil(y1), shape[0]), top)
        return top, left, bottom - top, right - left
