"""The line above a plot: its title and, in the colour of each line, its value. A name there switches its line."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import unit_of
from mrfstudio.ui.widgets.badge import short

if TYPE_CHECKING:
    from mrfstudio.ui.plots.plot import Plot

MOST = 12
"""Lines that the box of exact values names at most."""


def value_at(line: PlotLine, x: float) -> float | None:
    """What a line measured at a place, or last before it."""
    index = int(np.searchsorted(line.x, x, side="right")) - 1
    return float(line.y[index]) if index >= 0 else None


def spoken(value: float) -> str:
    """A value in the heading: four digits, or two where it is tiny."""
    return f"{value:.4g}" if 0.01 <= abs(value) < 1e5 or value == 0 or not math.isfinite(value) else short(value)


def paint_heading(
    painter: QPainter, plot: QWidget, content: Content, at: float | None, width: int
) -> list[tuple[QRectF, int]]:
    """Paint it; returns where the switches are."""
    colours, metrics, plain = colours_of(plot), plot.fontMetrics(), plot.font()
    unit = unit_of(plain)
    gap = round(8 * unit)
    bold = QFont(plain)
    bold.setBold(True)
    painter.setFont(bold)
    painter.setPen(QColor(colours.text))
    x, baseline = 4.0 * unit, metrics.ascent() + unit
    title = painter.fontMetrics().elidedText(content.title, Qt.TextElideMode.ElideRight, width - round(x))
    painter.drawText(QPointF(x, baseline), title)
    x += painter.fontMetrics().horizontalAdvance(title) + gap
    painter.setFont(plain)
    switches = content.switches() if content.legend else {}
    hits: list[tuple[QRectF, int]] = []
    for key, (name, paint) in switches.items():
        off = key in content.hidden
        lengths = _lengths(content, key, name, at, alone=len(switches) == 1)
        room = max(width - x, 0)
        words = next((words for words in lengths if metrics.horizontalAdvance(words) <= room), "")
        if not words:
            break
        painter.setPen(QColor(colours.outline) if off else paint(colours))
        if off:
            struck = QFont(plain)
            struck.setStrikeOut(True)
            painter.setFont(struck)
        painter.drawText(QPointF(x, baseline), words)
        if off:
            painter.setFont(plain)
        wide = metrics.horizontalAdvance(words)
        hits.append((QRectF(x - 3 * unit, 0, wide + 6 * unit, metrics.height() + 4 * unit), key))
        x += wide + gap
    return hits if len(switches) > 1 else []


def _lengths(content: Content, key: int, name: str, at: float | None, *, alone: bool) -> tuple[str, ...]:
    """What a switch says, from the longest to the shortest: half a number would be another number."""
    line = next((line for line in content.lines if line.key == key and line.named), None)
    if line is None:
        return ("" if alone else name,)
    value = None if at is None else value_at(line, at)
    if value is None:
        return ("" if alone else name,)
    full = f"{spoken(value)} {content.unit}".strip() if alone else spoken(value)
    return (full, spoken(value), f"{value:.2g}", "")


def words_at(plot: Plot, x: float, y: float, near: float) -> str:
    """Exact values under a place, in coordinates of the axes; marks within `near` of it."""
    content = plot.content
    if content.picture is not None:
        return _cell(plot, x, y)
    if not content.lines:
        return _nearest(plot, x, y)
    at = plot.crosshair.x
    if at is None:
        return ""
    rows = [f"{content.across} {at:.10g}".strip()]
    named = [line for line in plot.lines() if line.named]
    for line in named[:MOST]:
        value = value_at(line, at)
        if value is not None:
            colour = line.paint(colours_of(plot)).name()
            rows.append(f"<span style='color:{colour}'>■</span> {escape(line.name)} <b>{value:.8g}</b>")
    if len(named) > MOST:
        rows.append(f"and {len(named) - MOST} more")
    shown = [mark.words for mark in content.marks if abs(plot.across(np.array([mark.x]))[0] - x) <= near]
    rows += [f"<i>{escape(words)}</i>" for words in shown]
    return "<br>".join(rows)


def _cell(plot: Plot, x: float, y: float) -> str:
    """The cell under a place, of the map that lies there."""
    for shown in plot.content.pictures:
        rows, columns = shown.values.shape[:2]
        row = math.floor((y - shown.y[0]) / (shown.y[1] - shown.y[0]) * rows)
        column = math.floor((x - shown.x[0]) / (shown.x[1] - shown.x[0]) * columns)
        if 0 <= row < rows and 0 <= column < columns:
            value = float(np.max(shown.values[row, column]))
            return shown.describe(row, column, value) if shown.describe else f"row {row}, column {column}: {value:.6g}"
    return ""


def _nearest(plot: Plot, x: float, y: float) -> str:
    """The bar under a place, or the dot nearest to it."""
    content = plot.content
    for bars in content.bars:
        index = int(np.searchsorted(bars.edges, x, side="right")) - 1
        above = bars.base + float(bars.heights.max(initial=0.0)) if len(content.bars) == 1 else bars.base + 1.0
        if bars.key not in content.hidden and 0 <= index < len(bars.heights) and bars.base <= y <= above:
            value = (bars.heights if bars.values is None else bars.values)[index]
            return f"{escape(bars.name)}<br>{bars.edges[index]:.4g} to {bars.edges[index + 1]:.4g}: <b>{value:.6g}</b>"
    best, words = np.inf, ""
    (left, right), (low, high) = plot.span_x(), plot.span_y()
    for dots in content.dots:
        if dots.key in content.hidden or not len(dots.x):
            continue
        away = np.hypot((dots.x - x) / (right - left), (dots.y - y) / (high - low))
        index = int(np.argmin(away))
        if away[index] < best:
            best = float(away[index])
            words = f"{escape(dots.name)}<br>{content.across} <b>{dots.x[index]:.6g}</b><br>"
            words += f"{content.up} <b>{dots.y[index]:.6g}</b>"
    return words if best < 0.1 else ""
