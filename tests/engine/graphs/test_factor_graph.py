import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.checks import GraphError
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from tests.engine.helpers.graphs import enumerate_all, random_factors


@pytest.mark.parametrize("seed", range(20))
def test_score_is_the_sum_of_the_tables(seed: int) -> None:
    cards, factors = random_factors(seed)
    graph = FactorGraph.from_factors(cards, factors)
    rng = np.random.default_rng(seed)
    states = [int(rng.integers(k)) for k in cards]
    expected = sum(float(table[tuple(states[v] for v in scope)]) for scope, table in factors)
    assert graph.score(states) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_gathering_incoming_messages_equals_scattering_them(seed: int) -> None:
    cards, factors = random_factors(seed, variables=9, factors=14)
    packing = FactorGraph.from_factors(cards, factors).packing
    messages = torch.randn(3, packing.message_size, dtype=torch.float64)
    scattered = torch.zeros(3, packing.size, dtype=torch.float64)
    scattered.index_add_(1, torch.from_numpy(packing.cavity_entries), messages)
    torch.testing.assert_close(packing.sum_incoming(messages), scattered)


def test_packing_and_unpacking_are_inverse() -> None:
    cards, factors = random_factors(3, variables=7)
    graph = FactorGraph.from_factors(cards, factors)
    vectors = [np.random.default_rng(i).normal(size=k) for i, k in enumerate(cards)]
    for given, returned in zip(vectors, graph.unpack(graph.pack(vectors)), strict=True):
        np.testing.assert_array_equal(given, returned)


def test_arrays_and_factors_build_the_same_graph() -> None:
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(2, 2, 3))
    unaries = rng.normal(size=(1, 3))
    scopes = np.array([[0, 1], [2, 1]])
    by_arrays = FactorGraph.from_arrays(
        [2, 3, 2], [(scopes, tables, np.array([0, 1])), (np.array([[1]]), unaries, np.array([2]))], constant=0.5
    )
    listed = [((0, 1), tables[0]), ((2, 1), tables[1]), ((1,), unaries[0]), ((), np.array(0.5))]
    by_factors = FactorGraph.from_factors([2, 3, 2], listed)
    for states in ([0, 0, 0], [1, 2, 1], [0, 1, 1]):
        assert by_arrays.score(states) == pytest.approx(by_factors.score(states))


def test_ising_state_zero_is_spin_down() -> None:
    graph = FactorGraph.ising([(0, 1)], [0.7], [0.2, -0.3])
    assert graph.score([0, 0]) == pytest.approx(0.7 - 0.2 + 0.3)
    assert graph.score([1, 0]) == pytest.approx(-0.7 + 0.2 + 0.3)


def test_duplicate_scopes_multiply() -> None:
    table = np.array([[0.0, 1.0], [2.0, 0.5]])
    graph = FactorGraph.from_factors([2, 2], [((0, 1), table), ((1, 0), table.T)])
    assert graph.score([1, 0]) == pytest.approx(4.0)
    assert enumerate_all([2, 2], [((0, 1), 2 * table)]).log_z == pytest.approx(
        float(np.log(sum(np.exp(graph.score([a, b])) for a in range(2) for b in range(2))))
    )


@pytest.mark.parametrize(
    ("cards", "factors", "words"),
    [
        ([], [], "no variables"),
        ([2, 0], [], "Variable 1 has 0 states"),
        ([2, 2], [((0, 2), np.zeros((2, 2)))], "names variable 2"),
        ([2, 2], [((0, 0), np.zeros((2, 2)))], "twice"),
        ([2, 2], [((0, 1), np.zeros((2, 3)))], "expected (2, 2)"),
        ([2], [((0,), np.array([0.0, np.nan]))], "not a number"),
        ([2], [((0,), np.array([0.0, np.inf]))], "infinite"),
        ([2, 2], [((0, 1), np.zeros((2, 2))), ((0, 1), np.array([[0.0, np.nan], [0, 0]]))], "Factor 1 has an entry"),
    ],
)
def test_impossible_graphs_are_refused_in_one_sentence(cards: list[int], factors: list, words: str) -> None:
    with pytest.raises(GraphError) as error:
        FactorGraph.from_factors(cards, factors)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_evidence_out_of_range_is_refused() -> None:
    graph = FactorGraph.ising([(0, 1)], [1.0], [0.0, 0.0])
    with pytest.raises(GraphError, match="variables 0 to 1"):
        graph.evidence({5: 0})
    with pytest.raises(GraphError, match="states are 0 to 1"):
        graph.evidence({0: 2})


def test_a_variable_without_a_possible_state_is_named_by_its_label() -> None:
    graph = FactorGraph.from_factors([2, 2], [((1,), np.array([-np.inf, 0.0]))], labels=[10, 20])
    with pytest.raises(ContradictoryEvidence) as error:
        graph.local_potentials(graph.evidence({1: 0}))
    assert error.value.node == 20
