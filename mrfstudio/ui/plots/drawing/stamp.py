"""A map of a content that is drawn into the tile of a list: pyqtgraph's image without a view of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from mrfstudio.ui.plots.content import PlotPicture
from mrfstudio.ui.style.colours import Colours


class MapStamp:
    """A picture in the colours of one theme, painted into any rectangle with sharp cells."""

    def __init__(self, picture: PlotPicture, colours: Colours) -> None:
        pixels = np.ascontiguousarray(picture.colour(picture.values, colours))
        self._rows, self._columns = pixels.shape[:2]
        self._item: Any = pg.ImageItem(pixels, axisOrder="row-major", levels=None, autoLevels=False)

    def paint(self, painter: QPainter, place: QRectF) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.translate(place.topLeft())
        painter.scale(place.width() / self._columns, place.height() / self._rows)
        self._item.paint(painter, None, None)
        painter.restore()
