"""One graph with many rows of evidence: what learners of hidden variables ask for, an item a row.

Belief propagation works on all rows at once; any other algorithm is run once for each row that differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.energy import bethe_log_partition
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.factor_messages import totals_and_cavities
from mrfstudio.engine.inference.run import Limits, run


@dataclass(frozen=True)
class RowAnswers:
    """For each of B rows: packed beliefs (B, size), beliefs of factors, a (B, k_1, …, k_r, n) for each group, and log Z
    (B,); the part of the rows whose run converged.

    Where an algorithm has no value for log Z it is NaN.
    """

    beliefs: Tensor
    factors: list[Tensor]
    log_z: Tensor
    converged: float


@torch.no_grad()
def answers(algorithm: Algorithm, graph: FactorGraph, log_potentials: Tensor, limits: Limits) -> RowAnswers:
    """Run an algorithm on one graph with evidence (B, size)."""
    if isinstance(algorithm, BeliefPropagation) and algorithm.temperature == 1.0:
        return _at_once(algorithm.replace(kernel="generic"), graph, Evidence(log_potentials), limits)
    different, which = torch.unique(log_potentials, dim=0, return_inverse=True)
    beliefs, factors, log_z, converged = [], [], [], []
    for row in different:
        evidence = Evidence(row)
        outcome = run(algorithm, graph, evidence, limits)
        beliefs.append(algorithm.beliefs(graph, evidence, outcome.state))
        factors.append(algorithm.factor_beliefs(graph, evidence, outcome.state))
        value = algorithm.log_partition(graph, evidence, outcome.state).value
        log_z.append(torch.nan if value is None else value)
        converged.append(float(outcome.converged))
    settled = torch.tensor(converged)[which].mean()
    groups = [torch.stack(group)[which] for group in zip(*factors, strict=True)]
    return RowAnswers(torch.stack(beliefs)[which], groups, log_potentials.new_tensor(log_z)[which], float(settled))


def _at_once(algorithm: BeliefPropagation, graph: FactorGraph, evidence: Evidence, limits: Limits) -> RowAnswers:
    state = algorithm.init(graph, evidence)
    for _ in range(limits.iterations):
        state = algorithm.step(graph, evidence, state)
        if float(state.residual) < limits.tolerance:
            break
    messages = state.messages  # type: ignore[attr-defined]  # the generic kernel's state
    totals, cavities = totals_and_cavities(graph, graph.local_potentials(evidence), messages)
    return RowAnswers(
        algorithm.beliefs(graph, evidence, state),
        algorithm.factor_beliefs(graph, evidence, state),
        bethe_log_partition(graph, totals, cavities),
        float(float(state.residual) < limits.tolerance),
    )
