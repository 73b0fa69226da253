"""Ranges and ticks of axes. Ranges grow in round steps, so that plots stand still while points arrive."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

FIRST_END = 15
DENSE = 16
"""Points in a screen column from which on nobody sees where in it the curve began and ended."""
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
        low_end = float(math.floor(start))
        return low_end, max(float(math.ceil(end)), low_end + 1.0)  # one exact power of ten alone has a width too
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
    if logarithmic and all(abs(value - round(value)) < 1e-9 for value in values):
        return ["1" if value == 0 else "10" + str(round(value)).translate(SUPERSCRIPTS) for value in values]
    if logarithmic:
        return [f"{10**value:.3g}" for value in values]
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return [f"{value:.{decimals}f}" if abs(value) < 1e6 else f"{value:.3g}" for value in values]


def thinned(x: np.ndarray, y: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """At most four points for each of `columns` screen columns: first, lowest, highest, last; no peak is lost.

    Where very many fall into one, lowest and highest alone, in the order in which it rises or falls. `x` ascends.
    """
    if len(x) <= 4 * columns or columns < 1:
        return x, y
    # Where columns begin is looked up, not asked of every point: curves of very many are drawn while points arrive.
    begins = np.searchsorted(x, np.linspace(x[0], x[-1], columns, endpoint=False))
    starts = begins[np.diff(begins, append=len(x)) > 0]
    ends = np.append(starts[1:], len(x)) - 1
    low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    if len(x) >= DENSE * columns:
        rises = y[ends] >= y[starts]
        down = np.stack([np.where(rises, low, high), np.where(rises, high, low)], axis=1).ravel()
        return np.concatenate([x[:1], np.repeat(x[starts], 2), x[-1:]]), np.concatenate([y[:1], down, y[-1:]])
    across = np.stack([x[starts], x[starts], x[starts], x[ends]], axis=1)
    return across.ravel(), np.stack([y[starts], low, high, y[ends]], axis=1).ravel()


def log_ticks(span: Range, most: int) -> list[float]:
    """At most `most` exponents of ten in a range of exponents: whole ones, or of 1, 2 and 5 where it is narrow."""
    whole = [value for value in ticks(span, most) if float(value).is_integer()]
    if len(whole) >= 2:
        return whole
    for digits in ((1, 2, 5), tuple(range(1, 10))):
        powers = range(math.floor(span[0]), math.ceil(span[1]) + 1)
        found = [power + math.log10(digit) for power in powers for digit in digits]
        inside = [value for value in found if span[0] <= value <= span[1]]
        if len(inside) >= 2:
            return inside[:: -(-len(inside) // most)]
    low, high = 10.0 ** span[0], 10.0 ** span[1]
    return [math.log10(value) for value in ticks((low, high), most) if value > 0]


def within(x: np.ndarray, y: np.ndarray, span: Range) -> tuple[np.ndarray, np.ndarray]:
    """The points in a range of x, and one beyond each end, so that lines go on to the edge. `x` ascends."""
    first = max(int(np.searchsorted(x, span[0])) - 1, 0)
    last = int(np.searchsorted(x, span[1], side="right")) + 1
    return x[first:last], y[first:last]


def smoothed(y: np.ndarray, strength: float) -> np.ndarray:
    """A running mean whose weights fall by `strength` from point to point, unbiased at the start; 0 changes nothing."""
    if strength <= 0 or len(y) < 2:
        return y
    # In blocks: within one, the sum of all weighted points before is a cumulative sum that stays finite.
    out, before, weight = np.empty(len(y)), 0.0, 0.0
    block = max(int(math.log(1e-12) / math.log(strength)), 1)
    for start in range(0, len(y), block):
        part = y[start : start + block]
        powers = strength ** np.arange(len(part))
        sums = (before * strength + np.cumsum(part / powers)) * powers
        weights = (weight * strength + np.cumsum(1.0 / powers)) * powers
        out[start : start + block] = sums / weights
        before, weight = float(sums[-1]), float(weights[-1])
    return out
