"""Messages whose edges carry exponents: what α-BP and tree-reweighted BP share.

With a message m_e→t about variable t through edge e = (s, t), an edge's table θ_e, and four exponents an edge

    total_t = local_t + Σ_e weight_e m_e→t
    cavity_e→t = total_t - own_e m_e→t
    m'_e→s(x_s) = keep_e m_e→s(x_s) + log Σ_{x_t} exp(scale_e θ_e(x_s, x_t) + cavity_e→t(x_t))

α-BP (Eq. 3.17) has scale = own = α, weight = 1, keep = 1 - α; tree-reweighted BP (Eq. 3.20) has scale = 1/μ,
weight = μ, own = 1, keep = 0. With Z_s = Σ exp(total_s), both have the free energy

    Σ_s log Z_s + Σ_e (log Σ exp(scale_e θ_e + cavity_e→s + cavity_e→t) - log Z_s - log Z_t) / scale_e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages
from mrfstudio.engine.runtime.device import to_host


@dataclass(frozen=True, eq=False)
class Exponents:
    """Exponents for every message entry (messages,) in the graph's packing, and the tables to the power `scale`."""

    part: FactorMessages
    weight: Tensor | None  # None: 1 everywhere
    own: Tensor | float
    keep: Tensor | float
    scales: list[Tensor]  # (factors,) for each group

    @property
    def keeps(self) -> bool:
        return isinstance(self.keep, Tensor) or self.keep != 0.0


def edges_of(graph: FactorGraph) -> np.ndarray:
    """Variable numbers (edges, 2) of the factors of a pairwise graph, in the order it was built from."""
    if not graph.groups:
        return np.zeros((0, 2), dtype=np.int64)
    positions = np.concatenate([to_host(group.positions) for group in graph.groups])
    scopes = np.concatenate([to_host(group.scopes) for group in graph.groups], axis=1)
    return scopes.T[np.argsort(positions, kind="stable")]


def by_group(graph: FactorGraph, values: np.ndarray) -> list[Tensor]:
    """A value for each factor, in the order the graph was built from → a tensor (factors,) for each group."""
    positions = [to_host(group.positions) for group in graph.groups]
    if not positions:
        return []
    flat = np.empty(len(values))
    flat[np.argsort(np.concatenate(positions), kind="stable")] = values
    parts = np.split(flat, np.cumsum([len(p) for p in positions])[:-1])
    return [torch.as_tensor(part, dtype=graph.dtype, device=graph.device) for part in parts]


def per_message(graph: FactorGraph, groups: list[Tensor]) -> Tensor:
    """(factors,) for each group → (messages,): every entry of a message carries its edge's value."""
    parts = [groups[block.group].repeat(block.states) for block in graph.packing.message_blocks]
    return torch.cat(parts) if parts else graph.unary.new_zeros(0)


def totals_and_cavities(graph: FactorGraph, local: Tensor, messages: Tensor, e: Exponents) -> tuple[Tensor, Tensor]:
    """(…, size) and (…, messages).

    A state that the variable's own message forbids is not thereby closed in the cavity, as in ordinary BP: what it says
    then reaches only states that are impossible for other reasons.
    """
    packing = graph.packing
    if not graph.has_zeros:
        totals = local + packing.sum_incoming(messages if e.weight is None else messages * e.weight)
        return totals, packing.spread(totals) - e.own * messages
    blocked = torch.isneginf(messages)
    finite = messages.masked_fill(blocked, 0.0)
    sums = local + packing.sum_incoming(finite if e.weight is None else finite * e.weight)
    counts = packing.sum_incoming(blocked.to(messages.dtype))
    others = packing.spread(counts) - blocked.to(messages.dtype)
    cavities = (packing.spread(sums) - e.own * finite).masked_fill(others > 0.5, -torch.inf)
    return sums.masked_fill(counts > 0.5, -torch.inf), cavities


def proposal(messages: Tensor, cavities: Tensor, e: Exponents) -> Tensor:
    """The next messages (…, message size), normalised."""
    fresh = e.part.messages(cavities, 1.0)
    if not e.keeps:
        return fresh
    # A forbidden state has no power to keep: the fresh message alone says whether it stays forbidden.
    return e.part.normalise(fresh + e.keep * messages.masked_fill(messages.isneginf(), 0.0))


def log_partition(graph: FactorGraph, totals: Tensor, cavities: Tensor, e: Exponents) -> Tensor:
    """The free energy above with the graph's constant, (…)."""
    packing = graph.packing
    normalisers = packing.logsumexp(totals)
    value = graph.constant + normalisers.sum(-1)
    singles = packing.to_variable_order(normalisers)
    for group, scale, joint in zip(graph.groups, e.scales, e.part.log_normalisers_by_factor(cavities), strict=True):
        ends = singles.index_select(-1, group.scopes[0]) + singles.index_select(-1, group.scopes[1])
        value = value + ((joint - ends) / scale).sum(-1)
    return value
