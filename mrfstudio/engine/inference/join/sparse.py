"""Exact inference on what is possible: a join tree whose tables list their joint states that are not zero.

For graphs whose zeros leave little: puzzles, codes, circuits, pedigrees. The work is `listed.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import (
    NO_LOG_PARTITION,
    LogPartition,
    State,
    Unsupported,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.join.listed import ListedTree, TooMany
from mrfstudio.engine.inference.join.propagation import Eliminating, TableKernel, contradictions, order_of, problem_of
from mrfstudio.engine.inference.join.reduction import Floats, Reduced, Scope
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class SparseTree(Eliminating):
    """Parameters of the tree of possible states."""

    name = "sparse-tree"
    title = "Join tree of possible states"
    summary = "Exact where zeros leave few joint states: tables list those alone, however large they would be."
    single_step = True

    rows: int = integer(
        5_000_000, "How many possible joint states may be listed in all tables together.", low=1, logarithmic=True
    )


@dataclass(frozen=True, eq=False)
class Listing(State):
    """Empty before the step; after it, log Z and packed marginals (1 + size,)."""

    messages: Tensor


def listed_tree(algorithm: SparseTree, model: FactorGraph, evidence: Evidence) -> ListedTree:
    """The solved tree; raises `TooMany` where it lists more than it may."""

    def make() -> ListedTree:
        with contradictions(model):
            problem = problem_of(model, evidence)
            return ListedTree(problem, order_of(model, evidence, algorithm.seed, algorithm.effort), algorithm.rows)

    return evidence.derived(model, f"listed {algorithm.rows} {algorithm.seed} {algorithm.effort}", make)


@kernel(SparseTree, FactorGraph)
class SparseTreeOnGraph(TableKernel):
    """Lists of many lengths, one after the other, in numpy."""

    on_cpu = "exact"

    def init(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence) -> Listing:
        nothing = torch.zeros(0, dtype=torch.float64, device="cpu")
        return Listing(0, nothing_changed(nothing), nothing)

    def resume(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence, state: Listing) -> Listing:
        return self.init(algorithm, model, evidence)

    def step(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence, state: Listing) -> Listing:
        try:
            tree = listed_tree(algorithm, model, evidence)
        except TooMany:
            raise Unsupported(
                f"More than {algorithm.rows} joint states are possible in the tables of this graph's join tree: give "
                f"more rows, or use auto."
            ) from None
        packed = model.pack(tree.problem.expanded(tree.marginals)).double().cpu()
        found = torch.cat([torch.tensor([tree.log_z], dtype=torch.float64, device="cpu"), packed])
        return Listing(state.iteration + 1, torch.zeros((), device="cpu"), found)

    def beliefs(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence, state: Listing) -> Tensor:
        if not len(state.messages):
            return model.packing.softmax(model.local_potentials(evidence))
        return state.messages[1:].to(model.unary)

    def factor_beliefs(
        self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence, state: Listing
    ) -> list[Tensor]:
        tree = listed_tree(algorithm, model, evidence)
        return [torch.as_tensor(table).to(model.unary) for table in laid_factors(tree, model)]

    def log_partition(
        self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence, state: Listing
    ) -> LogPartition:
        return LogPartition(float(state.messages[0]), "exact") if len(state.messages) else NO_LOG_PARTITION


def laid_factors(tree: ListedTree, model: FactorGraph) -> list[Floats]:
    """Marginals (k_1, …, k_r, n) of the factors of each group of a graph."""
    problem = tree.problem
    found = []
    for group in model.groups:
        tables = np.zeros((*group.shape, group.count))
        for place, scope in enumerate(group.scopes.t().tolist()):
            tables[..., place] = problem.laid_out(_belief(tree, problem, tuple(scope)), problem.leaders(scope), scope)
        found.append(tables)
    return found


def _belief(tree: ListedTree, problem: Reduced, scope: Scope) -> Floats:
    """The marginal of the undecided variables of a factor, axes in the order in which its scope has them."""
    free = problem.leaders(scope)
    if len(free) < 2:
        return tree.marginals[free[0]] if free else np.ones(())
    ascending = tuple(sorted(free))
    return tree.factors[ascending].transpose([ascending.index(v) for v in free])
