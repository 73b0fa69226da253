"""Random graphs that are meant to break something: one seed, one case.

Mixed numbers of states, factors of order 1 to 4, trees and loops, zeros, deterministic tables, log-potentials from 0.1
to 1000, symmetric and frustrated couplings, evidence of every kind, both precisions. Small enough to enumerate.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph

Factors = list[tuple[tuple[int, ...], np.ndarray]]

MOST_ASSIGNMENTS = 20_000
KINDS = ("mixed", "tree", "ising", "complete", "deterministic", "grid")
STRENGTHS = (0.1, 1.0, 1.0, 5.0, 30.0, 200.0, 1000.0)


@dataclass(frozen=True)
class Case:
    """A graph as a person gives it: factors in 64 bits, a log-vector of evidence for each variable, and a precision."""

    seed: int
    kind: str
    cardinalities: list[int]
    factors: Factors
    evidence: list[np.ndarray]
    bits: int

    @property
    def dtype(self) -> torch.dtype:
        return torch.float64 if self.bits == 64 else torch.float32

    def graph(self) -> FactorGraph:
        return FactorGraph.from_factors(self.cardinalities, self.factors, dtype=self.dtype)

    def given(self, graph: FactorGraph) -> Evidence:
        return Evidence(graph.pack(self.evidence))

    @property
    def is_tree(self) -> bool:
        """Whether the factor graph has no cycle."""
        return _acyclic(len(self.cardinalities), [scope for scope, _ in self.factors if len(scope) > 1])


def random_case(seed: int) -> Case:
    """The same seed, the same case."""
    rng = np.random.default_rng(seed)
    kind = KINDS[int(rng.integers(len(KINDS)))]
    cards, scopes = _structure(rng, kind)
    strength = float(rng.choice(STRENGTHS))
    zeros = float(rng.choice([0.0, 0.0, 0.1, 0.3, 0.5]))
    factors: Factors = [(scope, _table(rng, kind, [cards[v] for v in scope], strength, zeros)) for scope in scopes]
    own = float(rng.choice(STRENGTHS))
    factors += [((v,), own * rng.normal(size=k)) for v, k in enumerate(cards) if rng.random() < 0.7]
    if rng.random() < 0.1:
        factors.append(((), np.array(rng.normal() * strength)))
    bits = 64 if rng.random() < 0.6 else 32
    rounded = [(scope, _rounded(table, bits)) for scope, table in factors]
    evidence = [_rounded(vector, bits) for vector in _evidence(rng, cards)]
    return Case(seed, kind, cards, rounded, evidence, bits)


def _structure(rng: np.random.Generator, kind: str) -> tuple[list[int], list[tuple[int, ...]]]:
    if kind == "grid":
        height, width = (int(side) for side in rng.integers(2, 4, 2))
        cards = [2] * (height * width)
        pairs = [(r * width + c, r * width + c + 1) for r in range(height) for c in range(width - 1)]
        pairs += [(r * width + c, (r + 1) * width + c) for r in range(height - 1) for c in range(width)]
        return cards, list(pairs)
    if kind == "complete":
        count = int(rng.integers(3, 8))
        states = int(rng.integers(2, 4)) if count < 6 else 2
        return [states] * count, list(itertools.combinations(range(count), 2))
    count = int(rng.integers(2, 9))
    cards = [2] * count if kind == "ising" else rng.integers(1, 5, count).tolist()
    while math.prod(cards) > MOST_ASSIGNMENTS:
        cards[int(np.argmax(cards))] -= 1
    if kind == "tree":
        return cards, _tree_scopes(rng, count)
    most = 2 if kind == "ising" else int(rng.integers(2, 5))
    scopes = [
        tuple(int(v) for v in rng.choice(count, min(count, int(rng.integers(2, most + 1))), replace=False))
        for _ in range(int(rng.integers(1, 2 * count)))
    ]
    return cards, [scope for scope in scopes if len(scope) > 1]


def _tree_scopes(rng: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    scopes, joined, rest = [], [0], list(range(1, count))
    while rest:
        fresh = [rest.pop(0) for _ in range(min(len(rest), int(rng.integers(1, 4))))]
        scope = [int(rng.choice(joined)), *fresh]
        rng.shuffle(scope)
        scopes.append(tuple(int(v) for v in scope))
        joined += fresh
    return scopes


def _table(rng: np.random.Generator, kind: str, shape: list[int], strength: float, zeros: float) -> np.ndarray:
    choice = rng.random()
    if kind in ("ising", "grid") and choice < 0.8:
        coupling = strength * (rng.normal() if rng.random() < 0.8 else float(rng.choice([-1.0, 1.0])))
        table = coupling * np.array([[1.0, -1.0], [-1.0, 1.0]])
    elif kind == "deterministic" and choice < 0.6:
        table = np.full(shape, -np.inf)  # the last variable is a function of the others
        for index in np.ndindex(*shape[:-1]):
            table[(*index, int(rng.integers(shape[-1])))] = strength * rng.normal() if rng.random() < 0.3 else 0.0
    elif choice < 0.9:
        table = strength * rng.normal(size=shape)
    else:
        same = np.zeros(shape, dtype=bool)
        for state in range(min(shape)):
            same[(state,) * len(shape)] = True
        table = np.where(same == (rng.random() < 0.5), -np.inf, 0.0)  # all equal, or not all equal
        if np.isneginf(table).all():
            table = np.zeros(shape)
    if zeros and rng.random() < 0.5:
        forbidden = rng.random(shape) < zeros
        forbidden.flat[int(rng.integers(table.size))] = False
        table = np.where(forbidden, -np.inf, table)
    return np.asarray(table, dtype=np.float64)


def _evidence(rng: np.random.Generator, cards: list[int]) -> list[np.ndarray]:
    """For each variable nothing, a hard state, some forbidden states, or soft evidence up to e^±1000."""
    found = []
    share = float(rng.choice([0.0, 0.2, 0.6]))
    for states in cards:
        vector = np.zeros(states)
        if rng.random() < share:
            kind = int(rng.integers(4))
            if kind == 0:
                vector = np.where(np.arange(states) == rng.integers(states), 0.0, -np.inf)
            elif kind == 1:
                vector = np.where(rng.random(states) < 0.4, -np.inf, 0.0)
            else:
                vector = (1.0 if kind == 2 else 1000.0) * rng.normal(size=states)
        found.append(vector)
    return found


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """As the precision holds them, so that the truth is that of the same numbers."""
    return values if bits == 64 else np.asarray(values, dtype=np.float32).astype(np.float64)


def _acyclic(variables: int, scopes: list[tuple[int, ...]]) -> bool:
    parent = list(range(variables + len(scopes)))

    def root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    for number, scope in enumerate(scopes):
        for variable in scope:
            one, other = root(variables + number), root(variable)
            if one == other:
                return False
            parent[one] = other
    return True
