"""The axes of a plot as pyqtgraph items: round numbers that move inwards at the ends instead of being left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from mrfstudio.ui.plots.axes import log_ticks, tick_texts, ticks
from mrfstudio.ui.plots.drawing.looks import Dress
from mrfstudio.ui.style.colours import faded


class Axis(pg.AxisItem):
    """Round numbers, as many as there is room for; powers of ten where it is logarithmic."""

    def __init__(self, side: str, logarithmic: Callable[[], bool]) -> None:
        super().__init__(side, maxTickLength=0)
        self._logarithmic = logarithmic
        self._letters = (40.0, 20.0)
        self._half = 8.0
        self._whole = False
        self._names: tuple[str, ...] = ()
        self._specs: Any = None

    def count_whole(self, on: bool) -> None:
        """Whether only whole numbers have a meaning, such as of iterations."""
        if on != self._whole:
            self._whole, self.picture = on, None

    def name_cells(self, names: Sequence[str]) -> None:
        """Names in the middles of the cells 0 … n - 1, in place of numbers; none for numbers."""
        if tuple(names) != self._names:
            self._names, self.picture = tuple(names), None

    def dress(self, dress: Dress) -> None:
        metrics = pg.QtGui.QFontMetricsF(dress.font)
        self._letters = (metrics.horizontalAdvance("88888") * 1.2, metrics.height() * 1.8)
        self._half = dress.room
        self.setStyle(
            tickFont=dress.font,
            tickTextOffset=round(3 * dress.unit),
            autoExpandTextSpace=False,
            autoReduceTextSpace=False,
            hideOverlappingLabels=False,
        )
        self.setTextPen(QColor(dress.colours.muted))
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setTickPen(QPen(faded(dress.colours.outline, 1.0), 1))

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        low, high = min(minVal, maxVal), max(minVal, maxVal)
        if self._names:
            return [(1.0, self._named(low, high, size))]
        most = max(int(size / self._letters[0 if self.orientation in ("bottom", "top") else 1]), 2)
        if self._logarithmic():
            return [(1.0, log_ticks((low, high), most))]
        values = ticks((low, high), most)
        while len(values) < 2 and size / (most + 1) > self._letters[1] / 1.8:  # one number says nothing of a scale
            most += 1
            values = ticks((low, high), most)
        if self._whole:
            values = [value for value in values if float(value).is_integer()] or values[:1]
        return [(1.0, values)]

    def _named(self, low: float, high: float, size: float) -> list[float]:
        """The middles of cells that have a name in sight, every second or third where they are narrow."""
        across = self.orientation == "bottom"
        least = self._letters[1] / 1.8 if not across else self._letters[0] / 6
        step = max(1, math.ceil(least / max(size / max(high - low, 1e-9), 1e-9)))
        return [cell + 0.5 for cell in range(0, len(self._names), step) if low <= cell + 0.5 <= high]

    def texts(self, low: float, high: float, size: float) -> list[str]:
        """The numbers on `size` pixels of a range."""
        return self.tickStrings(self.tickValues(low, high, size)[0][1], 1.0, 1.0)

    def boundingRect(self) -> QRectF:
        """With room for half a number beyond each end."""
        rect, room = super().boundingRect(), self._half
        return rect.adjusted(-room, -room, room, room)

    def paint(self, p: QPainter, opt: Any, widget: Any) -> None:
        """Without the recording that pyqtgraph plays: it looks up the font of every number each time."""
        if self.picture is None:  # what every setter of pyqtgraph empties
            p.setFont(self.style["tickFont"])
            self._specs = self.generateDrawSpecs(p)
            there: Any = True
            self.picture = there
        if self._specs is not None:
            self.drawPicture(p, *self._specs)

    @property
    def drawn(self) -> bool:
        """Whether nothing has changed since it was painted, or nobody sees it."""
        return bool(self.picture) or not self.isVisible()

    def generateDrawSpecs(self, p: Any) -> Any:
        """pyqtgraph leaves out numbers that reach beyond an end of the axis; here they move inwards."""
        bounds = self.mapRectFromParent(self.geometry())
        if bounds.width() <= 0 or bounds.height() <= 0:
            return None
        specs = super().generateDrawSpecs(p)
        if specs is None:
            return None
        axis, lines, _ = specs
        low, high = self.range  # the larger one first where heights count downwards
        across = self.orientation == "bottom"
        texts, free = [], bounds.right() + self._half
        values = [
            value
            for _, each in self.tickValues(low, high, bounds.width() if across else bounds.height())
            for value in each
        ]
        offset = self.style["tickTextOffset"][1 if across else 0]
        for value, text in sorted(zip(values, self.tickStrings(values, 1.0, 1.0), strict=True), reverse=True):
            wide = p.boundingRect(QRectF(0, 0, 1000, 100), Qt.AlignmentFlag.AlignLeft, text)
            part = (value - low) / (high - low)
            if across:
                left = min(
                    max(bounds.left() + part * bounds.width() - wide.width() / 2, -self._half), free - wide.width()
                )
                if (
                    left < -self._half
                    or left + wide.width() / 2 < bounds.left() + part * bounds.width() - 2 * self._half
                ):
                    continue
                box, side = QRectF(left, bounds.top() + offset, wide.width(), wide.height()), Qt.AlignmentFlag.AlignLeft
                free = left - offset
            else:
                y = bounds.top() + (1 - part) * bounds.height()
                box = QRectF(bounds.left(), y - wide.height() / 2, bounds.width() - offset, wide.height())
                side = Qt.AlignmentFlag.AlignRight
                # A number without its first digits would be another number: too long a one loses its last.
                text = p.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
            texts.append((box, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, text))
        return axis, lines, texts

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if self._names:
            return [self._names[int(value)] for value in values]
        return tick_texts(list(values), logarithmic=self._logarithmic())
