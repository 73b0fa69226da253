"""Figures of measurements: a plot with ranges, its axes named and a legend below, as PNG and SVG files alike."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import QLineF, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from mrfstudio.ui.export.pictures import Drawing, save_drawing
from mrfstudio.ui.plots.content import DASHES, Content, Dots, Paint, PlotLine, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import LIGHT
from mrfstudio.ui.style.theme import palette_of

SIZE = QSize(720, 460)
SCALE = 2.0  # pixels of the PNG for one unit
LETTERS = 13  # height of letters in units
MARKED = 40  # points up to which each is marked


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; `low` and `high` are its range, drawn as a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True, eq=False)
class Figure:
    """What is drawn. `smallest` cuts a logarithmic axis off below, where there is only rounding."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    logarithmic: bool = False
    logarithmic_across: bool = False
    smallest: float = 1e-16


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.png and NAME.svg."""
    if QApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        global _application
        _application = QApplication([])
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}{ending}" for ending in (".png", ".svg")]
    for path in paths:
        save_drawing(drawing_of(figure, SCALE if path.suffix == ".png" else 1.0), path, figure.title)
    return paths


_application: QApplication | None = None  # kept: letters need one, and a benchmark has none of its own


def drawing_of(figure: Figure, factor: float = 1.0) -> Drawing:
    """The figure, ready to be painted anywhere; made `factor` times as large, so that thin lines are so too."""
    plot = FigurePlot(figure, factor)
    plot.resize(SIZE * factor)
    plot.ensurePolished()
    plot.now()

    def paint(painter: QPainter) -> None:
        plot.render(painter, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)

    return Drawing(SIZE * factor, paint, 1.0, LIGHT.surface)


class FigurePlot(Plot):
    """A plot with the names of both axes and, below it, those of its lines beside a piece of each."""

    def __init__(self, figure: Figure, factor: float = 1.0) -> None:
        content = Content(figure.title, across=figure.across, up=figure.up)
        content.legend = False  # it stands below
        self._rows = 0  # asked for while the plot is made
        super().__init__(content)
        self.setPalette(palette_of(LIGHT))
        font = QFont(self.font())
        font.setPixelSize(round(LETTERS * factor))
        self.setFont(font)
        self.log_x, self.log_y, self.smallest = figure.logarithmic_across, figure.logarithmic, figure.smallest
        self._names = short_names([line.name for line in figure.lines])
        self._ranges = [line.low is not None for line in figure.lines]
        self._columns = 1 if len(figure.lines) <= 4 else 2
        self._rows = math.ceil(len(figure.lines) / self._columns)
        content.lines = [_curve(number, line) for number, line in enumerate(figure.lines)]
        content.dots = [_marks(number, line) for number, line in enumerate(figure.lines) if len(line.x) <= MARKED]

    def margins(self) -> tuple[int, int, int, int]:
        left, top, right, bottom = super().margins()
        tall = self._tall
        return left + tall, top, right, bottom + round(1.2 * tall) + self._rows * tall

    @property
    def _tall(self) -> int:
        """A row of words, in pixels."""
        return round(1.4 * self.fontMetrics().height())

    def whole_x(self) -> Range:
        return _span([self.across(line.x) for line in self.content.lines])

    def whole_y(self) -> Range:
        return _span(self._heights(), whole=self.log_y)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter, area, tall = QPainter(self), self.area(), self._tall
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(LIGHT.text))
        below = self.height() - self._rows * tall
        middle = Qt.AlignmentFlag.AlignCenter
        painter.drawText(QRectF(area.left(), below - 1.1 * tall, area.width(), tall), middle, self.content.across)
        painter.save()
        painter.translate(0, area.center().y())
        painter.rotate(-90)
        painter.drawText(QRectF(-area.height() / 2, 0, area.height(), tall), middle, self.content.up)
        painter.restore()
        for number, line in enumerate(self.content.lines):
            row, column = divmod(number, self._columns)
            wide = area.width() / self._columns
            self._explain(painter, number, line, QRectF(area.left() + wide * column, below + row * tall, wide, tall))

    def _explain(self, painter: QPainter, number: int, line: PlotLine, box: QRectF) -> None:
        """A piece of a line with its mark, and what it is called."""
        unit, y = box.height() / 20, box.center().y()
        pen = QPen(line.paint(LIGHT), 2 * unit)
        if DASHES[line.dash % len(DASHES)]:
            pen.setDashPattern(DASHES[line.dash % len(DASHES)])
        painter.setPen(pen)
        painter.drawLine(QLineF(box.left(), y, box.left() + 40 * unit, y))
        if len(line.x) <= MARKED:
            self._stamp(painter, number, QPointF(box.left() + 20 * unit, y), 3 * unit)
        words = self._names[number] + (" (mean, and the range of all)" if self._ranges[number] else "")
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(box.adjusted(50 * unit, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, words)

    def _stamp(self, painter: QPainter, number: int, at: QPointF, radius: float) -> None:
        again = number >= len(LIGHT.lanes)
        painter.setPen(QPen(_colour(number)(LIGHT), radius / 2))
        painter.setBrush(QColor(LIGHT.surface) if again else _colour(number)(LIGHT))
        if again:
            painter.drawRect(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius))
        else:
            painter.drawEllipse(at, radius, radius)
        painter.setBrush(Qt.BrushStyle.NoBrush)


def _colour(number: int) -> Paint:
    return lambda colours: QColor(colours.lanes[number % len(colours.lanes)])


def _curve(number: int, line: Line) -> PlotLine:
    low, high = (None if ends is None else np.asarray(ends, dtype=np.float64) for ends in (line.low, line.high))
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    return PlotLine(number, line.name, x, y, _colour(number), number, 2.0, low, high)


def _marks(number: int, line: Line) -> Dots:
    """Discs; lines that come back to a colour have hollow squares."""
    again = number >= len(LIGHT.lanes)
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    ground: Paint = (lambda colours: QColor(colours.surface)) if again else _colour(number)
    return Dots(number, line.name, x, y, ground, 6.0, symbol="s" if again else "o", edge=_colour(number), named=False)


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the words before a comma that all of them begin with."""
    parts = [name.split(", ") for name in names]
    while len(parts) > 1 and all(len(words) > 1 and words[0] == parts[0][0] for words in parts):
        parts = [words[1:] for words in parts]
    return [", ".join(words) for words in parts]


def _span(values: Sequence[np.ndarray], *, whole: bool = False) -> Range:
    """A range that holds all of them, never of no width; whole powers of ten where it is logarithmic."""
    together = np.concatenate([*values, np.zeros(0)]) if values else np.zeros(1)
    low, high = float(together.min()), float(together.max())
    if whole:
        low, high = float(math.floor(low)), float(math.ceil(high))
    room = 0.02 * (high - low)
    return (low - room, high + room) if high > low else (low - 0.5, high + 0.5)
