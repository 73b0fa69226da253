"""One small plot over iterations, drawn by hand: a redraw takes about a millisecond, so curves never slow the brush.

pyqtgraph's axes and dashed lines took ten times as long on the same data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.ui.colours import colours_of, faded
from mrfstudio.ui.panels.axes import Range, next_end, roomy, thinned, tick_texts, ticks
from mrfstudio.ui.panels.badge import short
from mrfstudio.ui.panels.series import AllSeries, Series
from mrfstudio.ui.theme import px

DASHES: tuple[list[float], ...] = ([], [5, 3], [1.5, 2.5], [7, 3, 1.5, 3], [10, 4], [3, 2, 1, 2])
SMALLEST = 1e-12  # where a residual of exactly 0 is drawn on the logarithmic axis


@dataclass(frozen=True)
class Measure:
    """What one plot shows."""

    name: str
    title: str
    unit: str
    help: str
    logarithmic: bool = False
    sign: float = 1.0
    start: Range | None = None
    """The range before anything is known; it only ever grows. Exponents of ten on a logarithmic axis."""


class CurvePlot(QWidget):
    """One measure of all lanes: a line each, in the lane's colour and dashes. A click picks an iteration."""

    picked = Signal(int)
    along: ClassVar[str] = "iteration"
    """What the horizontal axis counts."""

    def __init__(self, measure: Measure, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.measure = measure
        self.series = AllSeries()
        self.iteration = 0
        self.end = next_end(0)
        """The right end of the horizontal axis."""
        self.range: Range | None = measure.start
        self.level: tuple[str, float] | None = None
        """A value to compare with, and what it is called: a dashed line across."""
        self._hover: float | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.describe()

    def describe(self) -> None:
        """Name and tool tip, from the measure."""
        measure = self.measure
        unit = f" ({measure.unit})" if measure.unit else ""
        self.setAccessibleName(f"{measure.title}{unit} over {self.along}s")
        article = "an" if self.along[0] in "aeiou" else "a"
        self.setToolTip(f"<b>{measure.title}{unit}</b><br>{measure.help}<br>Click to go to {article} {self.along}.")

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        return any(len(series.known(self.measure.name)[0]) for series in self.series.lanes.values())

    def draw(self, series: AllSeries, iteration: int) -> None:
        """Show all lanes and mark an iteration. Axes grow in steps and never shrink by themselves: nothing jumps."""
        self.series, self.iteration = series, iteration
        for lane in series.lanes.values():
            x, y = self.points(lane)
            if len(y):
                self.end = max(self.end, next_end(int(x[-1])))
                low, high = float(y.min()), float(y.max())
                self.range = roomy(self.range, low, high, whole=self.measure.logarithmic)
        if self.level is not None and self.has_data:
            self.range = roomy(self.range, self.level[1], self.level[1])
        self.end = max(self.end, next_end(iteration))
        self.update()

    def set_level(self, level: tuple[str, float] | None) -> None:
        """Show a value across the plot, or none; the next `draw` makes room for it."""
        self.level = level

    def forget_range(self) -> None:
        """Let the axes shrink again."""
        self.end, self.range = next_end(0), self.measure.start

    def points(self, series: Series) -> tuple[np.ndarray, np.ndarray]:
        """Iterations and heights on the axis."""
        x, y = series.known(self.measure.name)
        y = y * self.measure.sign
        return x, np.log10(np.maximum(y, SMALLEST)) if self.measure.logarithmic else y

    def value_at(self, series: Series, iteration: float) -> float | None:
        """What a lane measured at an iteration, or last before it."""
        x, y = series.known(self.measure.name)
        index = int(np.searchsorted(x, iteration, side="right")) - 1
        return float(y[index]) * self.measure.sign if index >= 0 else None

    # Geometry ---------------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(px(self, 220), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 130), px(self, 76))

    def heading_width(self) -> int:
        """How far the heading may go to the right."""
        return self.width()

    def area(self) -> QRectF:
        """Where lines are drawn. Its margins depend on the font alone, so it stays while numbers change."""
        metrics = self.fontMetrics()
        left, top = metrics.horizontalAdvance("-88.888") + px(self, 6), round(metrics.height() * 1.5) + px(self, 2)
        bottom = metrics.height() + px(self, 3)
        return QRectF(left, top, max(self.width() - left - px(self, 8), 1), max(self.height() - top - bottom, 1))

    def place(self, x: float, y: float) -> QPointF:
        """A point of the plot on the widget."""
        area, (low, high) = self.area(), self.range or (0.0, 1.0)
        return QPointF(
            area.left() + area.width() * x / self.end, area.bottom() - area.height() * (y - low) / (high - low)
        )

    def iteration_at(self, x: float) -> int:
        """The iteration under a horizontal position."""
        area = self.area()
        return min(max(round((x - area.left()) / area.width() * self.end), 0), self.end)

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, area = colours_of(self), self.area()
        painter.fillRect(area, QColor(colours.surface))
        self._paint_axes(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.save()
        painter.setClipRect(area.adjusted(-2, -2, 2, 2))
        marked = self.place(self.iteration, 0).x()
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.drawLine(QLineF(marked, area.top(), marked, area.bottom()))
        if self._hover is not None:
            at = self.place(self.iteration_at(self._hover), 0).x()
            painter.setPen(QPen(faded(colours.accent, 0.6), 1))
            painter.drawLine(QLineF(at, area.top(), at, area.bottom()))
        self._paint_level(painter)
        for lane, series in self.series.lanes.items():
            self._paint_line(painter, lane, series)
        painter.restore()
        self._paint_heading(painter)

    def _paint_line(self, painter: QPainter, lane: int, series: Series) -> None:
        x, y = self.points(series)
        if not len(x):
            return
        area, colours = self.area(), colours_of(self)
        x, y = thinned(x, y, int(area.width()))
        low, high = self.range or (0.0, 1.0)
        across = area.left() + area.width() * x / self.end
        down = area.bottom() - area.height() * (y - low) / (high - low)
        polygon = QPolygonF([QPointF(a, b) for a, b in zip(across.tolist(), down.tolist(), strict=True)])
        colour = QColor(colours.lanes[lane % len(colours.lanes)])
        width = max(1.5, px(self, 1.6))
        pen = QPen(colour, width)
        if DASHES[lane % len(DASHES)]:
            pen.setDashPattern(DASHES[lane % len(DASHES)])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(polygon)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(polygon.last(), width + 1, width + 1)  # a single point is a point, not nothing

    def _paint_level(self, painter: QPainter) -> None:
        if self.level is None or not self.has_data:
            return
        name, value = self.level
        colours, area, y = colours_of(self), self.area(), self.place(0, value).y()
        painter.setPen(QPen(QColor(colours.text), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QLineF(area.left(), y, area.right(), y))
        painter.setPen(QColor(colours.muted))
        above = y - px(self, 3) if y - area.top() > self.fontMetrics().height() else y + self.fontMetrics().ascent()
        wide = self.fontMetrics().horizontalAdvance(name)
        painter.drawText(QPointF(area.right() - wide - px(self, 4), above), name)

    def _paint_axes(self, painter: QPainter) -> None:
        colours, area, metrics = colours_of(self), self.area(), self.fontMetrics()
        low, high = self.range or (0.0, 1.0)
        line, text = QPen(faded(colours.outline, 0.28), 1), QPen(QColor(colours.muted))
        most = max(int(area.height() / (metrics.height() * 1.8)), 1)
        heights = ticks((low, high), most)
        while len(heights) < 2 and area.height() / (most + 1) > metrics.height():  # one number says nothing of a scale
            most += 1
            heights = ticks((low, high), most)
        if self.measure.logarithmic:
            heights = [height for height in heights if float(height).is_integer()]
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for height, label in zip(heights, tick_texts(heights, logarithmic=self.measure.logarithmic), strict=True):
            y = self.place(0, height).y()
            painter.setPen(line)
            painter.drawLine(QLineF(area.left(), y, area.right(), y))
            painter.setPen(text)
            half = metrics.height() / 2
            painter.drawText(QRectF(0, y - half, area.left() - px(self, 4), 2 * half), right, label)
        room = metrics.horizontalAdvance("88888") * 1.6
        along = [step for step in ticks((0, self.end), max(int(area.width() / room), 2)) if float(step).is_integer()]
        painter.setPen(text)
        free = float(self.width())
        for step, label in reversed(list(zip(along, tick_texts(along), strict=True))):
            wide = metrics.horizontalAdvance(label)
            left = min(self.place(step, 0).x() - wide / 2, self.width() - wide)
            if left + wide <= free:  # in a narrow plot the last number matters most
                painter.drawText(QPointF(left, area.bottom() + px(self, 2) + metrics.ascent()), label)
                free = left - px(self, 4)

    def _paint_heading(self, painter: QPainter) -> None:
        """Title and, in the colour of each lane, its value: the legend that needs no box."""
        colours, metrics = colours_of(self), self.fontMetrics()
        at = self.iteration if self._hover is None else self.iteration_at(self._hover)
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.text))
        x, baseline = float(px(self, 4)), float(metrics.ascent() + px(self, 1))
        wide = self.heading_width() - px(self, 4)
        title = painter.fontMetrics().elidedText(self.measure.title, Qt.TextElideMode.ElideRight, wide)
        painter.drawText(QPointF(x, baseline), title)
        x += painter.fontMetrics().horizontalAdvance(title) + px(self, 8)
        painter.setFont(self.font())
        shown = [(lane, self.value_at(series, at)) for lane, series in self.series.lanes.items()]
        for lane, value in shown:
            if value is None:
                continue
            full = f"{spoken(value)} {self.measure.unit}".strip() if len(shown) == 1 else spoken(value)
            # Fewer digits where there is little room: half a number would be another number.
            room = max(self.heading_width() - x, 0)
            lengths = (full, spoken(value), f"{value:.2g}", "")
            words = next(words for words in lengths if metrics.horizontalAdvance(words) <= room)
            painter.setPen(QColor(colours.lanes[lane % len(colours.lanes)]))
            painter.drawText(QPointF(x, baseline), words)
            x += metrics.horizontalAdvance(words) + px(self, 8)

    # Hands ------------------------------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover = event.position().x()
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(self.iteration_at(event.position().x()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = None
        self.update()


def spoken(value: float) -> str:
    """A value in the heading: four digits, or two where it is tiny."""
    return f"{value:.4g}" if 0.01 <= abs(value) < 1e5 or value == 0 or not math.isfinite(value) else short(value)
