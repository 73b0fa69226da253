"""α belief propagation: BP whose messages come from local α-divergences ([Liu20], Eq. 3.17).

    m'_ts(x_s) ∝ m_ts(x_s)^{1-α} Σ_{x_t} φ_ts(x_t, x_s)^α m_st(x_t)^{1-α} φ_t(x_t) ∏_{w ∈ N(t)\\s} m_wt(x_t)

in the log domain. α = 1 is BP, step for step; α → 0 tends to mean field. Two factors over the same pair of variables
are two edges, as they are in BP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import NO_LOG_PARTITION, Algorithm, Kernel, LogPartition, Model, kernel
from mrfstudio.engine.inference.estimates import meaningful
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages import reweighted
from mrfstudio.engine.inference.messages.belief_propagation import (
    BeliefPropagation,
    Messages,
    check_possible,
    damp,
    inconsistent,
)
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages, runaway, within_reach
from mrfstudio.engine.inference.messages.reweighted import Exponents, by_group, per_message
from mrfstudio.engine.inference.residuals import largest_change
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.catalogue import ParameterError, choice, number
from mrfstudio.engine.registry import ALGORITHMS

LARGEST_ALPHA = 2.0
"""Beyond 2 the power 1 - α alone repels: |1 - α| > 1 stands on the diagonal of the contraction matrix."""


@ALGORITHMS.register
class AlphaBP(Algorithm):
    """Parameters of α-BP.

    `edge_alphas` is for the library: one α in (0, 2] for each factor of order 2, in the order the graph was built from,
    instead of the global `alpha`.
    """

    name = "alpha-bp"
    title = "α belief propagation"
    summary = "Messages from local α-divergences on pairwise graphs; α = 1 is BP, smaller α converges more often."

    alpha: float = number(
        0.5, "1 is ordinary BP, towards 0 it tends to mean field.", low=0, low_open=True, high=LARGEST_ALPHA
    )
    damping: float = number(
        0.0, "How much of the old message is kept on top of α's own.", low=0, high=1, high_open=True
    )
    prior: str = choice(
        "none",
        ("none", "mean-field"),
        "A further factor on each variable with what another algorithm believes; log Z then has no meaning.",
        advanced=True,
    )
    edge_alphas: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edge_alphas is None:
            return
        alphas = tuple(float(alpha) for alpha in self.edge_alphas)
        if not all(0 < alpha <= LARGEST_ALPHA for alpha in alphas):
            raise ParameterError(f"An edge has an α outside (0, {LARGEST_ALPHA:g}]: choose one in it for every edge.")
        object.__setattr__(self, "edge_alphas", alphas)

    def supports(self, model: Model) -> str | None:
        """Pairwise graphs, and models that can be written as one."""
        if not isinstance(model, FactorGraph):
            return super().supports(model)
        reason = needs_pairs(self.name, model)
        if reason is None and self.edge_alphas is not None and len(self.edge_alphas) != model.factors:
            given, expected = len(self.edge_alphas), model.factors
            return f"{given} values of α were given for {expected} edges: give one for each, or a global alpha."
        return reason


def needs_pairs(name: str, graph: FactorGraph) -> str | None:
    """The refusal of graphs with factors of order 3 and more."""
    if graph.is_pairwise:
        return None
    order = max(group.order for group in graph.groups)
    return f"{name} needs factors of two variables, but one here joins {order}: bp covers factors of any order."


def with_prior(graph: FactorGraph, evidence: Evidence, log_priors: Sequence[ArrayLike]) -> Evidence:
    """Evidence with a prior factor on each variable (Fig. 3.2), given as a log-vector for each in variable order."""
    if len(log_priors) != graph.variables:
        raise ParameterError(f"{len(log_priors)} priors were given for {graph.variables} variables: give one for each.")
    return Evidence(evidence.log_potentials + graph.pack([np.asarray(p, dtype=np.float64) for p in log_priors]))


@dataclass(frozen=True, eq=False)
class AlphaMessages(Messages):
    """Edge-to-variable messages m_ts as normalised log-probabilities, flat (…, messages) in the graph's packing."""


@kernel(AlphaBP, FactorGraph)
class AlphaBPOnGraph(Kernel):
    """Any pairwise graph, any number of states, zeros included."""

    def init(self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence) -> AlphaMessages:
        uniform = BeliefPropagation(kernel="generic").init(model, evidence)
        assert isinstance(uniform, Messages)
        return AlphaMessages(0, uniform.residual, uniform.messages)

    def step(self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages) -> AlphaMessages:
        require_possible(model, evidence)
        totals, cavities = self._totals_and_cavities(algorithm, model, evidence, state)
        if model.has_zeros:
            check_possible(model, totals)
        exponents = exponents_of(algorithm, model)
        fresh = reweighted.proposal(state.messages, cavities, exponents)
        messages = damp(algorithm.damping, exponents.part, fresh, state.messages)
        # The power 1 - α keeps a part of the old message, as damping does: without it the change is 1/α times as large.
        residual = largest_change(fresh, state.messages) / smallest_alpha(algorithm)
        return AlphaMessages(state.iteration + 1, residual, within_reach(model, messages))

    def beliefs(self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages) -> Tensor:
        totals, _ = self._totals_and_cavities(algorithm, model, evidence, state)
        if model.has_zeros:
            check_possible(model, totals)
        return model.packing.softmax(totals)

    def factor_beliefs(
        self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages
    ) -> list[Tensor]:
        """q_st ∝ φ_st^α (b_s / m_ts^α) (b_t / m_st^α)."""
        _, cavities = self._totals_and_cavities(algorithm, model, evidence, state)
        return exponents_of(algorithm, model).part.beliefs(cavities)

    def log_partition(
        self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages
    ) -> LogPartition:
        """log Z_α = Σ_s log Z_s + Σ_st (1/α) log E_{b_s b_t}[(φ_st / (m_ts m_st))^α]."""
        if algorithm.prior != "none":
            return NO_LOG_PARTITION
        totals, cavities = self._totals_and_cavities(algorithm, model, evidence, state)
        value = reweighted.log_partition(model, totals, cavities, exponents_of(algorithm, model))
        return meaningful(model, evidence, state, LogPartition(float(value), "estimate"))

    def doubt(
        self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages, tolerance: float
    ) -> str | None:
        return runaway(state.messages) or inconsistent(algorithm, model, evidence, state, tolerance)

    def _totals_and_cavities(
        self, algorithm: AlphaBP, model: FactorGraph, evidence: Evidence, state: AlphaMessages
    ) -> tuple[Tensor, Tensor]:
        local = local_of(algorithm, model, evidence)
        return reweighted.totals_and_cavities(model, local, state.messages, exponents_of(algorithm, model))


def local_of(algorithm: AlphaBP, graph: FactorGraph, evidence: Evidence) -> Tensor:
    """Local log-potentials with the prior that the parameters ask for, packed."""
    local = graph.local_potentials(evidence)
    if algorithm.prior == "mean-field":
        local = local + evidence.derived(graph, "mean-field prior", lambda: _mean_field_prior(graph, evidence))
    return local


def smallest_alpha(algorithm: AlphaBP) -> float:
    """The smallest α of an edge, at most 1."""
    return min(1.0, *(algorithm.edge_alphas or (algorithm.alpha,)))


def exponents_of(algorithm: AlphaBP, graph: FactorGraph) -> Exponents:
    """The powers of this α, made once for a graph."""
    alphas = algorithm.edge_alphas or algorithm.alpha
    return graph.derived(("alpha exponents", alphas), lambda: _make_exponents(graph, alphas))


def _make_exponents(graph: FactorGraph, alphas: float | tuple[float, ...]) -> Exponents:
    if isinstance(alphas, float):
        part = FactorMessages([alphas * g.tables if alphas != 1.0 else g.tables for g in graph.groups])
        scales = [graph.unary.new_full((group.count,), alphas) for group in graph.groups]
        return Exponents(part, None, alphas, 1.0 - alphas, scales)
    scales = by_group(graph, np.asarray(alphas))
    part = FactorMessages([scale * g.tables for scale, g in zip(scales, graph.groups, strict=True)])
    own = per_message(graph, scales)
    return Exponents(part, None, own, 1.0 - own, scales)


def _mean_field_prior(graph: FactorGraph, evidence: Evidence) -> Tensor:
    """log q of mean field, packed. Probabilities that underflow stay possible unless the evidence forbids them."""
    with torch.no_grad():
        outcome = run(MeanField(), graph, evidence, Limits(iterations=200, tolerance=1e-6))
        beliefs = MeanField().beliefs(graph, evidence, outcome.state)
        return beliefs.clamp(min=torch.finfo(beliefs.dtype).tiny).log()
