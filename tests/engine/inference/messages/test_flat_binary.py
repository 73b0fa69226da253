"""Small binary graphs of any order as odds: the same steps as by shape and axis, and exact on trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages import flat
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages, totals_and_cavities
from mrfstudio.engine.inference.messages.flat_binary import FAR, by_odds, fits_odds
from mrfstudio.engine.inference.residuals import largest_change

GENERIC = BeliefPropagation(kernel="generic")
VARIABLES = 14


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each step as odds was answered."""
    found: list[bool] = []

    def counted(graph: FactorGraph, evidence: Evidence, messages: torch.Tensor) -> object:
        told = by_odds(graph, evidence, messages)
        found.append(told is not None)
        return told

    monkeypatch.setattr(flat, "by_odds", counted)
    return found


def drawn(
    seed: int, orders: tuple[int, ...], *, local: float = 0.5, dtype: torch.dtype = torch.float64, states: int = 2
) -> FactorGraph:
    """Twelve factors of each order; variable 3 has `states` states, and the last is in no factor."""
    draw = np.random.default_rng(seed)
    cards = [2] * VARIABLES
    cards[3] = states
    factors = []
    for order in orders:
        for number in range(12):
            scope = (3, 7) if not number and order == 2 else draw.choice(VARIABLES - 1, order, replace=False)
            factors.append((tuple(map(int, scope)), draw.uniform(-1.5, 1.5, [cards[v] for v in scope])))
    factors += [((v,), draw.normal(0, local, cards[v])) for v in (0, 3, 5, VARIABLES - 1)]
    return FactorGraph.from_factors(cards, factors, dtype=dtype)


def by_shape_and_axis(graph: FactorGraph) -> FactorGraph:
    """The same graph, which always goes the other way."""
    twin = graph.with_potentials(graph.unary, [group.tables for group in graph.groups])
    twin.derived("flat size", lambda: flat.SMALL + 1)
    return twin


def stepped(graph: FactorGraph, evidence: Evidence, count: int, algorithm: BeliefPropagation = GENERIC) -> Messages:
    state = algorithm.init(graph, evidence)
    for _ in range(count):
        state = algorithm.step(graph, evidence, state)
    assert isinstance(state, Messages)
    return state


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("orders", [(2,), (3,), (2, 3), (3, 2, 4), (4,), (6,)])
def test_steps_are_those_by_shape_and_axis(
    orders: tuple[int, ...], damping: float, dtype: torch.dtype, calls: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without evidence, and of the same graph with two observed variables."""
    monkeypatch.setattr("mrfstudio.engine.inference.messages.flat_binary.PADDING", 4.0)
    algorithm = GENERIC.replace(damping=damping)
    tolerance = 1e-11 if dtype == torch.float64 else 4e-6
    graphs = [drawn(seed, orders, dtype=dtype) for seed in range(2)]
    for graph, seen, count in itertools.product(graphs, ({}, {0: 1, 4: 0}), (1, 2, 9)):
        twin = by_shape_and_axis(graph)
        before = len(calls)
        one = stepped(graph, graph.evidence(seen), count, algorithm)
        assert len(calls) - before == count
        other = stepped(twin, twin.evidence(seen), count, algorithm)
        assert len(calls) - before == count
        assert float((one.messages - other.messages).abs().max()) < tolerance
        assert float(one.residual) == pytest.approx(float(other.residual), abs=tolerance)
        assert one.messages.dtype == one.residual.dtype == dtype
    assert all(calls)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_other_temperatures_go_the_other_way(temperature: float, calls: list[bool]) -> None:
    graph, algorithm = drawn(0, (3,)), GENERIC.replace(temperature=temperature)
    twin = by_shape_and_axis(graph)
    assert fits_odds(graph)
    one = stepped(graph, graph.no_evidence(), 3, algorithm)
    assert torch.equal(one.messages, stepped(twin, twin.no_evidence(), 3, algorithm).messages)
    assert not calls


def test_trees_of_mixed_orders_are_exact(calls: list[bool]) -> None:
    draw = np.random.default_rng(0)
    scopes = ((2, 0, 1), (2, 3), (3, 5, 4), (6, 5, 7))
    factors = [(scope, draw.normal(0, 1, [2] * len(scope))) for scope in scopes]
    factors += [((v,), draw.normal(0, 1, 2)) for v in range(8)]
    graph = FactorGraph.from_factors([2] * 8, factors)
    evidence = graph.evidence({4: 1})
    joint = np.zeros([2] * 8)
    for states in itertools.product(range(2), repeat=8):
        joint[states] = np.exp(graph.score(states, evidence))
    joint /= joint.sum()
    found = graph.unpack(GENERIC.beliefs(graph, evidence, stepped(graph, evidence, 8)))
    assert calls == [True] * 8
    for variable, marginal in enumerate(found):
        expected = joint.sum(tuple(other for other in range(8) if other != variable))
        assert np.abs(marginal - expected).max() < 1e-6


@pytest.mark.parametrize("strength", [0.9 * FAR, 3 * FAR, 1e4])
def test_what_is_said_of_single_variables_bears_any_strength(strength: float, calls: list[bool]) -> None:
    graph = drawn(5, (3,), local=strength)
    twin = by_shape_and_axis(graph)
    one, other = stepped(graph, graph.no_evidence(), 4), stepped(twin, twin.no_evidence(), 4)
    assert calls == [True] * 4
    assert float((one.messages - other.messages).abs().max()) < 1e-10


@pytest.mark.parametrize("held", [-30.0, -740.0])
def test_a_message_that_a_person_holds_loses_nothing(held: float, calls: list[bool]) -> None:
    graph = drawn(6, (3,))
    evidence = graph.evidence({4: 1})
    messages = stepped(graph, evidence, 3).messages.clone()
    messages[0], messages[12] = held, 0.0  # of the first factor's message to its first variable
    told = GENERIC.step(graph, evidence, Messages(3, messages.new_zeros(()), messages))
    assert isinstance(told, Messages)
    assert calls == [True] * 4
    cavities = totals_and_cavities(graph, graph.local_potentials(evidence), messages)[1]
    expected = FactorMessages.of_graph(graph).messages(cavities, 1.0)
    assert float((told.messages - expected).abs().max()) < 1e-10
    assert float(told.residual) == pytest.approx(float(largest_change(expected, messages, saturating=False)))


def test_a_message_that_forbids_a_state_is_left_to_others() -> None:
    graph = drawn(6, (3,))
    messages = stepped(graph, graph.no_evidence(), 3).messages.clone()
    messages[0], messages[12] = -torch.inf, 0.0
    assert by_odds(graph, graph.no_evidence(), messages) is None


def test_which_graphs_fit() -> None:
    assert fits_odds(drawn(0, (2, 3)))
    assert not fits_odds(drawn(0, (2, 3), states=1))
    assert not fits_odds(drawn(0, (2, 3), states=3))
    assert not fits_odds(drawn(0, (2, 2, 2, 6)))  # pairs would have tables of 64 entries
    assert not fits_odds(drawn(0, (7,)))
    table = np.zeros((2, 2, 2))
    table[0, 1, 0] = -20.0  # messages so faint that their logarithms are what changes
    assert not fits_odds(FactorGraph.from_factors([2] * 3, [((0, 1, 2), table)]))
    table[0, 1, 0] = -np.inf
    assert not fits_odds(FactorGraph.from_factors([2] * 3, [((0, 1, 2), table)]))
