"""The truth about small graphs: every assignment, in log space, in 64 bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfstudio.bench.adversary.graphs import Case


@dataclass(frozen=True, eq=False)
class Truth:
    """log Z (-inf: nothing is possible), marginals of variables, and the score of every assignment."""

    log_z: float
    marginals: list[np.ndarray]
    scores: np.ndarray

    @property
    def possible(self) -> bool:
        return not math.isinf(self.log_z)

    @property
    def best(self) -> float:
        return float(self.scores.max())

    def over(self, scope: tuple[int, ...]) -> np.ndarray:
        """The marginal of some variables, axes in the order of `scope`."""
        joint = np.exp(self.scores - self.log_z)
        kept = joint.sum(tuple(axis for axis in range(joint.ndim) if axis not in scope))
        return np.transpose(kept, [sorted(scope).index(variable) for variable in scope])


def enumerated(case: Case) -> Truth:
    """Add up all log-tables over all assignments, then sum with the largest taken out."""
    cards = case.cardinalities
    grid = np.indices(cards, sparse=True)
    scores = np.zeros(cards)
    for scope, table in case.factors:
        scores = scores + (table[tuple(grid[v] for v in scope)] if scope else table)
    for variable, vector in enumerate(case.evidence):
        scores = scores + vector[grid[variable]]
    peak = scores.max()
    if np.isneginf(peak):
        return Truth(-math.inf, [], scores)
    weights = np.exp(scores - peak)
    total = weights.sum()
    joint = weights / total
    marginals = [joint.sum(tuple(j for j in range(len(cards)) if j != i)) for i in range(len(cards))]
    return Truth(float(peak + np.log(total)), marginals, scores)
