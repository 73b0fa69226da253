"""Ranges and ticks of axes. Ranges grow in round steps, so that plots stand still while points arrive."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

FIRST_END = 15
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Range = tuple[float, float]


def next_end(iteration: int) -> int:
    """The right end of an axis that must show `iteration`: 15, 20, 50, 100, 200, 500, …"""
    if iteration <= FIRST_END:
        return FIRST_END
    power = 10 ** math.floor(math.log10(iteration))
    return next(int(step * power) for step in (1, 2, 5, 10) if step * power >= iteration)


def roomy(before: Range | None, low: float, high: float, *, whole: bool = False) -> Range:
    """The range before, or one with room to spare if `low` or `high` lies outside; `whole` ends on whole numbers."""
    if before is not None and before[0] <= low and high <= before[1]:
        return before
    start, end = (low, high) if before is None else (min(low, before[0]), max(high, before[1]))
    if whole:
        return float(math.floor(start)), float(math.ceil(end))
    room = 0.25 * (end - start) or max(abs(end) * 0.05, 0.5)
    grown_below = before is None or low < before[0]
    grown_above = before is None or high > before[1]
    return start - room * grown_below, end + room * grown_above


def ticks(span: Range, most: int) -> list[float]:
    """At most `most` round numbers in a range, at steps of 1, 2 or 5 times a power of ten."""
    width = span[1] - span[0]
    if width <= 0 or most < 1:
        return []
    power = 10.0 ** math.floor(math.log10(width / most))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if width / (factor * power) <= most)
    first = math.ceil(span[0] / step - 1e-9)
    last = math.floor(span[1] / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def tick_texts(values: list[float], *, logarithmic: bool = False) -> list[str]:
    """Tick labels with as many decimals as tell them apart; on a logarithmic axis powers of ten."""
    if logarithmic:
        return ["1" if value == 0 else "10" + str(round(value)).translate(SUPERSCRIPTS) for value in values]
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return [f"{value:.{decimals}f}" if abs(value) < 1e6 else f"{value:.3g}" for value in values]


def thinned(x: np.ndarray, y: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """At most four points for each of `columns` screen columns: first, lowest, highest, last; no peak is lost.

    `x` ascends.
    """
    if len(x) <= 4 * columns or columns < 1:
        return x, y
    column = np.minimum(((x - x[0]) / (x[-1] - x[0]) * columns).astype(np.intp), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(x)) - 1
    across = np.stack([x[starts], x[starts], x[starts], x[ends]], axis=1)
    down = np.stack([y[starts], np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts), y[ends]], axis=1)
    return across.ravel(), down.ravel()
