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

from mrfstudio.engine.inference.join.nests import Nest
from mrfstudio.engine.inference.join.tables import Floats, summed
from mrfstudio.engine.runtime.interruption import stop_if_interrupted


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
    axes = plan.axes
    groups: list[tuple[int, int, Floats]] = []
    for number, mask in enumerate(plan.masks):
        if number in plan.large:
            continue
        depth = plan.depths[number]
        for place, (other, union, product) in enumerate(groups):
            alike = bool(mask & plan.block) == bool(union & plan.block)
            extent = mask | union | (plan.block if mask & plan.block else 0)
            if other == depth and alike and axes.size(extent) <= plan.most:
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
