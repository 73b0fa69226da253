"""Exact inference: log Z by tensor contraction, marginals as its gradient.

`contraction.py` sums everything out, in the linear domain where that is safe and in the log domain where it is not.
∂ log Z / ∂ local_i(x_i) is the marginal of x_i, and ∂ log Z / ∂ θ_a(x_a) the marginal of a factor's variables.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import (
    Algorithm,
    Kernel,
    LogPartition,
    Model,
    State,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.exact.contraction import contracted
from mrfstudio.engine.inference.exact.elimination import elimination_bytes
from mrfstudio.engine.inference.exact.planning import FEW, LITTLE, plan_of
from mrfstudio.engine.protocol.catalogue import number
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.memory import available_bytes, in_words

HOPELESS = 1e13  # bytes; no better order of contractions will save a graph beyond this
MOST_AXES = 48  # einsum has 52 letters and torch tensors 64 axes


@ALGORITHMS.register
class Exact(Algorithm):
    """Parameters of exact inference."""

    name = "exact"
    title = "Exact inference"
    summary = (
        "Sums over all assignments by tensor contraction: the judge of every other algorithm, where it fits in memory."
    )
    single_step = True

    memory: float = number(
        0.0, "Largest memory to use; 0 means three quarters of what is free.", low=0, unit="GB", advanced=True
    )

    def supports(self, model: Model) -> str | None:
        reason = super().supports(model)
        if reason is not None or not isinstance(model, FactorGraph):
            return reason
        if model.factors <= FEW and not self.memory:
            plan = plan_of(model)
            if plan.bytes <= LITTLE and plan.widest <= MOST_AXES:
                return None
        limit = int(self.memory * 1e9) if self.memory else int(0.75 * available_bytes())
        # Elimination answers "far too large" in a moment where a contraction path of such a graph takes seconds.
        needed = model.structural("elimination", lambda: elimination_bytes(model, HOPELESS))
        if needed <= HOPELESS:
            plan = plan_of(model)
            if plan.bytes <= limit and plan.widest <= MOST_AXES:
                return None
            needed = plan.bytes
        size = f"about {in_words(needed)} of memory" if needed < 1e18 else "more memory than any machine has"
        return (
            f"Exact inference on this graph would need {size}, and {in_words(limit)} may be used: "
            f"use bp, or gibbs for an estimate with a standard error."
        )


@dataclass(frozen=True, eq=False)
class Solution(State):
    """Empty before the step; after it, log Z, packed marginals (size,) and factor marginals (k_1, …, k_r, n)."""

    log_z: Tensor | None = None
    marginals: Tensor | None = None
    factor_marginals: tuple[Tensor, ...] = ()


@kernel(Exact, FactorGraph)
class ExactOnGraph(Kernel):
    """Contraction of the whole graph."""

    def init(self, algorithm: Exact, model: FactorGraph, evidence: Evidence) -> Solution:
        return Solution(0, nothing_changed(model.local_potentials(evidence)))

    def step(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> Solution:
        found = contracted(model, model.local_potentials(evidence), [group.tables for group in model.groups])
        if bool(torch.isneginf(found.log_z)):
            raise ContradictoryEvidence(_somewhere_impossible(model, evidence))
        marginals, *factors = found.gradients
        log_z = found.log_z + model.constant
        return Solution(state.iteration + 1, torch.zeros_like(state.residual), log_z, marginals, tuple(factors))

    def beliefs(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> Tensor:
        if state.marginals is None:
            return model.packing.softmax(model.local_potentials(evidence))
        return state.marginals

    def factor_beliefs(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> list[Tensor]:
        return list(state.factor_marginals)

    def log_partition(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> LogPartition:
        return LogPartition(None if state.log_z is None else float(state.log_z), "exact")


@torch.no_grad()
def exact_log_partition(model: FactorGraph) -> float:
    """log Z alone, without the marginals: a third of the memory. The caller has asked `Exact.supports`."""
    tables = [group.tables for group in model.groups]
    return model.constant + float(contracted(model, model.unary, tables, gradients=False).log_z)


def contraction_size(model: FactorGraph) -> tuple[int, float]:
    """How many tables exact inference would contract, and about how many bytes it needs."""
    plan = plan_of(model)
    return len(plan.scopes), plan.bytes


def _somewhere_impossible(model: FactorGraph, evidence: Evidence) -> object:
    """The first node with evidence or a forbidden state, to have something to name."""
    blocked = torch.isneginf(model.local_potentials(evidence))
    owner = model.packing.owners(model.device)
    candidates = owner[blocked] if bool(blocked.any()) else model.groups[0].scopes[0]
    return model.labels[int(candidates.min())]
