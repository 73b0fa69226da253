"""A photograph below the layers: drawn by the window alone, at every zoom, without waiting for the engine."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QImage, QPainter

from mrfstudio.ui.canvas.transform import Transform

PIXELS_FROM = 4.0
"""Screen pixels for one of the photograph from which on its pixels are seen as squares."""
SMALLEST = 256
"""Longer side of the smallest copy."""


class Backdrop:
    """Copies of a photograph, each half as large as the one before: a far view is smooth and quick to draw."""

    def __init__(self, rgb: np.ndarray) -> None:
        """rgb (h, w, 3) uint8, kept and never written to."""
        self.rgb = rgb
        height, width = rgb.shape[:2]
        whole = QImage(rgb.data, width, height, rgb.strides[0], QImage.Format.Format_RGB888)
        self._copies = [whole.convertToFormat(QImage.Format.Format_RGB32)]

    def copy(self, scale: float) -> QImage:
        """The smallest copy that still has a pixel for each of the screen at this scale."""
        wanted = 0
        while scale * 2 ** (wanted + 1) <= 1:
            wanted += 1
        while len(self._copies) <= wanted and max(self._copies[-1].width(), self._copies[-1].height()) > SMALLEST:
            last = self._copies[-1]
            size = (max(last.width() + 1, 2) // 2, max(last.height() + 1, 2) // 2)
            smooth = Qt.TransformationMode.SmoothTransformation
            self._copies.append(last.scaled(*size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth))
        return self._copies[min(wanted, len(self._copies) - 1)]

    def paint(self, painter: QPainter, transform: Transform) -> None:
        """Draw what the painter's clip lets through."""
        height, width = self.rgb.shape[:2]
        place = transform.rectangle(0, 0, height, width)
        clip = painter.clipBoundingRect() if painter.hasClipping() else QRectF(painter.viewport())
        seen = place.intersected(clip)
        if seen.isEmpty():
            return
        image = self.copy(transform.scale * painter.device().devicePixelRatio())
        scale_x, scale_y = image.width() / place.width(), image.height() / place.height()
        source = QRectF(
            (seen.left() - place.left()) * scale_x,
            (seen.top() - place.top()) * scale_y,
            seen.width() * scale_x,
            seen.height() * scale_y,
        )
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, transform.scale < PIXELS_FROM)
        painter.drawImage(seen, image, source)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
