"""Random graphs and the naive truth: enumeration of every assignment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph

Factors = list[tuple[tuple[int, ...], np.ndarray]]
GRAPHS = range(30)  # seeds of small random graphs


@dataclass(frozen=True)
class Truth:
    """What enumeration says: log Z, single marginals, and the whole joint table."""

    log_z: float
    marginals: list[np.ndarray]
    joint: np.ndarray

    def over(self, scope: tuple[int, ...]) -> np.ndarray:
        """The joint marginal of some variables, axes in the order of `scope`."""
        others = tuple(v for v in range(self.joint.ndim) if v not in scope)
        ascending = self.joint.sum(others)
        rank = {v: i for i, v in enumerate(sorted(scope))}
        return ascending.transpose([rank[v] for v in scope])


def enumerate_all(cardinalities: list[int], factors: Factors, evidence: dict[int, int] | None = None) -> Truth:
    scores = np.zeros(cardinalities)
    grid = np.indices(cardinalities)
    for scope, table in factors:
        scores = scores + np.asarray(table)[tuple(grid[v] for v in scope)]
    for variable, state in (evidence or {}).items():
        scores = np.where(grid[variable] == state, scores, -np.inf)
    peak = scores.max()
    if np.isneginf(peak):
        return Truth(-math.inf, [], np.zeros(cardinalities))
    log_z = float(peak + np.log(np.exp(scores - peak).sum()))
    joint = np.exp(scores - log_z)
    singles = [joint.sum(tuple(j for j in range(len(cardinalities)) if j != i)) for i in range(len(cardinalities))]
    return Truth(log_z, singles, joint)


def random_factors(
    seed: int, variables: int = 6, factors: int = 8, *, order: int = 3, zeros: float = 0.0, strength: float = 1.0
) -> tuple[list[int], Factors]:
    """Mixed numbers of states (1 to 4), scopes of order 1 to `order`, duplicates possible, some entries zero."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, variables).tolist()
    made: Factors = []
    for _ in range(factors):
        scope = tuple(int(v) for v in rng.choice(variables, rng.integers(1, order + 1), replace=False))
        table = strength * rng.normal(size=[cards[v] for v in scope])
        if zeros:
            forbidden = rng.random(table.shape) < zeros
            forbidden.flat[rng.integers(table.size)] = False  # at least one entry is possible
            table = np.where(forbidden, -np.inf, table)
        made.append((scope, table))
    return cards, made


def random_tree(seed: int, variables: int = 8, *, zeros: float = 0.0) -> tuple[list[int], Factors]:
    """A tree of factors of order 2 and 3, with unaries."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, variables).tolist()
    made: Factors = [((v,), rng.normal(size=cards[v])) for v in range(variables)]
    joined = [0]
    rest = list(range(1, variables))
    while rest:
        fresh = [rest.pop(0) for _ in range(min(len(rest), int(rng.integers(1, 3))))]
        scope = [int(rng.choice(joined)), *fresh]
        rng.shuffle(scope)
        table = rng.normal(size=[cards[v] for v in scope])
        if zeros:
            table = np.where(rng.random(table.shape) < zeros, -np.inf, table)
            table.flat[0] = 0.0
        made.append((tuple(int(v) for v in scope), table))
        joined += fresh
    return cards, made


def ising_factors(graph: FactorGraph) -> tuple[list[int], Factors]:
    """The factors of an all-in-one-group graph, for enumeration."""
    made: Factors = [((v,), vector) for v, vector in enumerate(graph.unpack(graph.unary))]
    for group in graph.groups:
        tables = group.tables.double().numpy()
        made += [(tuple(scope), tables[..., i]) for i, scope in enumerate(group.scopes.T.tolist())]
    return graph.cardinalities.tolist(), made


def distance(graph: FactorGraph, beliefs: torch.Tensor, marginals: list[np.ndarray]) -> float:
    """Largest difference of a probability."""
    return max(float(np.abs(a - b).max()) for a, b in zip(graph.unpack(beliefs), marginals, strict=True))


def observed_state(cards: list[int], truth_joint: np.ndarray, seed: int) -> dict[int, int]:
    """Evidence on one variable at a state that has some probability."""
    variable = seed % len(cards)
    marginal = truth_joint.sum(tuple(j for j in range(len(cards)) if j != variable))
    return {variable: int(marginal.argmax())}
