"""Exact inference against enumeration."""

import math

import numpy as np
import pytest

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.exact.elimination import elimination_bytes
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import run
from tests.engine.helpers.graphs import GRAPHS, distance, enumerate_all, observed_state, random_factors


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize("seed", GRAPHS)
def test_exact_is_enumeration(seed: int, zeros: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros)
    free = enumerate_all(cards, factors)
    if math.isinf(free.log_z):
        impossible = FactorGraph.from_factors(cards, factors)
        with pytest.raises(ContradictoryEvidence):
            run(Exact(), impossible, impossible.no_evidence())
        return
    evidence = observed_state(cards, free.joint, seed)
    truth = enumerate_all(cards, factors, evidence)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence(evidence)
    outcome = run(Exact(), graph, given)
    assert Exact().log_partition(graph, given, outcome.state).value == pytest.approx(truth.log_z, abs=1e-9)
    assert distance(graph, Exact().beliefs(graph, given, outcome.state), truth.marginals) < 1e-9
    for group, tables in zip(graph.groups, Exact().factor_beliefs(graph, given, outcome.state), strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            np.testing.assert_allclose(tables[..., number].numpy(), truth.over(tuple(scope)), atol=1e-9)


def test_exact_does_not_underflow_on_a_strong_grid() -> None:
    graph = ising_grid(9, 9, seed=0, coupling=60.0)
    state = run(Exact(), graph, graph.no_evidence()).state
    marginals = graph.unpack(Exact().beliefs(graph, graph.no_evidence(), state))
    assert all(abs(m.sum() - 1) < 1e-9 for m in marginals)


def test_exact_refuses_what_does_not_fit_and_says_how_much() -> None:
    reason = Exact().supports(ising_grid(60, 60, seed=0))
    assert reason is not None
    assert "memory" in reason
    assert "bp" in reason
    small = Exact(memory=1e-6).supports(ising_grid(8, 8, seed=0))
    assert small is not None
    assert "kB" in small
    with pytest.raises(Unsupported):
        Exact(memory=1e-6).init(ising_grid(8, 8, seed=0), ising_grid(8, 8, seed=0).no_evidence())


def test_elimination_of_a_chain_needs_tables_of_two_variables() -> None:
    chain = FactorGraph.ising([(i, i + 1) for i in range(50)], np.ones(50), np.zeros(51))
    assert elimination_bytes(chain, 1e12) == 8 * 4
