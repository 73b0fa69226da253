"""The step of `flat.py` where all variables are binary and tables weak: all messages at once, one number for each.

With z the log-ratios of messages, those of cavities are c = local + Σ z - z. Each message has its table with its own
axis last, t (…, 2, 2), where the other axes are summed out one by one with the odds of what comes in on them,

    t_0 + t_1 e^c.
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

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PADDING = 1.5
"""How many times as many entries tables may have that are all of the largest order."""
LARGEST = 6
"""Order of factors up to which products of odds up to e^`FAR` stay far within 64 bits."""
FAR = 60.0
"""Log-odds of a cavity beyond which it decides alone to within e^-50, where no table spans more than 8."""


@dataclass(frozen=True, eq=False)
class BinaryTables:
    """Messages in the order of groups, axes and factors, m of them, the largest order r."""

    tables: Floats  # (2, …, 2, m) linear, r twos: the other axes, then the message's own
    others: Integers  # (r - 1, m) for each other axis the message whose cavity comes in there; any where one lacks
    entries: Integers  # (2, m) the message entries of states 0 and 1
    back: Integers  # (2m,) for each message entry its place in `entries`, flat
    variable: Integers  # (m,) the variable that each is about, in numbers of those that hear anything
    packed: Integers  # (2, variables) their packed entries


def fits_odds(graph: FactorGraph) -> bool:
    """Whether all variables of factors are binary, orders much alike, and no message so faint that its logarithm is
    what changes; of graphs that fit `flat.py`.
    """
    return graph.derived("flat odds fit", lambda: _fits(graph))


def _fits(graph: FactorGraph) -> bool:
    orders = [group.order for group in graph.groups]
    if min(orders) < 2 or max(orders) > LARGEST:
        return False
    if any(states != 2 for group in graph.groups for states in group.tables.shape[:-1]):
        return False
    needed = sum(group.order * group.tables.numel() for group in graph.groups)
    messages = graph.packing.message_size // 2
    return messages * 2 ** max(orders) <= PADDING * needed and not FactorMessages.of_graph(graph).saturating


def by_odds(graph: FactorGraph, evidence: Evidence, messages: Tensor) -> tuple[Tensor, Tensor] | None:
    """New log-messages (messages,) before damping, and the residual, a scalar; None where one forbids a state, for many
    sets of evidence at once, or where gradients flow.
    """
    binary = graph.derived("flat binary", lambda: _binary(graph))
    local = evidence.derived(graph, "flat odds", lambda: _local(graph, binary, evidence))
    if local is None:
        return None
    old = messages.numpy().take(binary.entries)
    if old.item(old.argmin()) == -math.inf:
        return None
    ratios = np.subtract(old[1], old[0], dtype=np.float64)
    totals = np.bincount(binary.variable, ratios, len(local)) + local
    odds = totals.take(binary.variable)
    odds -= ratios
    # argmax and argmin, which find a NaN too, take a fifth of the time of maximum and minimum.
    if not (odds[odds.argmin()] >= -FAR and odds[odds.argmax()] <= FAR):
        np.clip(odds, -FAR, FAR, out=odds)
    np.exp(odds, out=odds)
    shares = binary.tables
    for given in odds.take(binary.others):
        one = shares[1] * given
        one += shares[0]
        shares = one
    shares /= shares[0] + shares[1]
    change = shares[1] - np.exp(old[1])
    np.abs(change, out=change)
    residual = np.asarray(change[change.argmax()], old.dtype)
    new = np.log(shares).astype(old.dtype, copy=False).take(binary.back)
    return torch.from_numpy(new), torch.from_numpy(residual)


def _binary(graph: FactorGraph) -> BinaryTables:
    packing, largest = graph.packing, max(group.order for group in graph.groups)
    tables, others, entries, start = [], [], [], 0
    blocks = iter(packing.message_blocks)
    for group in graph.groups:
        order, lacking, count = group.order, largest - group.order, group.tables.shape[-1]
        log = group.tables.detach().double().numpy()
        linear = np.exp(log - log.max(axis=tuple(range(order)), keepdims=True))
        for axis in range(order):
            own = start + axis * count + np.arange(count)
            following = [start + other * count + np.arange(count) for other in range(order) if other != axis]
            others.append(np.stack([own] * lacking + following))
            padded = np.zeros((2,) * largest + (count,))  # with state 1 of an axis that lacks impossible
            padded[(0,) * lacking] = np.moveaxis(linear, axis, -2)
            tables.append(padded)
            entries.append(next(blocks).offset + np.arange(2 * count).reshape(2, -1))
        start += order * count
    joined = np.concatenate(entries, axis=1)
    packed, variable = np.unique(packing.cavity_entries[joined], axis=1, return_inverse=True)
    return BinaryTables(
        np.concatenate(tables, axis=-1),
        np.concatenate(others, axis=1),
        joined,
        np.argsort(joined.ravel()),
        variable.ravel(),
        packed,
    )


def _local(graph: FactorGraph, binary: BinaryTables, evidence: Evidence) -> Floats | None:
    """Log-odds (variables,) of what is said of single variables, infinite where a state is forbidden."""
    local = graph.local_potentials(evidence)
    if local.ndim != 1 or local.requires_grad:
        return None
    zero, one = local.double().numpy()[binary.packed]
    return np.asarray(one - zero)
