"""Tables as lists of possible states: exact, and refused where there are too many."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest

from mrfstudio.bench.adversary.graphs import random_case
from mrfstudio.bench.adversary.judge import Setting, findings
from mrfstudio.bench.adversary.oracle import enumerated
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.join import budget, listed, stages
from mrfstudio.engine.inference.join.auto import Auto, AutoState
from mrfstudio.engine.inference.join.listed import grouped
from mrfstudio.engine.inference.join.propagation import order_of, problem_of
from mrfstudio.engine.inference.join.sparse import SparseTree, listed_tree
from mrfstudio.engine.inference.run import Limits, run

SIDE = 4


@cache
def latin_square() -> tuple[FactorGraph, list[np.ndarray], float]:
    """A square in which no row and no column has a number twice, each number with a weight at each place; its
    marginals and log Z by going through all of them.
    """
    draw = np.random.default_rng(4)
    weights = draw.normal(0, 1, (SIDE * SIDE, SIDE))
    different = np.where(np.eye(SIDE) > 0, -np.inf, 0.0)
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    lines = [*at.tolist(), *at.T.tolist()]
    pairs = [(pair, different) for line in lines for pair in itertools.combinations(line, 2)]
    graph = FactorGraph.from_factors([SIDE] * SIDE**2, [*(((v,), weights[v]) for v in range(SIDE**2)), *pairs])
    totals, whole = np.zeros((SIDE * SIDE, SIDE)), 0.0
    for rows in itertools.product(itertools.permutations(range(SIDE)), repeat=SIDE):
        if all(len(set(column)) == SIDE for column in zip(*rows, strict=True)):
            states = np.array(rows).ravel()
            weight = math.exp(sum(weights[v, state] for v, state in enumerate(states)))
            totals[np.arange(SIDE * SIDE), states] += weight
            whole += weight
    return graph, list(totals / whole), math.log(whole)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_are_those_of_enumeration(seed: int) -> None:
    case = random_case(880_000 + seed)
    assert findings(case, enumerated(case), Setting("sparse-tree", {})) == []


def test_a_latin_square_is_exact_though_its_tables_would_be_large() -> None:
    graph, right, log_z = latin_square()
    given = graph.no_evidence()
    tree = listed_tree(SparseTree(), graph, given)
    for found, expected in zip(tree.problem.expanded(tree.marginals), right, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert tree.log_z == pytest.approx(log_z)
    assert SparseTree().rows - tree.left < 2.0 ** order_of(graph, given, 0).width / 10


def test_auto_takes_it_where_dense_tables_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST", 1e4)
    monkeypatch.setattr(budget, "TREE_MOST", 1e4)
    monkeypatch.setattr(stages, "LARGEST", 8.0)
    graph, right, log_z = latin_square()
    state = run(Auto(), graph, graph.no_evidence(), Limits(iterations=100)).state
    assert isinstance(state, AutoState)
    assert "possible states" in state.picked
    assert state.error == 0
    assert state.log_z == pytest.approx(log_z)
    np.testing.assert_allclose(graph.unpack(state.answer), right, atol=1e-9)


def test_auto_goes_on_where_more_is_possible_than_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST", 1e4)
    monkeypatch.setattr(budget, "TREE_MOST", 1e4)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    monkeypatch.setattr(stages, "ROWS", 50.0)
    monkeypatch.setattr(stages, "UNSURE", 1000.0)
    graph, _, _ = latin_square()
    state = run(Auto(), graph, graph.no_evidence(), Limits(iterations=100)).state
    assert isinstance(state, AutoState)
    assert state.picked.startswith("join-graph")


def test_too_many_states_are_refused_in_one_sentence() -> None:
    graph, _, _ = latin_square()
    with pytest.raises(Unsupported, match="More than 100 joint states"):
        run(SparseTree(rows=100), graph, graph.no_evidence())


def test_clues_that_contradict_each_other_are_named() -> None:
    graph, _, _ = latin_square()
    with pytest.raises(ContradictoryEvidence):
        run(SparseTree(), graph, graph.evidence({0: 1, 1: 1}))


def test_keys_of_many_variables_stay_within_a_machine_word(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, right, _ = latin_square()
    monkeypatch.setattr(listed, "LARGEST_KEY", 20)
    given = graph.no_evidence()
    tree = listed.ListedTree(problem_of(graph, given), order_of(graph, given, 0), 1e6)
    np.testing.assert_allclose(tree.problem.expanded(tree.marginals), right, atol=1e-12)


def test_sums_of_groups_keep_numbers_that_are_far_apart() -> None:
    log = np.array([-2000.0, -2000.0, 500.0, -np.inf, 3.0])
    found = grouped(log, np.array([0, 0, 1, 2, 1]), 4)
    np.testing.assert_allclose(found, [-2000 + math.log(2), 500.0, -np.inf, -np.inf])
