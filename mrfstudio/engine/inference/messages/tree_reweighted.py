"""Tree-reweighted belief propagation: an upper bound of log Z from spanning trees.

With the probability μ_e that edge e is in a random spanning tree ([Liu20], Eq. 3.20),

    m'_ts(x_s) ∝ Σ_{x_t} φ_st(x_s, x_t)^{1/μ_st} φ_t(x_t) ∏_{w ∈ N(t)\\s} m_wt(x_t)^{μ_wt} / m_st(x_t)^{1-μ_st}.

At a fixed point -F_T (Eq. 3.19) is at least log Z whenever μ lies in the forest polytope. Its fixed points are those of
α-BP with α_e = 1/μ_e.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.spanning_trees import TooDense, appearance_probabilities
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, LogPartition, Model, kernel
from mrfstudio.engine.inference.estimates import meaningful
from mrfstudio.engine.inference.messages import reweighted
from mrfstudio.engine.inference.messages.acceleration import AccelerationMemory
from mrfstudio.engine.inference.messages.alpha_bp import needs_pairs
from mrfstudio.engine.inference.messages.belief_propagation import (
    BeliefPropagation,
    Messages,
    check_possible,
    damp,
    inconsistent,
)
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages, runaway, within_reach
from mrfstudio.engine.inference.messages.reweighted import Exponents, by_group, edges_of, per_message
from mrfstudio.engine.inference.residuals import largest_change
from mrfstudio.engine.protocol.catalogue import ParameterError, choice, integer, number
from mrfstudio.engine.registry import ALGORITHMS

SETTLED = 1e-6
"""Residual below which log Z is called a bound. It is stationary in the messages, so the error is of the order of the
residual's square."""


@ALGORITHMS.register
class TreeReweighted(Algorithm):
    """Parameters of TRW.

    `edge_probabilities` is for the library: one μ in (0, 1] for each factor of order 2, in the order the graph was
    built from, instead of those of spanning trees.
    """

    name = "trw"
    title = "Tree-reweighted BP"
    summary = "Messages weighted by spanning trees of a pairwise graph; once converged, log Z is an upper bound."

    damping: float = number(
        0.5, "How much of the old message is kept; without any it often oscillates.", low=0, high=1, high_open=True
    )
    memory: int = integer(
        40,
        "How many earlier iterations are used to guess where the messages are going; 0 is plain TRW, which takes very "
        "long on strong graphs.",
        low=0,
        high=200,
    )
    probabilities: str = choice(
        "matrix-tree",
        ("matrix-tree", "uniform"),
        "How often an edge is in a random spanning tree: exactly, or for all edges the smallest of these.",
    )
    edge_probabilities: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edge_probabilities is None:
            return
        given = tuple(float(mu) for mu in self.edge_probabilities)
        if not all(0 < mu <= 1 for mu in given):
            raise ParameterError("An edge has a probability outside (0, 1]: give every edge one in it.")
        object.__setattr__(self, "edge_probabilities", given)

    def supports(self, model: Model) -> str | None:
        """Pairwise graphs whose spanning trees can be counted, and models that can be written as one."""
        if not isinstance(model, FactorGraph):
            return super().supports(model)
        reason = needs_pairs(self.name, model)
        if reason is not None:
            return reason
        if self.edge_probabilities is not None and len(self.edge_probabilities) != model.factors:
            given, expected = len(self.edge_probabilities), model.factors
            return f"{given} edge probabilities were given for {expected} edges: give one for each, or none."
        try:
            spanning_tree_probabilities(model)
        except TooDense:
            return "trw cannot count the spanning trees of so large and dense a graph: alpha-bp needs none."
        return None


def spanning_tree_probabilities(graph: FactorGraph) -> np.ndarray:
    """μ (edges,) by the matrix-tree theorem, in the order the graph was built from."""
    return graph.structural("spanning trees", lambda: appearance_probabilities(graph.variables, edges_of(graph)))


@dataclass(frozen=True, eq=False)
class TreeMessages(Messages):
    """Edge-to-variable messages as normalised log-probabilities, flat (…, messages) in the graph's packing, with what
    `acceleration.Memory` remembers.
    """

    past_messages: Tensor
    past_steps: Tensor
    best: Tensor
    remembered: ClassVar[tuple[str, ...]] = ("past_messages", "past_steps", "best")

    @property
    def memory(self) -> AccelerationMemory:
        return AccelerationMemory(self.past_messages, self.past_steps, self.best)


@kernel(TreeReweighted, FactorGraph)
class TreeReweightedOnGraph(Kernel):
    """Any pairwise graph, any number of states, zeros included."""

    def init(self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence) -> TreeMessages:
        uniform = BeliefPropagation(kernel="generic").init(model, evidence)
        assert isinstance(uniform, Messages)
        nothing = AccelerationMemory.none(uniform.messages)
        return TreeMessages(0, uniform.residual, uniform.messages, nothing.messages, nothing.steps, nothing.best)

    def step(
        self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages
    ) -> TreeMessages:
        require_possible(model, evidence)
        totals, cavities, exponents = _totals_and_cavities(algorithm, model, evidence, state)
        if model.has_zeros:
            check_possible(model, totals)
        fresh = reweighted.proposal(state.messages, cavities, exponents)
        residual = largest_change(fresh, state.messages)
        if algorithm.memory == 0 or fresh.requires_grad:
            messages = within_reach(model, damp(algorithm.damping, exponents.part, fresh, state.messages))
            return replace(state, iteration=state.iteration + 1, residual=residual, messages=messages)
        # What is forbidden has no way to go; a step into or out of it is left to the plain one.
        fixed = fresh.isneginf() | state.messages.isneginf()
        step = (fresh - state.messages).masked_fill(fixed, 0.0)
        finite = state.messages.masked_fill(fixed, 0.0)
        memory = state.memory.remembering(finite, step, residual, algorithm.memory)
        messages = exponents.part.normalise(torch.where(fixed, fresh, memory.next(algorithm.damping)))
        messages = within_reach(model, messages)
        return TreeMessages(state.iteration + 1, residual, messages, memory.messages, memory.steps, memory.best)

    def beliefs(self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages) -> Tensor:
        totals, _, _ = _totals_and_cavities(algorithm, model, evidence, state)
        if model.has_zeros:
            check_possible(model, totals)
        return model.packing.softmax(totals)

    def factor_beliefs(
        self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages
    ) -> list[Tensor]:
        _, cavities, exponents = _totals_and_cavities(algorithm, model, evidence, state)
        return exponents.part.beliefs(cavities)

    def log_partition(
        self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages
    ) -> LogPartition:
        """-F_T, an upper bound at a fixed point where μ is a mixture of forests."""
        totals, cavities, exponents = _totals_and_cavities(algorithm, model, evidence, state)
        value = float(reweighted.log_partition(model, totals, cavities, exponents))
        bound = float(state.residual) < SETTLED and _in_forest_polytope(algorithm, model)
        kind = "upper_bound" if bound or not model.factors else "estimate"
        return meaningful(model, evidence, state, LogPartition(value, kind))

    def doubt(
        self, algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages, tolerance: float
    ) -> str | None:
        return runaway(state.messages) or inconsistent(algorithm, model, evidence, state, tolerance)


def _totals_and_cavities(
    algorithm: TreeReweighted, model: FactorGraph, evidence: Evidence, state: TreeMessages
) -> tuple[Tensor, Tensor, Exponents]:
    exponents = exponents_of(algorithm, model)
    local = model.local_potentials(evidence)
    return *reweighted.totals_and_cavities(model, local, state.messages, exponents), exponents


def exponents_of(algorithm: TreeReweighted, graph: FactorGraph) -> Exponents:
    """The powers of these appearance probabilities, made once for a graph."""
    key = ("tree exponents", algorithm.probabilities, algorithm.edge_probabilities)
    return graph.derived(key, lambda: _make_exponents(algorithm, graph))


def _make_exponents(algorithm: TreeReweighted, graph: FactorGraph) -> Exponents:
    probabilities = by_group(graph, _probabilities(algorithm, graph))
    scales = [1.0 / mu for mu in probabilities]
    part = FactorMessages([scale * g.tables for scale, g in zip(scales, graph.groups, strict=True)])
    return Exponents(part, per_message(graph, probabilities), 1.0, 0.0, scales)


def _probabilities(algorithm: TreeReweighted, graph: FactorGraph) -> np.ndarray:
    if algorithm.edge_probabilities is not None:
        return np.asarray(algorithm.edge_probabilities)
    exact = spanning_tree_probabilities(graph)
    if algorithm.probabilities == "uniform" and len(exact):
        # (n - 1) / m for all edges can leave the forest polytope where one part of the graph is denser.
        return np.full_like(exact, exact.min())
    return exact


def _in_forest_polytope(algorithm: TreeReweighted, graph: FactorGraph) -> bool:
    """Whether μ is surely a mixture of forests: nowhere above the spanning trees' own (the polytope is closed down)."""
    if algorithm.edge_probabilities is None:
        return True
    return bool((np.asarray(algorithm.edge_probabilities) <= spanning_tree_probabilities(graph) + 1e-12).all())
