"""Sums of products of tables over the variables of one cluster, quick and without numbers that vanish.

A table is an array with an axis for each variable of the cluster, of length 1 where the table does not have it; which
axes it has is a set of bits. A product is summed two tables at a time, as matrix products where they are large enough:
the joint table of all of them is hardly ever made.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.runtime.interruption import stop_if_interrupted

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

SPAN = 600.0
"""Nats between the largest and the smallest entry of a product up to which it is taken in the linear domain."""
SATURATED = -8.0
"""The logarithm of a probability below which changes count as logarithms."""
NARROW = 8
"""Entries behind a summed axis up to which sums go through them one by one."""
FEW = 8
"""Entries along a summed axis up to which they are added one by one, which is quicker than a sum."""
MATRIX = 512
"""Products in one matrix product from which it is quicker than a product entry by entry."""
BLAS = 8.0
"""How many times quicker."""
TINY = 2**10
"""Entries of a cluster's table up to which it is simply made."""
MANY = 24
"""Tables of which every pair is looked at; of more the smallest goes with its best partner first."""


class Axes:
    """The axes of one cluster: how many entries tables over sets of them have."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._sizes: dict[int, int] = {0: 1}

    def size(self, mask: int) -> int:
        found = self._sizes.get(mask)
        if found is None:
            low = mask & -mask
            found = self.size(mask ^ low) * self.shape[low.bit_length() - 1]
            self._sizes[mask] = found
        return found

    def of(self, mask: int) -> list[int]:
        return [axis for axis in range(len(self.shape)) if mask >> axis & 1]

    def laid(self, mask: int) -> Shape:
        """The shape of a table."""
        return tuple(size if mask >> axis & 1 else 1 for axis, size in enumerate(self.shape))


@dataclass(frozen=True)
class TableStep:
    """Two tables, by place, and the axes of each and of their product: what is in neither sum goes."""

    one: int
    other: int
    masks: tuple[int, int]
    left: int


@dataclass(frozen=True)
class Contraction:
    """How a sum of products is taken: steps whose results go to the end of the list, then the last one is summed."""

    axes: Axes
    steps: tuple[TableStep, ...]
    last: int
    kept: int
    work: float
    """Entries that are touched, about."""
    peak: int
    """Entries of the largest table on the way."""

    def __call__(self, tables: Sequence[Floats]) -> Floats:
        """The sum over all axes that are not kept, of the shape of the kept ones."""
        found = list(tables)
        for step in self.steps:
            stop_if_interrupted()
            found.append(_pair(self.axes, found[step.one], found[step.other], step))
            found[step.one] = found[step.other] = found[-1][:0]  # held no longer than needed
        result = summed(found[-1], self.axes.of(self.last & ~self.kept), keep=True)
        if self.last & self.kept != self.kept:
            result = np.broadcast_to(result, self.axes.laid(self.kept))
        return result.reshape([self.axes.shape[axis] for axis in self.axes.of(self.kept)])


def contraction(axes: Axes, masks: Sequence[int], kept: int) -> Contraction:
    """The pair whose result is smallest beside what it replaces goes first, and so on."""
    alive = dict(enumerate(masks))
    steps: list[TableStep] = []
    work, peak, place = 0.0, 1, len(masks)
    size = axes.size
    tiny = size((1 << len(axes.shape)) - 1) <= TINY
    while len(alive) > 1:
        if tiny:
            one, other = itertools.islice(alive, 2)
            left = alive[one] | alive[other]
        else:
            one, other, left = _best_pair(axes, alive, kept) if len(alive) <= MANY else _small_pair(axes, alive)
        a, b = alive.pop(one), alive.pop(other)
        steps.append(TableStep(one, other, (a, b), left))
        more, largest = _work(axes, a, b, left)
        work, peak = work + more, max(peak, largest)
        alive[place] = left
        place += 1
    (last,) = alive.values()
    return Contraction(axes, tuple(steps), last, kept, work + size(last), peak)


def _best_pair(axes: Axes, alive: dict[int, int], kept: int) -> tuple[int, int, int]:
    """Two places and the axes of their product, summed where no other table needs them."""
    best: tuple[float, int, int, int] | None = None
    places, size = list(alive), axes.size
    rests = _rests([alive[p] for p in places])
    for i, one in enumerate(places):
        for j in range(i + 1, len(places)):
            a, b = alive[one], alive[places[j]]
            left = (a | b) & (kept | _others(rests, i, j))
            gain = size(left) - size(a) - size(b)
            if best is None or gain < best[0]:
                best = (gain, one, places[j], left)
    assert best is not None
    return best[1:]


def _small_pair(axes: Axes, alive: dict[int, int]) -> tuple[int, int, int]:
    """The smallest table and the one that it makes least larger; nothing is summed yet."""
    one = min(alive, key=lambda place: axes.size(alive[place]))
    other = min((p for p in alive if p != one), key=lambda p: axes.size(alive[p] | alive[one]) - axes.size(alive[p]))
    return one, other, alive[one] | alive[other]


def _rests(masks: list[int]) -> tuple[int, int, list[int]]:
    """The axes that one table has, that two have at least, that three have at least; and the tables' own."""
    once = twice = thrice = 0
    for mask in masks:
        thrice |= twice & mask
        twice |= once & mask
        once |= mask
    return twice, thrice, masks


def _others(rests: tuple[int, int, list[int]], i: int, j: int) -> int:
    """Those axes of tables i and j that some further table has too."""
    twice, thrice, masks = rests
    return thrice | (twice & ~(masks[i] & masks[j]))


def _work(axes: Axes, a: int, b: int, left: int) -> tuple[float, int]:
    """Entries touched by a step, and those of its largest table."""
    size = axes.size
    ends = float(size(a) + size(b) + size(left))
    a, b = a & (b | left), b & (a | left)
    joint = size(a | b)
    if _as_matrices(axes, a, b, left):
        return ends + joint / BLAS, int(max(size(a), size(b), size(left)))
    return ends + joint * (2 if left != a | b else 1), joint


def _as_matrices(axes: Axes, a: int, b: int, left: int) -> bool:
    shared, batch = a & b & ~left, a & b & left
    return bool(shared) and axes.size((a | b) & ~batch) >= MATRIX


def _pair(axes: Axes, one: Floats, other: Floats, step: TableStep) -> Floats:
    """Σ of the product of two tables over what is not left."""
    (a, b), left = step.masks, step.left
    one = summed(one, axes.of(a & ~b & ~left), keep=True)
    other = summed(other, axes.of(b & ~a & ~left), keep=True)
    a, b = a & (b | left), b & (a | left)
    if not _as_matrices(axes, a, b, left):
        return summed(one * other, axes.of((a | b) & ~left), keep=True)
    batch, inner = axes.of(a & b & left), axes.of(a & b & ~left)
    rows, columns = axes.of(a & ~b), axes.of(b & ~a)
    count, width = axes.size(a & b & left), axes.size(a & b & ~left)
    nothing = axes.of(~(a | b))
    first = one.transpose(batch + rows + inner + columns + nothing).reshape(count, -1, width)
    second = other.transpose(batch + inner + columns + rows + nothing).reshape(count, width, -1)
    result = np.matmul(first, second)
    order = batch + rows + columns + inner + nothing
    shape = [axes.shape[axis] if left >> axis & 1 else 1 for axis in order]
    back = np.argsort(order)
    return np.ascontiguousarray(result.reshape(shape).transpose(back))


def all_summed(axes: Axes, table: Floats, mask: int, wanted: Sequence[int]) -> dict[int, Floats]:
    """The sums of a table over `mask` to each of the sets of axes that are wanted, laid into the axes of the cluster.

    Sets that together have about half of the axes go by way of the sum to what they have together: the whole table is
    gone through a few times, and not once for each.
    """
    stop_if_interrupted()
    if len(wanted) < 3 or axes.size(mask) <= TINY:
        return {kept: summed(table, axes.of(mask & ~kept), keep=True) for kept in wanted}
    most = max(mask.bit_count() // 2 + 1, *(kept.bit_count() for kept in wanted))
    unions: list[tuple[int, list[int]]] = []
    for kept in sorted(set(wanted)):
        for place, (union, members) in enumerate(unions):
            if (union | kept).bit_count() <= most:
                unions[place] = (union | kept, [*members, kept])
                break
        else:
            unions.append((kept, [kept]))
    found: dict[int, Floats] = {}
    for union, members in unions:
        part = summed(table, axes.of(mask & ~union), keep=True)
        found |= (
            all_summed(axes, part, union, members)
            if union != mask
            else {kept: summed(part, axes.of(mask & ~kept), keep=True) for kept in members}
        )
    return found


def span(log: Floats) -> float:
    """How far the possible entries of a table are apart."""
    low, high = float(log.min()), float(log.max())
    if math.isfinite(low):
        return high - low
    finite = log[np.isfinite(log)]
    return float(finite.max() - finite.min()) if finite.size else 0.0


def is_linear(message: Floats) -> bool:
    """Messages are linear with 1 as their largest entry, or logarithmic with 0."""
    return float(message.max()) > 0.5


def linear_span(message: Floats) -> float:
    """The span of a linear message, in nats."""
    low = float(message.min())
    if low == 0.0:
        low = float(np.min(message, where=message > 0, initial=1.0))
    return -math.log(low)


def scaled(total: Floats, logarithmic: bool) -> Floats | None:
    """A message of these values; None where nothing is possible."""
    top = float(total.max())
    if top == (-math.inf if logarithmic else 0.0):
        return None
    if not logarithmic:
        return total / top
    log = total - top
    return np.exp(log) if span(log) < SPAN / 2 else log


def probabilities(message: Floats) -> Floats:
    """A message that sums to 1."""
    linear = message if is_linear(message) else np.exp(message)
    normalised: Floats = linear / linear.sum()
    return normalised


def difference(fresh: Floats, before: Floats) -> float:
    """The largest change of a message: of its probabilities, and of its logarithms, relative to how large they are,
    where probabilities are saturated (as in `residuals.py`).
    """
    new, old = log_probabilities(fresh), log_probabilities(before)
    found = float(np.abs(np.exp(new) - np.exp(old)).max())
    deep = np.maximum(new, old) < SATURATED
    if deep.any():
        one, other = new[deep], old[deep]
        known = np.isfinite(one)
        if (known != np.isfinite(other)).any():
            return 1.0
        moved = np.abs(one[known] - other[known]) / (1 - one[known])
        found = max(found, float(moved.max(initial=0.0)))
    return found


def log_probabilities(message: Floats) -> Floats:
    """The logarithm of a message that sums to 1."""
    log = logarithm(message) if is_linear(message) else message
    normalised: Floats = log - float(log_summed(log, (0,)))
    return normalised


def mixed(fresh: Floats, before: Floats, damping: float) -> Floats:
    """The mean of two messages' probabilities. What is impossible is so at once: a zero is a proof."""
    if is_linear(fresh) and is_linear(before):
        both = (1 - damping) * probabilities(fresh) + damping * probabilities(before)
        both[fresh == 0] = 0.0
        return np.asarray(both / both.max())
    parts = [log_probabilities(message) for message in (fresh, before)]
    total = np.logaddexp(math.log1p(-damping) + parts[0], math.log(damping) + parts[1])
    total[np.isneginf(parts[0])] = -np.inf
    log: Floats = total - total.max()
    return log


def summed(values: Floats, axes: Sequence[int], keep: bool = False) -> Floats:
    """The sum over some axes, the first ones first, where sums run along memory; `keep` leaves them with length 1."""
    if not axes:
        return values
    shape = list(values.shape)
    for first, last in _runs(axes):
        block = values.reshape(
            math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
        )
        values = _along(block)
        shape[first : last + 1] = [1] * (last + 1 - first)
    if not keep:
        gone = set(axes)
        shape = [size for axis, size in enumerate(shape) if axis not in gone]
    return values.reshape(shape)


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring axes as (first, last)."""
    found: list[tuple[int, int]] = []
    for axis in sorted(axes):
        if found and found[-1][1] == axis - 1:
            found[-1] = (found[-1][0], axis)
        else:
            found.append((axis, axis))
    return found


def _along(block: Floats) -> Floats:
    """The sum of (before, count, behind) over count."""
    before, count, behind = block.shape
    if behind > NARROW and count <= FEW:
        added = block[:, 0] + block[:, 1] if count > 1 else block[:, 0].copy()
        for number in range(2, count):
            added += block[:, number]
        return added
    if behind > NARROW or count > 4 * NARROW or before < 4 * NARROW:
        total: Floats = block.sum(1)
        return total
    total = np.empty((before, behind))
    for place in range(behind):
        column = total[:, place]
        np.copyto(column, block[:, 0, place])
        for number in range(1, count):
            column += block[:, number, place]
    return total


def log_summed(values: Floats, axes: Sequence[int]) -> Floats:
    """The sum over some axes of what logarithms stand for, as logarithms."""
    if not axes:
        return values
    top = values.max(tuple(axes), keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = logarithm(summed(np.exp(values - safe), axes))
    return total + safe.reshape(total.shape)


def logarithm(values: Floats) -> Floats:
    """log, with -inf for 0."""
    with np.errstate(divide="ignore"):
        found: Floats = np.log(values)
    return found
