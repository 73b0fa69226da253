"""One parallel step of belief propagation on a small graph of any factors: all its tables are one flat vector.

On a graph of a few thousand entries a step by shape and axis is a hundred operations that each take longer to begin
than to do. Here it is about twenty, in numpy, however many shapes and degrees there are. With p the messages as
probabilities, t a table's entries and j a place in its scope, all of them at once,

    c = local · Π p / p,        m_j = Σ over the entries with that state of j of  t · Π_{k≠j} c_k,

products of the others from the left and from the right. Zeros are counted apart, so that nothing is divided by one.
Where there are few shapes and no zeros, t · Π c_k of all places is made once for each shape, and m_j is its sum / c_j.
What could leave the range of 64 bits on the way is left to the log domain, step by step. Binary variables alone are
quicker as odds (`flat_binary.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages
from mrfstudio.engine.inference.messages.flat_binary import by_odds, fits_odds
from mrfstudio.engine.inference.residuals import SATURATED

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALL = 80_000
"""Entries of all tables, times the places in their scopes, up to which this is quicker."""
REACH = 600.0
"""The logarithm that no product may go below."""
FEW_SHAPES = 4
"""Shapes of tables up to which one after the other is quicker than all at once."""


@dataclass(frozen=True, eq=False)
class FlatShape:
    """All tables of one shape, and for each axis where its message entries begin and end, as (1, …, k, …, 1, n)."""

    tables: Floats  # (k_1, …, k_r, n) linear
    axes: tuple[tuple[int, int, tuple[int, ...]], ...]


@dataclass(frozen=True, eq=False)
class FlatTables:
    """All tables one after the other, those of the largest order first: place j has to do with the first `reach[j]`."""

    tables: Floats  # (entries,) linear, the largest of each factor 1
    span: float  # minus the logarithm of the least of them that is not zero
    reach: tuple[int, ...]
    places: tuple[Integers, ...]  # for each place in a scope the message entry (reach[j],) that a table's entry is of
    incoming: Integers  # (messages,) message entries, those to one packed entry together
    starts: Integers  # where those of each packed entry begin
    heard: Integers  # the packed entries that hear anything
    spread: Integers  # (messages,) for each message entry the place of its packed entry in `heard`
    owner: Integers  # (messages,) the message that each message entry belongs to
    variable: Integers  # for each of `heard` the variable that it is a state of, in their own numbers
    degree: int
    all_places: Integers  # `places`, one after the other …
    begins: tuple[int, ...]  # … and where each begins
    messages: int
    shapes: tuple[FlatShape, ...]
    zeros: bool
    faintest: float
    """Minus the logarithm of the least that a message can say; infinite where zeros leave that open."""
    saturating: bool


@dataclass(frozen=True, eq=False)
class FlatLocal:
    """What is said of single variables: linear, the largest of each variable 1, for the entries of `heard`."""

    weights: Floats
    span: float
    zeros: bool


def fits_flat(graph: FactorGraph, messages: Tensor) -> bool:
    """Whether a graph is small enough, and one set of messages (messages,) on the CPU without gradients is meant."""
    if messages.ndim != 1 or messages.requires_grad or messages.device.type != "cpu":
        return False
    return graph.derived("flat size", lambda: _size(graph)) <= SMALL


def _size(graph: FactorGraph) -> int:
    if not graph.groups or any(group.tables.requires_grad for group in graph.groups):
        return SMALL + 1
    return sum(group.tables.numel() * group.order for group in graph.groups)


def by_flat(graph: FactorGraph, evidence: Evidence, messages: Tensor) -> tuple[Tensor, Tensor] | None:
    """New log-messages (messages,) before damping, and the residual, a scalar; None where numbers might be lost."""
    if fits_odds(graph):
        found = by_odds(graph, evidence, messages)
        if found is not None:
            return found
    flat = graph.derived("flat tables", lambda: _flat(graph))
    local = evidence.derived(graph, "flat local", lambda: _local(graph, flat, evidence))
    if local is None:
        return None
    logs = messages.numpy()
    old: Floats = np.exp(logs, dtype=np.float64)
    cavities = _with_zeros(flat, local, old, np.isneginf(logs)) if flat.zeros else _cavities(flat, local, old)
    if cavities is None:
        return None
    new = _by_shape(flat, cavities) if _divisible(flat, local, old) else _messages(flat, cavities)
    sums = np.bincount(flat.owner, new, flat.messages)
    if flat.zeros and not sums.min() > 0:
        return None
    new /= sums.take(flat.owner)
    if flat.zeros:
        with np.errstate(divide="ignore"):
            said = np.log(new)
    else:
        said = np.log(new)
    change = np.abs(new - old)
    if flat.saturating:
        _as_logarithms(change, new, old, said, logs)
    residual = np.asarray(change[change.argmax()], logs.dtype)  # which takes a fifth of the time of a maximum
    return torch.from_numpy(said.astype(logs.dtype, copy=False)), torch.from_numpy(residual)


def _cavities(flat: FlatTables, local: FlatLocal, given: Floats) -> Floats | None:
    """What every variable says without the factor it speaks to (messages,); None where a product might be lost.

    `given` are messages (messages,) that are nowhere zero.
    """
    others = len(flat.reach) - 1
    if not _within(flat, local, flat.faintest, others):
        least = float(given.min())
        if least == 0.0 or not _within(flat, local, -math.log(least), others):
            return None
    totals = np.multiply.reduceat(given.take(flat.incoming), flat.starts)
    totals *= local.weights
    cavities = totals.take(flat.spread)
    cavities /= given
    return cavities


def _within(flat: FlatTables, local: FlatLocal, faintest: float, count: int) -> bool:
    """Whether a table times `count` cavities is a number still, where no message says less than e^-`faintest`."""
    return flat.span + count * (flat.degree * faintest + local.span) <= REACH


def _divisible(flat: FlatTables, local: FlatLocal, given: Floats) -> bool:
    """Whether `_by_shape` is quicker after messages (messages,), and what it divides by is never lost."""
    if len(flat.shapes) > FEW_SHAPES or flat.zeros or local.zeros:
        return False
    if not _within(flat, local, flat.faintest, len(flat.reach)):
        return False
    return bool(given[given.argmin()] > 0.99 * math.exp(-flat.faintest))  # a message that a person holds may say less


def _with_zeros(flat: FlatTables, local: FlatLocal, old: Floats, zero: NDArray[np.bool_]) -> Floats | None:
    """The same of messages that forbid states where `zero` (messages,) says so.

    None also where nothing is left of a variable, which others name. What is 0 and forbids nothing is too faint for
    64 bits, and `_cavities` leaves it to the log domain.
    """
    if not zero.any():
        return _cavities(flat, local, old)
    cavities = _cavities(flat, local, np.where(zero, 1.0, old))
    if cavities is None:
        return None
    against = np.bincount(flat.spread, zero, len(flat.heard))
    left = np.bincount(flat.variable, (against == 0) & (local.weights > 0))
    if not left.min() > 0:
        return None
    cavities[against.take(flat.spread) > zero] = 0.0
    return cavities


def _messages(flat: FlatTables, cavities: Floats) -> Floats:
    """Messages before they are normalised, (messages,)."""
    reach, last = flat.reach, len(flat.reach) - 1
    given = [cavities.take(places) for places in flat.places]
    weights = np.empty(len(flat.all_places))
    left, behind = [flat.tables], given[last]  # products of the table and all places in front, and of those behind
    for place in range(last):
        following = left[place] * given[place]
        left.append(following[: reach[place + 1]])
    weights[flat.begins[last] :] = left[last]
    for place in range(last - 1, -1, -1):
        start, count = flat.begins[place], len(behind)
        np.multiply(left[place][:count], behind, out=weights[start : start + count])
        if count < reach[place]:
            weights[start + count : start + reach[place]] = left[place][count:]
        if place:
            own = given[place]
            own[:count] *= behind
            behind = own
    return np.asarray(np.bincount(flat.all_places, weights, len(cavities)), np.float64)


def _by_shape(flat: FlatTables, cavities: Floats) -> Floats:
    """The same where no cavity is zero, (messages,)."""
    new = np.empty(len(cavities))
    for shape in flat.shapes:
        joint = shape.tables
        for start, stop, places in shape.axes:
            joint = joint * cavities[start:stop].reshape(places)
        for place, (start, stop, _) in enumerate(shape.axes):
            if place:  # axes in front of this one are summed over
                joint = _summed(joint, 0)
            own = joint
            while own.ndim > 2:
                own = _summed(own, 1)
            new[start:stop] = own.ravel()
    new /= cavities
    return new


def _summed(joint: Floats, axis: int) -> Floats:
    """Σ over an axis, 0 or 1, of (…, n)."""
    if joint.shape[axis] != 2:
        return np.asarray(np.add.reduce(joint, axis))
    one, other = (joint[0], joint[1]) if axis == 0 else (joint[:, 0], joint[:, 1])
    return np.asarray(one + other)


def _as_logarithms(change: Floats, new: Floats, old: Floats, said: Floats, logs: np.ndarray) -> None:
    """Where messages are saturated their change is that of logarithms, as in `residuals.py`; in place."""
    deep = np.flatnonzero(np.maximum(new, old) < math.exp(SATURATED))
    if not len(deep):
        return
    here, before = said[deep], logs[deep].astype(np.float64)
    with np.errstate(invalid="ignore"):
        relative = np.abs(here - before) / (1 - here)
    gone = (np.isneginf(here) != np.isneginf(before)).astype(np.float64)
    change[deep] = np.where(np.isfinite(relative), relative, gone)


def _flat(graph: FactorGraph) -> FlatTables:
    packing, part = graph.packing, FactorMessages.of_graph(graph)
    first = {(block.group, block.axis): block for block in packing.message_blocks}
    numbers = sorted(range(len(graph.groups)), key=lambda number: -graph.groups[number].order)
    order = graph.groups[numbers[0]].order
    tables: list[Floats] = []
    span = 0.0
    places: list[list[Integers]] = [[] for _ in range(order)]
    shapes = []
    for number in numbers:
        group = graph.groups[number]
        log = group.tables.detach().double().numpy()
        log = log - log.max(axis=tuple(range(group.order)), keepdims=True)
        linear = np.exp(log)
        tables.append(linear.ravel())
        span = max(span, -float(log[np.isfinite(log)].min()))  # of logarithms: small entries may be 0 by now
        axes = []
        for axis in range(group.order):
            block = first[number, axis]
            shape = [1] * (group.order + 1)
            shape[axis], shape[-1] = block.states, block.count
            entries = block.offset + np.arange(block.states * block.count).reshape(shape)
            places[axis].append(np.broadcast_to(entries, log.shape).ravel())
            axes.append((block.offset, block.offset + entries.size, tuple(shape)))
        shapes.append(FlatShape(linear, tuple(axes)))
    joined = [np.ascontiguousarray(np.concatenate(each)) for each in places]
    by_entry = np.argsort(packing.cavity_entries, kind="stable")
    heard, spread = np.unique(packing.cavity_entries, return_inverse=True)
    starts = np.r_[0, np.cumsum(np.bincount(spread))[:-1]]
    owners, count = [], 0
    for block in packing.message_blocks:
        owners.append(np.tile(count + np.arange(block.count), block.states))
        count += block.count
    variable = np.unique(packing.owners(graph.device).numpy()[heard], return_inverse=True)[1]
    return FlatTables(
        np.concatenate(tables),
        span,
        tuple(map(len, joined)),
        tuple(joined),
        by_entry,
        starts,
        heard,
        spread,
        np.concatenate(owners),
        variable,
        int(np.bincount(spread).max()),
        np.concatenate(joined),
        tuple(np.cumsum([0, *map(len, joined)])[:-1].tolist()),
        count,
        tuple(shapes),
        graph.has_zeros,
        part.faintest,
        part.saturating,
    )


def _local(graph: FactorGraph, flat: FlatTables, evidence: Evidence) -> FlatLocal | None:
    """None for many sets of evidence at once, or where gradients flow."""
    local = graph.local_potentials(evidence)
    if local.ndim != 1 or local.requires_grad:
        return None
    blocks = [block - block.amax(-2, keepdim=True) for block in graph.packing.by_block(local.double())]
    logs = torch.cat([block.flatten() for block in blocks]).numpy()[flat.heard]
    finite = logs[np.isfinite(logs)]
    return FlatLocal(np.exp(logs), -float(finite.min()) if len(finite) else 0.0, len(finite) < len(logs))
