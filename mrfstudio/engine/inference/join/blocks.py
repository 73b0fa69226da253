"""Sums of products of large tables, block by block: the joint table of a cluster is never made.

    out(x_kept) = Σ over the other axes of Π_t table_t(x_t)

Neighbouring axes that all large tables have are the block, a vector that stays in the processor's cache. The other
axes are gone through state by state, those that are kept outside of those that are summed. A table is multiplied in as
soon as the states of its axes are known; small tables are laid out over the block beforehand. So nothing is written
but the result, into memory that may be there already, and two threads share the states of the outermost axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from mrfstudio.engine.inference.join.tables import Axes, Floats, summed
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

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
    work: float
    """Entries touched, in those of tables that are made anew."""


def nest(axes: Axes, masks: Sequence[int], kept: int) -> Nest | None:
    """The plan of a sum over tables with these axes; None where other ways are quicker."""
    whole = (1 << len(axes.shape)) - 1
    if axes.size(whole) <= LEAST:
        return None
    least = axes.size(whole) // LARGE
    large = {number for number, mask in enumerate(masks) if axes.size(mask) >= least}
    while True:
        common = whole if axes.size(kept) < least else kept
        for number in large:
            common &= masks[number]
        block = _block(axes, common)
        if block is None:
            return None
        most = max(LAID, axes.size(whole) // SHARE)
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
    return Nest(axes, tuple(masks), kept, block, tuple(loops), outer, frozenset(large), depths, work)


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


@dataclass(frozen=True)
class Total:
    """A sum (entries,), its largest entry and the smallest that is not 0; both are 0 where it is empty."""

    values: Floats
    top: float
    low: float


def total_of(plan: Nest, tables: Sequence[Floats], out: Floats, scale: float = 1.0, threads: int = 1) -> Total:
    """The sum, times `scale`, of tables that are laid into the axes, written into `out` (entries,)."""
    laid = [_Large(plan, number, tables[number]) for number in sorted(plan.large)]
    small = _small(plan, tables, scale)
    first = range(plan.axes.shape[plan.loops[0]]) if plan.loops else range(1)
    parts = [first[place::threads] for place in range(min(threads, len(first)))]
    whole = plan.block & plan.kept == plan.block
    if not whole:
        out.fill(0.0)
    apart = len(parts) > 1 and plan.outer == 0  # who sums over the same entries needs a place of its own
    outs = [out, *(np.zeros_like(out) if apart else out for _ in parts[1:])]
    if apart:
        out.fill(0.0)
    runs = [_Run(plan, [*laid, *small], own, part) for own, part in zip(outs, parts, strict=True)]
    helpers = [_pool(threads - 1).submit(each.helping) for each in runs[1:]]
    try:
        runs[0].run(stop_if_interrupted)
    finally:
        _finished(runs, helpers)
    for helper in helpers:
        helper.result()
    for own in outs[1:]:
        if apart:
            out += own
    if apart or not whole:
        return Total(out, *ends_of(out))
    return Total(out, max(each.top for each in runs), _least([each.low for each in runs]))


def _finished(runs: list[_Run], helpers: list[Future[None]]) -> None:
    """Nobody writes any more; whoever still does is told to stop where the first one has."""
    if not runs[0].done:
        for each in runs[1:]:
            each.stopped = True
    for helper in helpers:
        helper.exception()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="blocks")


def ends_of(values: Floats) -> tuple[float, float]:
    """The largest entry of (entries,) and the smallest that is not 0."""
    low = float(values.min())
    if low == 0.0:
        low = float(np.min(values, where=values > 0, initial=math.inf))
    return float(values.max()), 0.0 if math.isinf(low) else low


def _least(lows: Sequence[float]) -> float:
    return min((low for low in lows if low > 0), default=0.0)


class _Laid:
    """A table as a vector with the step from entry to entry of the block, and from state to state of every loop."""

    def __init__(self, values: Floats, strides: list[int], step: int, size: int, depth: int) -> None:
        self.values, self.strides, self.depth = values, strides, depth
        self.step, self.reach = step, (size - 1) * step + 1 if size else 0

    def at(self, offset: int) -> Floats:
        """The block (entries,) that begins there."""
        found: Floats = self.values[offset : offset + self.reach : self.step]
        return found


def _strides(plan: Nest, mask: int) -> dict[int, int]:
    """How far a state of each axis is from the next in a table over `mask`; 0 where it does not have the axis."""
    found, size = dict.fromkeys(range(len(plan.axes.shape)), 0), 1
    for axis in reversed(plan.axes.of(mask)):
        found[axis] = size
        size *= plan.axes.shape[axis]
    return found


class _Large(_Laid):
    """A table that has the whole block, where it lies."""

    def __init__(self, plan: Nest, number: int, table: Floats) -> None:
        strides = _strides(plan, plan.masks[number])
        step = strides[plan.block.bit_length() - 1]
        places = [strides[axis] for axis in plan.loops]
        super().__init__(table.reshape(-1), places, step, plan.axes.size(plan.block), plan.depths[number])


def _small(plan: Nest, tables: Sequence[Floats], scale: float) -> list[_Laid]:
    """The other tables, those that are known at the same depth together; the scale goes with the first of them."""
    axes, most = plan.axes, max(LAID, plan.axes.size((1 << len(plan.axes.shape)) - 1) // SHARE)
    groups: list[tuple[int, int, Floats]] = []
    for number, mask in enumerate(plan.masks):
        if number in plan.large:
            continue
        depth = plan.depths[number]
        for place, (other, union, product) in enumerate(groups):
            alike = bool(mask & plan.block) == bool(union & plan.block)
            extent = mask | union | (plan.block if mask & plan.block else 0)
            if other == depth and alike and axes.size(extent) <= most:
                groups[place] = (depth, union | mask, product * tables[number])
                break
        else:
            groups.append((depth, mask, tables[number]))
    if scale != 1.0:
        depth, mask, product = groups.pop() if groups else (0, 0, np.ones((1,) * len(axes.shape)))
        groups.append((depth, mask, product * scale))
    return [_laid(plan, *group) for group in groups]


def _laid(plan: Nest, depth: int, mask: int, table: Floats) -> _Laid:
    """A small table over its loops and the whole block, or over its loops alone where it has nothing of the block."""
    axes, loops = plan.axes, [axis for axis in plan.loops if mask >> axis & 1]
    block = axes.of(plan.block) if mask & plan.block else []
    over = sum(1 << axis for axis in (*loops, *block))
    size = math.prod(axes.shape[axis] for axis in block) if block else 0
    rest = [axis for axis in range(len(axes.shape)) if not over >> axis & 1]
    values = np.broadcast_to(table, axes.laid(over)).transpose(*loops, *block, *rest)
    own, step = dict.fromkeys(plan.loops, 0), size or 1
    for axis in reversed(loops):
        own[axis] = step
        step *= axes.shape[axis]
    return _Laid(np.ascontiguousarray(values).reshape(-1), [own[axis] for axis in plan.loops], 1, size, depth)


class _Run:
    """One thread's part: some states of the outermost axis."""

    def __init__(self, plan: Nest, tables: list[_Laid], out: Floats, states: Sequence[int]) -> None:
        self.plan, self.states = plan, states
        self.sizes = [plan.axes.shape[axis] for axis in plan.loops]
        self.size = plan.axes.size(plan.block)
        levels = range(len(self.sizes) + 1)
        self.tables = tables
        self.vectors = [[n for n, t in enumerate(tables) if t.depth == depth and t.reach] for depth in levels]
        self.scalars = [[n for n, t in enumerate(tables) if t.depth == depth and not t.reach] for depth in levels]
        self.scratch = [np.empty(self.size) for _ in levels]
        strides = _strides(plan, plan.kept)
        self.places = [strides[axis] for axis in plan.loops]
        inside = plan.axes.of(plan.block & plan.kept)
        self.whole = plan.block & plan.kept == plan.block
        step = strides[inside[-1]] if inside else 1
        self.result = _Laid(out, self.places, step, math.prod(plan.axes.shape[axis] for axis in inside), 0)
        block = plan.axes.of(plan.block)
        self.shape = [plan.axes.shape[axis] for axis in block]
        self.gone = [place for place, axis in enumerate(block) if not plan.kept >> axis & 1]
        self.top, self.low = 0.0, math.inf
        self.stopped = self.done = False

    def helping(self) -> None:
        """In a thread of its own."""
        self.run(lambda: None)

    def run(self, ask: Callable[[], None]) -> None:
        self.ask = ask
        with np.errstate(under="ignore"):
            self._enter(0, [0] * len(self.tables), 0, None, 1.0, True)
        self.low = 0.0 if math.isinf(self.low) else self.low
        self.done = True

    def _enter(
        self, depth: int, offsets: list[int], place: int, prefix: Floats | None, factor: float, fresh: bool
    ) -> None:
        """Go on where the states of so many loops are known: where every table's block (entries,) begins, and that of
        the result; the product (entries,) so far; whether nothing was written to the result yet.
        """
        for number in self.scalars[depth]:
            factor *= float(self.tables[number].values[offsets[number]])
        operands = [self.tables[number].at(offsets[number]) for number in self.vectors[depth]]
        if prefix is not None:
            operands.append(prefix)
        if depth == len(self.sizes):
            self._leaf(operands, factor, place, fresh)
        else:
            if len(operands) > 1 or (operands and factor != 1.0):
                operands, factor = [_product(operands, factor, self.scratch[depth])], 1.0
            following = operands[0] if operands else None
            summing = depth >= self.plan.outer
            steps = [table.strides[depth] for table in self.tables]
            for state in self.states if depth == 0 else range(self.sizes[depth]):
                moved = [offset + state * step for offset, step in zip(offsets, steps, strict=True)]
                self._enter(
                    depth + 1,
                    moved,
                    place + state * self.places[depth],
                    following,
                    factor,
                    fresh and not (summing and state),
                )
        if depth == self.plan.outer:
            self._written(place)

    def _leaf(self, operands: list[Floats], factor: float, place: int, fresh: bool) -> None:
        if not self.whole:
            product = _product(operands, factor, self.scratch[-1])
            shown = self.result.at(place)
            shown += summed(product.reshape(self.shape), self.gone).reshape(-1)
            return
        shown = self.result.at(place)
        if fresh:
            _product(operands, factor, shown)
        else:
            shown += _product(operands, factor, self.scratch[-1])

    def _written(self, place: int) -> None:
        """A block of the result is complete."""
        self.ask()
        if self.stopped:
            raise Stopped
        if self.whole:
            top, low = ends_of(self.result.at(place))
            self.top = max(self.top, top)
            if low > 0:
                self.low = min(self.low, low)


class Stopped(Exception):
    """The first thread has ended before its time."""


def _product(operands: list[Floats], factor: float, out: Floats) -> Floats:
    """The product of vectors (entries,) and a number, written to `out` (entries,)."""
    if len(operands) < 2:
        return np.multiply(operands[0] if operands else 1.0, factor, out=out)
    np.multiply(operands[0], operands[1], out=out)
    for further in operands[2:]:
        np.multiply(out, further, out=out)
    return out if factor == 1.0 else np.multiply(out, factor, out=out)
