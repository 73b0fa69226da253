"""Exact inference by a join tree whose messages go once to the roots and once back; the work is `solved.py`.

A join graph whose clusters may be large enough is the same tree. This one keeps no messages, only what comes out: it
needs a fraction of the memory and of the time.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import (
    NO_LOG_PARTITION,
    Algorithm,
    LogPartition,
    State,
    Unsupported,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.join.clusters import whole_buckets
from mrfstudio.engine.inference.join.propagation import Eliminating, TableKernel, contradictions, order_of, problem_of
from mrfstudio.engine.inference.join.reduction import Floats, Reduced, Scope
from mrfstudio.engine.inference.join.solved import JunctionTree, SolvedTree
from mrfstudio.engine.protocol.catalogue import number
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.memory import in_words

WIDEST = 40.0
"""Bits of a table beyond which a tree is not even planned."""


@ALGORITHMS.register
class JoinTree(Eliminating):
    """Parameters of the tree."""

    name = "join-tree"
    title = "Join tree"
    summary = "Exact: messages between clusters of a tree, once to its root and once back, in little memory."
    single_step = True

    gigabytes: float = number(1.8, "How much memory it may take.", low=0.001, high=1000.0, unit="GB", logarithmic=True)


@dataclass(frozen=True, eq=False)
class Answered(State):
    """Empty before the step; after it, log Z and packed marginals (1 + size,)."""

    messages: Tensor


class Solved(Protocol):
    """What a tree has found: log Z and marginals of undecided variables and of factors, by scope."""

    problem: Reduced
    log_z: float
    marginals: dict[int, Floats]
    factors: dict[Scope, Floats]


def tree_of(model: FactorGraph, evidence: Evidence, seed: int, effort: float) -> JunctionTree:
    """The tree along the elimination order, not solved."""

    def make() -> JunctionTree:
        with contradictions(model):
            problem = problem_of(model, evidence)
            return JunctionTree(problem, whole_buckets(problem, order_of(model, evidence, seed, effort)))

    return evidence.derived(model, f"tree {seed} {effort}", make)


def solved(model: FactorGraph, tree: JunctionTree, *, factors: bool) -> SolvedTree:
    """The tree with its answer."""
    with contradictions(model):
        return SolvedTree(tree, factors=factors, threads=torch.get_num_threads())


class SolvingKernel(TableKernel):
    """One step: a tree is solved, and its answer kept."""

    on_cpu = "exact"

    @abstractmethod
    def solve(self, algorithm: Any, model: FactorGraph, evidence: Evidence) -> Solved:
        """The answer, with or without factors."""

    @abstractmethod
    def with_factors(self, algorithm: Any, model: FactorGraph, evidence: Evidence) -> Solved:
        """The same with factors."""

    def init(self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence) -> Answered:
        nothing = torch.zeros(0, dtype=torch.float64, device="cpu")
        return Answered(0, nothing_changed(nothing), nothing)

    def resume(self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: Answered) -> Answered:
        return self.init(algorithm, model, evidence)

    def step(self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: Answered) -> Answered:
        tree = self.solve(algorithm, model, evidence)
        packed = model.pack(tree.problem.expanded(tree.marginals)).double().cpu()
        found = torch.cat([torch.tensor([tree.log_z], dtype=torch.float64, device="cpu"), packed])
        return Answered(state.iteration + 1, torch.zeros((), device="cpu"), found)

    def beliefs(self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: Answered) -> Tensor:
        if not len(state.messages):
            return model.packing.softmax(model.local_potentials(evidence))
        return state.messages[1:].to(model.unary)

    def factor_beliefs(
        self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: Answered
    ) -> list[Tensor]:
        tree = self.with_factors(algorithm, model, evidence)
        return [torch.as_tensor(table).to(model.unary) for table in laid_factors(tree, model)]

    def log_partition(
        self, algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: Answered
    ) -> LogPartition:
        return LogPartition(float(state.messages[0]), "exact") if len(state.messages) else NO_LOG_PARTITION


@kernel(JoinTree, FactorGraph)
class JoinTreeOnGraph(SolvingKernel):
    """Tables of many shapes, in blocks, in numpy."""

    def solve(self, algorithm: JoinTree, model: FactorGraph, evidence: Evidence) -> Solved:
        return solved(model, self._tree(algorithm, model, evidence), factors=False)

    def with_factors(self, algorithm: JoinTree, model: FactorGraph, evidence: Evidence) -> Solved:
        def make() -> Solved:
            return solved(model, self._tree(algorithm, model, evidence), factors=True)

        return evidence.derived(model, f"solved tree {algorithm.seed} {algorithm.effort}", make)

    def _tree(self, algorithm: JoinTree, model: FactorGraph, evidence: Evidence) -> JunctionTree:
        width = order_of(model, evidence, algorithm.seed, algorithm.effort).width
        if width > WIDEST:
            raise Unsupported(f"The largest table of this graph's join tree has 2^{width:.0f} entries: use auto.")
        tree = tree_of(model, evidence, algorithm.seed, algorithm.effort)
        if tree.memory > 1e9 * algorithm.gigabytes:
            raise Unsupported(
                f"This graph's join tree needs {in_words(tree.memory)}, and {algorithm.gigabytes:g} GB are allowed: "
                f"allow more, or use auto."
            )
        return tree


def laid_factors(tree: Solved, model: FactorGraph) -> list[Floats]:
    """Marginals (k_1, …, k_r, n) of the factors of each group of a graph."""
    problem = tree.problem
    found = []
    for group in model.groups:
        tables = np.zeros((*group.shape, group.count))
        for place, scope in enumerate(group.scopes.t().tolist()):
            tables[..., place] = problem.laid_out(_belief(tree, problem, tuple(scope)), problem.leaders(scope), scope)
        found.append(tables)
    return found


def _belief(tree: Solved, problem: Reduced, scope: Scope) -> Floats:
    """The marginal of the undecided variables of a factor, axes in the order in which its scope has them."""
    free = problem.leaders(scope)
    if len(free) < 2:
        return tree.marginals[free[0]] if free else np.ones(())
    ascending = tuple(sorted(free))
    return tree.factors[ascending].transpose([ascending.index(v) for v in free])
