"""Figures for paper and page: curves with ranges, axes and a legend, painted into PNG and SVG files alike."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPainter, QPen, QPolygonF

from mrfstudio.ui.export.pictures import Drawing, save_drawing
from mrfstudio.ui.plots.axes import Range, tick_texts, ticks
from mrfstudio.ui.plots.content import DASHES
from mrfstudio.ui.style.colours import LIGHT, faded

SIZE = QSize(720, 460)
SCALE = 2.0  # pixels of the PNG for one unit
LETTERS, SMALL = 15, 13  # heights of letters in units
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
    smallest: float = 1e-16


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.png and NAME.svg."""
    if QGuiApplication.instance() is None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        global _application
        _application = QGuiApplication([])
    folder.mkdir(parents=True, exist_ok=True)
    drawing = drawing_of(figure)
    paths = [folder / f"{name}{ending}" for ending in (".png", ".svg")]
    for path in paths:
        save_drawing(drawing, path, figure.title)
    return paths


_application: QGuiApplication | None = None  # kept: letters need one, and a benchmark has none of its own


def drawing_of(figure: Figure) -> Drawing:
    """The figure, ready to be painted anywhere."""
    return Drawing(SIZE, lambda painter: _Painting(painter, figure).all(), SCALE, LIGHT.surface)


class _Painting:
    """One figure on one painter, in units of `SIZE`."""

    def __init__(self, painter: QPainter, figure: Figure) -> None:
        self.painter, self.figure = painter, figure
        self.columns = 1 if len(figure.lines) <= 4 else 2
        self.names = _short_names([line.name for line in figure.lines])
        legend = 20.0 * math.ceil(len(figure.lines) / self.columns)
        self.area = QRectF(84, 44, SIZE.width() - 84 - 24, SIZE.height() - 44 - 58 - legend)
        self.span_x = _span([line.x for line in figure.lines])
        heights = [self._heights(values) for line in figure.lines for values in (line.y, line.low, line.high) if values]
        self.span_y = _span(heights, whole=figure.logarithmic)

    def all(self) -> None:
        self.painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._write(QRectF(0, 8, SIZE.width(), 28), self.figure.title, LETTERS, bold=True)
        self._axes()
        for number, line in enumerate(self.figure.lines):
            self._band(number, line)
        for number, line in enumerate(self.figure.lines):
            self._curve(number, line)
            self._legend(number, line)

    def _heights(self, values: Sequence[float]) -> np.ndarray:
        y = np.asarray(values, dtype=np.float64)
        return np.log10(np.maximum(y, self.figure.smallest)) if self.figure.logarithmic else y

    def _points(self, x: Sequence[float], y: Sequence[float]) -> list[QPointF]:
        a, (left, right), (low, high) = self.area, self.span_x, self.span_y
        across = a.left() + a.width() * (np.asarray(x, dtype=np.float64) - left) / (right - left)
        down = a.bottom() - a.height() * (self._heights(y) - low) / (high - low)
        return [QPointF(p, q) for p, q in zip(across.tolist(), down.tolist(), strict=True)]

    def _axes(self) -> None:
        a, painter = self.area, self.painter
        line, (low, high) = QPen(QColor(LIGHT.border), 1), self.span_y
        heights = ticks(self.span_y, 7)
        if self.figure.logarithmic:
            heights = [height for height in heights if float(height).is_integer()]
        for height, text in zip(heights, tick_texts(heights, logarithmic=self.figure.logarithmic), strict=True):
            y = a.bottom() - a.height() * (height - low) / (high - low)
            painter.setPen(line)
            painter.drawLine(QLineF(a.left(), y, a.right(), y))
            self._write(QRectF(a.left() - 66, y - 10, 60, 20), text, SMALL, Qt.AlignmentFlag.AlignRight)
        left, right = self.span_x
        along = ticks(self.span_x, 10)
        for place, text in zip(along, tick_texts(along), strict=True):
            x = a.left() + a.width() * (place - left) / (right - left)
            painter.setPen(line)
            painter.drawLine(QLineF(x, a.bottom(), x, a.bottom() + 5))
            self._write(QRectF(x - 40, a.bottom() + 5, 80, 20), text, SMALL)
        painter.setPen(QPen(QColor(LIGHT.outline), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(a)
        self._write(QRectF(a.left(), a.bottom() + 24, a.width(), 20), self.figure.across, SMALL)
        painter.save()
        painter.translate(14, a.center().y())
        painter.rotate(-90)
        self._write(QRectF(-a.height() / 2, -10, a.height(), 20), self.figure.up, SMALL)
        painter.restore()

    def _band(self, number: int, line: Line) -> None:
        if line.low is None or line.high is None:
            return
        there, back = self._points(line.x, line.high), self._points(line.x, line.low)[::-1]
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(faded(LIGHT.lanes[number % len(LIGHT.lanes)], 0.18))
        self.painter.drawPolygon(QPolygonF(there + back))

    def _curve(self, number: int, line: Line) -> None:
        points = self._points(line.x, line.y)
        self._pen(number)
        self.painter.drawPolyline(QPolygonF(points))
        if len(points) <= MARKED:
            self._mark(number, points)

    def _mark(self, number: int, points: list[QPointF]) -> None:
        """Discs; lines that come back to a colour have hollow squares."""
        colour = QColor(LIGHT.lanes[number % len(LIGHT.lanes)])
        again = number >= len(LIGHT.lanes)
        self.painter.setPen(QPen(colour, 1.5))
        self.painter.setBrush(QColor(LIGHT.surface) if again else colour)
        for point in points:
            if again:
                self.painter.drawRect(QRectF(point.x() - 3, point.y() - 3, 6, 6))
            else:
                self.painter.drawEllipse(point, 2.5, 2.5)

    def _legend(self, number: int, line: Line) -> None:
        row, column = divmod(number, self.columns)
        wide = self.area.width() / self.columns
        x, y = self.area.left() + wide * column, self.area.bottom() + 58 + 20 * row
        self._pen(number)
        self.painter.drawLine(QLineF(x, y, x + 40, y))
        if len(line.x) <= MARKED:
            self._mark(number, [QPointF(x + 20, y)])
        words = self.names[number] + (" (mean, and the range of all)" if line.low is not None else "")
        box = QRectF(x + 50, y - 10, wide - 50, 20)
        self._write(box, words, SMALL, Qt.AlignmentFlag.AlignLeft)

    def _pen(self, number: int) -> None:
        pen = QPen(QColor(LIGHT.lanes[number % len(LIGHT.lanes)]), 2)
        if DASHES[number % len(DASHES)]:
            pen.setDashPattern(DASHES[number % len(DASHES)])
        self.painter.setPen(pen)
        self.painter.setBrush(Qt.BrushStyle.NoBrush)

    def _write(
        self,
        box: QRectF,
        text: str,
        height: int,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignHCenter,
        *,
        bold: bool = False,
    ) -> None:
        font = QFont(self.painter.font())
        font.setPixelSize(height)
        font.setBold(bold)
        self.painter.setFont(font)
        self.painter.setPen(QColor(LIGHT.text))
        self.painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, text)


def _short_names(names: Sequence[str]) -> list[str]:
    """Names without the words before a comma that all of them begin with."""
    parts = [name.split(", ") for name in names]
    while len(parts) > 1 and all(len(words) > 1 and words[0] == parts[0][0] for words in parts):
        parts = [words[1:] for words in parts]
    return [", ".join(words) for words in parts]


def _span(values: Sequence[Sequence[float] | np.ndarray], *, whole: bool = False) -> Range:
    """A range that holds all of them, never of no width."""
    together = np.concatenate([np.asarray(each, dtype=np.float64) for each in values] or [np.zeros(1)])
    low, high = float(together.min()), float(together.max())
    if whole:
        low, high = float(math.floor(low)), float(math.ceil(high))
    return (low, high) if high > low else (low - 0.5, high + 0.5)
