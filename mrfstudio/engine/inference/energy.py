"""Free energies: what an approximation says about log Z."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages

if TYPE_CHECKING:  # regions load networkx, which who only sends messages need not wait for
    from mrfstudio.engine.inference.regions.tables import RegionTables


def bethe_log_partition(graph: FactorGraph, totals: Tensor, cavities: Tensor) -> Tensor:
    """log Z_Bethe from messages: Σ_a log Z_a + Σ_i (1 - d_i) log Z_i, (…).

    Z_a normalises a factor with its cavities, Z_i a variable's total; d_i is the degree. Any scale of the messages
    cancels. On a tree at the fixed point this is log Z.
    """
    packing = graph.packing
    weights = torch.cat([totals.new_full((b.count,), 1.0 - b.degree) for b in packing.blocks] or [totals.new_zeros(0)])
    nodes = (packing.logsumexp(totals) * weights).sum(-1) if packing.blocks else totals.new_zeros(totals.shape[:-1])
    return graph.constant + nodes + FactorMessages.of_graph(graph).log_normalisers(cavities)


def entropy(probabilities: Tensor) -> Tensor:
    """-Σ p log p over the last axis of (…, states), with 0 log 0 = 0."""
    return torch.special.entr(probabilities).sum(-1)


def region_log_partition(graph: FactorGraph, tables: RegionTables, potentials: Tensor, log_beliefs: Tensor) -> Tensor:
    """-F_R = Σ_R c_R Σ b_R (log φ_R - log b_R) (Eq. 4.6), (…). Potentials and log-beliefs are (…, region entries)."""
    beliefs = log_beliefs.exp()
    # A belief of exactly 0 contributes nothing, however low its potential.
    counts = (beliefs > 0) & ~potentials.isneginf()
    terms = torch.where(counts, beliefs * (potentials - log_beliefs), torch.zeros_like(beliefs))
    return graph.constant + (tables.counting.to(potentials) * terms).sum(-1)
