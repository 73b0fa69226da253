"""Frames and numbers of the cells of a map, where there is room for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from mrfstudio.ui.plots.content import PlotPicture
from mrfstudio.ui.plots.drawing.looks import Dress
from mrfstudio.ui.style.graph_colours import dark_text

LEAST = 5.0
"""Pixels of a cell from which on it has a frame."""
DARK, LIGHT = "#14171a", "#ffffff"


class CellsItem(pg.GraphicsObject):
    """Lies over the picture of a map; letters keep their size however far it is magnified."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: PlotPicture | None = None
        self._dress: Dress | None = None

    def show(self, shown: PlotPicture | None, dress: Dress) -> None:
        """Another map; None shows nothing."""
        self.prepareGeometryChange()
        self._shown, self._dress = shown, dress
        self.setVisible(shown is not None)
        self.update()

    def boundingRect(self) -> QRectF:
        if self._shown is None:
            return QRectF()
        (left, right), (first, last) = self._shown.x, self._shown.y
        return QRectF(left, first, right - left, last - first).normalized()

    def paint(self, painter: QPainter, option: Any, widget: Any = None) -> None:
        shown, dress = self._shown, self._dress
        if shown is None or dress is None or not shown.values.size:
            return
        place = painter.worldTransform()
        whole, seen = place.mapRect(self.boundingRect()), place.mapRect(self.viewRect())
        rows, columns = shown.values.shape
        wide, high = whole.width() / columns, whole.height() / rows
        down = _cells(seen.top() - whole.top(), seen.bottom() - whole.top(), high, rows)
        across = _cells(seen.left() - whole.left(), seen.right() - whole.left(), wide, columns)
        painter.save()
        painter.resetTransform()
        if min(wide, high) >= LEAST:
            painter.setPen(QPen(QColor(dress.colours.border), 1))
            ys = [whole.top() + high * row for row in (*down, down.stop)]
            xs = [whole.left() + wide * column for column in (*across, across.stop)]
            painter.drawLines([QLineF(whole.left(), y, whole.right(), y) for y in ys])
            painter.drawLines([QLineF(x, whole.top(), x, whole.bottom()) for x in xs])
        if high >= QFontMetricsF(dress.font).height():
            self._write(painter, whole, down, across)
        painter.restore()

    def _write(self, painter: QPainter, whole: QRectF, down: range, across: range) -> None:
        """The numbers of all cells in sight, dark or light as the ground needs; none where one has no room."""
        shown, dress = self._shown, self._dress
        assert shown is not None
        assert shown.numbers is not None
        assert dress is not None
        rows, columns = shown.values.shape
        wide, high = whole.width() / columns, whole.height() / rows
        letters = QFontMetricsF(dress.font)
        dark = dark_text(np.asarray(shown.colour(shown.values, dress.colours)).reshape(-1, 3)).reshape(rows, columns)
        texts = {(row, column): shown.numbers(float(shown.values[row, column])) for row in down for column in across}
        if max(map(letters.horizontalAdvance, texts.values()), default=0.0) >= wide - 2:
            return  # some with and some without would look like a choice
        painter.setFont(dress.font)
        for (row, column), text in texts.items():
            painter.setPen(QColor(DARK if dark[row, column] else LIGHT))
            cell = QRectF(whole.left() + column * wide, whole.top() + row * high, wide, high)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, text)


def _cells(first: float, last: float, side: float, count: int) -> range:
    """Which of some cells of a side lie between two places."""
    return range(max(int(first / side), 0), min(int(last / side) + 1, count))
