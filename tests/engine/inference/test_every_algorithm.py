"""What holds for every registered algorithm: odd graphs, hard and contradictory evidence."""

import numpy as np
import pytest

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.registry import ALGORITHMS


def every_algorithm() -> list[Algorithm]:
    return [cls() for cls in ALGORITHMS]  # type: ignore[misc]


def covering(graph: FactorGraph) -> list[Algorithm]:
    """Those that do not refuse this graph."""
    return [algorithm for algorithm in every_algorithm() if algorithm.supports(graph) is None]


@pytest.mark.parametrize("algorithm", every_algorithm(), ids=lambda a: a.name)
def test_odd_graphs_work_or_are_refused_in_one_sentence(algorithm: Algorithm) -> None:
    tables = np.random.default_rng(0).normal(size=(2, 2))
    odd = {
        "one variable, no factor": FactorGraph.from_factors([3], []),
        "one state": FactorGraph.from_factors([1, 2], [((0, 1), np.array([[0.3, -0.2]]))]),
        "an unused variable": FactorGraph.from_factors([2, 2, 5], [((0, 1), tables)]),
        "two components": FactorGraph.from_factors([2] * 4, [((0, 1), tables), ((2, 3), tables)]),
        "duplicate scopes": FactorGraph.from_factors([2, 2], [((0, 1), tables), ((0, 1), tables), ((1, 0), tables)]),
    }
    for name, graph in odd.items():
        given = graph.no_evidence()
        reason = algorithm.supports(graph)
        if reason is not None:
            assert reason.endswith("."), name
            assert "\n" not in reason, name
            continue
        outcome = run(algorithm, graph, given, Limits(iterations=150))
        for vector in graph.unpack(algorithm.beliefs(graph, given, outcome.state)):
            assert vector.sum() == pytest.approx(1.0), name


@pytest.mark.parametrize("algorithm", covering(ising_grid(3, 3, seed=7)), ids=lambda a: a.name)
def test_hard_evidence_is_obeyed_by_every_algorithm(algorithm: Algorithm) -> None:
    graph = ising_grid(3, 3, seed=7)
    given = graph.evidence({4: 1, 0: 0})
    outcome = run(algorithm, graph, given, Limits(iterations=120))
    marginals = graph.unpack(algorithm.beliefs(graph, given, outcome.state))
    np.testing.assert_allclose(marginals[4], [0, 1], atol=1e-12)
    np.testing.assert_allclose(marginals[0], [1, 0], atol=1e-12)


EQUAL = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)

ALL_EQUAL = FactorGraph.from_factors([2, 2, 2], [((0, 1), EQUAL), ((1, 2), EQUAL)])


@pytest.mark.parametrize("algorithm", covering(ALL_EQUAL), ids=lambda a: a.name)
def test_contradictory_evidence_names_a_node(algorithm: Algorithm) -> None:
    with pytest.raises(ContradictoryEvidence, match="node"):
        run(algorithm, ALL_EQUAL, ALL_EQUAL.evidence({0: 0, 2: 1}))
