"""What zeros imply is found, and nothing that is possible is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.join.propagation import JoinGraph, problem_of
from mrfstudio.engine.inference.join.reduction import reduced
from mrfstudio.engine.inference.run import run
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors

WHOLE = JoinGraph(bits=20.0)
NEVER = -np.inf
NOT_BOTH_ZERO = np.array([[NEVER, 0.3], [0.1, 0.2]])
DIFFERENT = np.array([[NEVER, 0.5], [-0.2, NEVER]])


def test_a_trial_finds_what_single_factors_do_not_say() -> None:
    """x or y, x or z, y unlike z: each factor allows x = 0; with it y and z would both be 1."""
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), NOT_BOTH_ZERO), ((0, 2), NOT_BOTH_ZERO), ((1, 2), DIFFERENT)])
    assert len(reduced(graph, graph.no_evidence()).unary) == 3
    problem = problem_of(graph, graph.no_evidence())
    assert problem.origins[0].states.tolist() == [1]
    assert len(problem.unary) == 1  # z says what y is


def test_variables_that_say_the_same_become_one() -> None:
    """Around a ring of unlike neighbours: one variable is left, and all marginals and pairs are still told."""
    factors = [((v, (v + 1) % 6), DIFFERENT) for v in range(6)]
    graph = FactorGraph.from_factors([2] * 6, [*factors, ((3,), np.array([0.0, 0.7]))])
    given = graph.no_evidence()
    assert len(problem_of(graph, given).unary) == 1
    truth = enumerate_all([2] * 6, [*factors, ((3,), np.array([0.0, 0.7]))])
    state = run(WHOLE, graph, given).state
    for found, right in zip(graph.unpack(WHOLE.beliefs(graph, given, state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-12)
    (beliefs,) = WHOLE.factor_beliefs(graph, given, state)
    for place, scope in enumerate(graph.groups[0].scopes.t().tolist()):
        np.testing.assert_allclose(beliefs[..., place], truth.over(tuple(scope)), atol=1e-12)
    assert WHOLE.log_partition(graph, given, state).value == pytest.approx(truth.log_z)


def test_an_odd_ring_of_unlike_neighbours_is_a_contradiction() -> None:
    graph = FactorGraph.from_factors([2] * 5, [((v, (v + 1) % 5), DIFFERENT) for v in range(5)])
    with pytest.raises(ContradictoryEvidence):
        problem_of(graph, graph.no_evidence())


@pytest.mark.parametrize("seed", GRAPHS)
def test_only_what_is_impossible_goes(seed: int) -> None:
    cards, factors = random_factors(seed, zeros=0.45)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    if math.isinf(truth.log_z):
        with pytest.raises(ContradictoryEvidence):
            run(WHOLE, graph, given)
        return
    for origin, right in zip(problem_of(graph, given).origins, truth.marginals, strict=True):
        assert set(np.flatnonzero(right > 0)) <= set(origin.states.tolist())
    state = run(WHOLE, graph, given).state
    for found, right in zip(graph.unpack(WHOLE.beliefs(graph, given, state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-10)
    for group, beliefs in zip(graph.groups, WHOLE.factor_beliefs(graph, given, state), strict=True):
        for place, scope in enumerate(group.scopes.t().tolist()):
            np.testing.assert_allclose(beliefs[..., place], truth.over(tuple(scope)), atol=1e-10)
