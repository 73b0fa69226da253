"""How a sum of products of large tables is taken block by block: which axes are the block, in which order the others
are gone through, and what that costs. The sums themselves are in `blocks.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mrfstudio.engine.inference.join.tables import Axes

BLOCK = 2**15
"""Most entries of a block."""
SHORTEST = 2**9
"""Entries of a block below which calls take longer than what they compute."""
LEAST = 2**14
"""Entries of a joint table up to which it is quicker to make it."""
LARGE = 64
"""The part of the joint table, one over this, from which a table counts as large."""
LAID = 2**18
"""Entries that small tables may have once they are laid out over the block …"""
SHARE = 16
"""… or up to this part of the joint table, one over this."""
CALL = 4000.0
"""Entries that take as long as a call."""
STRIDED = ((1, 1.0), (2, 1.7), (8, 4.0))
"""How many times longer an entry takes where the next one is so many places further …"""
SCATTERED = 10.0
"""… and where it is further still."""
QUICKER = 8.0
"""How many times quicker an entry of a block is than one of a table that is made anew."""


@dataclass(frozen=True)
class Nest:
    """How one sum is taken: the axes of the block, the others in the order in which they are gone through, how many of
    those are kept, and for every table after how many of them it is known.
    """

    axes: Axes
    masks: tuple[int, ...]
    kept: int
    block: int
    loops: tuple[int, ...]
    outer: int
    large: frozenset[int]
    depths: tuple[int, ...]
    most: int
    """Entries that small tables may have once they are laid out."""
    work: float
    """Entries touched, in those of tables that are made anew."""


def nest(axes: Axes, masks: Sequence[int], kept: int) -> Nest | None:
    """The plan of a sum over tables with these axes; None where other ways are quicker."""
    whole = (1 << len(axes.shape)) - 1
    if axes.size(whole) <= LEAST:
        return None
    least = axes.size(whole) // LARGE
    large = {number for number, mask in enumerate(masks) if axes.size(mask) >= least}
    most = max(LAID, axes.size(whole) // SHARE)
    while True:
        common = whole if axes.size(kept) < least else kept
        for number in large:
            common &= masks[number]
        block = _block(axes, common)
        if block is None:
            return None
        wide = {
            number
            for number, mask in enumerate(masks)
            if number not in large and mask & block and axes.size(mask | block) > most
        }
        if not wide:
            break
        large |= wide
    outside = axes.of(whole & ~block)
    loops = [axis for axis in outside if kept >> axis & 1]
    outer = len(loops)
    loops += [axis for axis in outside if not kept >> axis & 1]
    depths = tuple(
        max((place + 1 for place, axis in enumerate(loops) if mask >> axis & 1), default=0) for mask in masks
    )
    work = _work(axes, block, loops, [depths[number] for number in large], depths) / QUICKER
    return Nest(axes, tuple(masks), kept, block, tuple(loops), outer, frozenset(large), depths, most, work)


def _block(axes: Axes, common: int) -> int | None:
    """The last axes of that run of neighbours in which vectors are quickest; None where all runs are short."""
    best, found = 0.0, None
    run: list[int] = []
    for axis in range(len(axes.shape)):
        run = [*run, axis] if common >> axis & 1 else []
        taken = 0
        for last in reversed(run):
            if axes.size(taken | 1 << last) > BLOCK:
                break
            taken |= 1 << last
        size = axes.size(taken)
        quick = size / (size + CALL) / _pace(axes, axis)
        if size >= SHORTEST and quick > best:
            best, found = quick, taken
    return found


def _pace(axes: Axes, last: int) -> float:
    """How many times longer an entry of a block takes that ends with this axis."""
    step = math.prod(axes.shape[last + 1 :])
    return next((pace for most, pace in STRIDED if step <= most), SCATTERED)


def _work(axes: Axes, block: int, loops: Sequence[int], large: list[int], depths: Sequence[int]) -> float:
    """Entries touched, and calls as entries."""
    entry = axes.size(block) * _pace(axes, block.bit_length() - 1) + CALL
    total, visits = 0.0, 1.0
    for depth in range(len(loops) + 1):
        if depth:
            visits *= axes.shape[loops[depth - 1]]
        products = large.count(depth) + (depth in depths)
        total += visits * (products + (depth == len(loops))) * entry
    return total
