"""Exact inference on what is possible: a join tree whose tables list their joint states that are not zero.

For graphs whose zeros leave little: puzzles, codes, circuits, pedigrees. The work is `listed.py`.
"""

from __future__ import annotations

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Unsupported, kernel
from mrfstudio.engine.inference.join.join_tree import Solved, SolvingKernel
from mrfstudio.engine.inference.join.listed import ListedTree, TooMany
from mrfstudio.engine.inference.join.propagation import Eliminating, contradictions, order_of, problem_of
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


def listed_tree(algorithm: SparseTree, model: FactorGraph, evidence: Evidence) -> ListedTree:
    """The solved tree; raises `TooMany` where it lists more than it may."""

    def make() -> ListedTree:
        with contradictions(model):
            problem = problem_of(model, evidence)
            return ListedTree(problem, order_of(model, evidence, algorithm.seed, algorithm.effort), algorithm.rows)

    return evidence.derived(model, f"listed {algorithm.rows} {algorithm.seed} {algorithm.effort}", make)


@kernel(SparseTree, FactorGraph)
class SparseTreeOnGraph(SolvingKernel):
    """Lists of many lengths, one after the other, in numpy."""

    def solve(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence) -> Solved:
        try:
            return listed_tree(algorithm, model, evidence)
        except TooMany:
            raise Unsupported(
                f"More than {algorithm.rows} joint states are possible in the tables of this graph's join tree: give "
                f"more rows, or use auto."
            ) from None

    def with_factors(self, algorithm: SparseTree, model: FactorGraph, evidence: Evidence) -> Solved:
        return self.solve(algorithm, model, evidence)
