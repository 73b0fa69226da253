"""Naive mean field: the product of single-variable distributions nearest to the model.

    log q_i(x_i) = local_i(x_i) + Σ_{a∋i} E_q[θ_a | x_i] + const

A sweep updates variables colour by colour, so that every update is coordinate ascent on the lower bound
-F = Σ_a E_q[θ_a] + Σ_i E_q[local_i] + H(q) ≤ log Z, which therefore never falls without damping.

With -inf in tables, symmetric constraints would forbid every state of a variable at once. A forbidden entry therefore
counts as less than any assignment that is possible: the largest entry of its table minus the range of all scores. Sums
of such numbers need 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import (
    Algorithm,
    Kernel,
    LogPartition,
    State,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.estimates import score_range
from mrfstudio.engine.inference.messages.factor_messages import contract, weighted_sum
from mrfstudio.engine.inference.schedules import color_masks
from mrfstudio.engine.protocol.catalogue import number
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.device import wide

BELOW = 100.0
"""By how much a forbidden entry lies below everything possible: e^-100 of it changes no digit."""
ON_THE_IMPOSSIBLE = 1e-6
"""Probability of forbidden entries above which q is no approximation of the model: its bound says nothing then."""


@ALGORITHMS.register
class MeanField(Algorithm):
    """Parameters of mean field."""

    name = "mean-field"
    title = "Mean field"
    summary = (
        "Independent variables that fit the model best; log Z is a lower bound at every iteration. "
        "The residual is the largest change of a belief."
    )

    damping: float = number(0.0, "How much of the old belief is kept at each update.", low=0, high=1, high_open=True)


@dataclass(frozen=True, eq=False)
class Product(State):
    """q, packed (…, size)."""

    beliefs: Tensor


@kernel(MeanField, FactorGraph)
class MeanFieldOnGraph(Kernel):
    """Any factor graph."""

    def init(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence) -> Product:
        require_possible(model, evidence)
        local = model.local_potentials(evidence)
        return Product(0, nothing_changed(local), model.packing.softmax(local))

    def step(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product) -> Product:
        require_possible(model, evidence)
        tables = allowing_tables(model, evidence)
        q = state.beliefs if tables is None else wide(state.beliefs)
        local = model.local_potentials(evidence).to(q.dtype)
        old = q
        for mask in color_masks(model):
            update = model.packing.softmax(local + model.packing.sum_incoming(_expectations(model, tables, q)))
            if algorithm.damping:
                update = torch.lerp(update, q, algorithm.damping)
            q = torch.where(mask, update, q)
        with torch.no_grad():
            change = (q - old).abs()
            residual = change.max() if change.numel() else change.new_zeros(())
        if algorithm.damping:
            residual = residual / (1 - algorithm.damping)
        return Product(state.iteration + 1, residual.to(model.dtype), q.to(model.dtype))

    def beliefs(self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product) -> Tensor:
        return state.beliefs

    def factor_beliefs(
        self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product
    ) -> list[Tensor]:
        products = []
        for blocks in _blocks(model, state.beliefs):
            joint = blocks[0]
            for block in blocks[1:]:
                joint = joint.unsqueeze(-2) * block.reshape(
                    *block.shape[:-2], *([1] * (joint.ndim - block.ndim + 1)), *block.shape[-2:]
                )
            products.append(joint)
        return products

    def log_partition(
        self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product
    ) -> LogPartition:
        q = wide(state.beliefs.detach())
        local = wide(model.local_potentials(evidence).detach())
        # States of probability 0 contribute nothing, even where the evidence makes them -inf.
        energy = torch.where(q > 0, q * local.clamp(min=torch.finfo(q.dtype).min), torch.zeros_like(q)).sum(-1)
        tables = allowing_tables(model, evidence) or [wide(group.tables.detach()) for group in model.groups]
        energy = energy + _expected(model, tables, q)
        value = model.constant + energy + torch.special.entr(q).sum(-1)
        return LogPartition(float(value), "lower_bound")

    def doubt(
        self, algorithm: MeanField, model: FactorGraph, evidence: Evidence, state: Product, tolerance: float
    ) -> str | None:
        mass = self._violated(model, evidence, state)
        if mass <= ON_THE_IMPOSSIBLE:
            return None
        return f"Independent variables cannot keep to the zeros here: {mass:.2g} of their probability is impossible."

    @torch.no_grad()
    def _violated(self, model: FactorGraph, evidence: Evidence, state: Product) -> float:
        """The largest sum over factors of the probability that q gives to what they forbid."""
        if not model.has_zeros:
            return 0.0
        forbidden = [wide(group.tables.isneginf().to(group.tables.dtype)) for group in model.groups]
        return float(_expected(model, forbidden, wide(state.beliefs.detach())).max())


def allowing_tables(model: FactorGraph, evidence: Evidence) -> list[Tensor] | None:
    """Tables in 64 bits with low numbers in place of -inf; None where there are no zeros."""

    def make() -> list[Tensor]:
        low, high = score_range(model, evidence)
        found = []
        for group in model.groups:
            tables = wide(group.tables)
            peak = tables.detach().amax(tuple(range(group.order)), keepdim=True)
            found.append(torch.where(tables.isneginf(), peak - (high - low) - BELOW, tables))
        return found

    if not model.has_zeros:
        return None
    if any(group.tables.requires_grad for group in model.groups):
        return make()
    return evidence.derived(model, "allowing tables", make)


def _expected(model: FactorGraph, tables: list[Tensor], q: Tensor) -> Tensor:
    """Σ_a E_q[table_a], (…)."""
    energy = q.new_zeros(q.shape[:-1])
    for table, blocks in zip(tables, _blocks(model, q), strict=True):
        total = table
        for block in reversed(blocks):
            total = (total * block.reshape(*[1] * (total.ndim - block.ndim), *block.shape)).sum(-2)
        energy = energy + total.sum(-1)
    return energy


def _blocks(model: FactorGraph, q: Tensor) -> list[list[Tensor]]:
    """q (…, packed size) as each factor sees it: by group and axis, (…, states, factors)."""
    return model.packing.by_message(model.packing.spread(q))


def _expectations(model: FactorGraph, tables: list[Tensor] | None, q: Tensor) -> Tensor:
    """E_q[θ_a | x_i] for every factor and each of its variables, flat (…, messages)."""
    parts = []
    given = [group.tables for group in model.groups] if tables is None else tables
    for table, blocks in zip(given, _blocks(model, q), strict=True):
        parts += [contract(table, blocks, axis, weighted_sum).flatten(-2) for axis in range(len(blocks))]
    return torch.cat(parts, -1) if parts else q.new_zeros((*q.shape[:-1], 0))
