"""Small graphs in one flat vector: the same steps as by shape and axis, and exact on trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages import belief_propagation, flat
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages

GENERIC = BeliefPropagation(kernel="generic")


def planted(seed: int) -> list[int]:
    """An assignment that `drawn` leaves possible."""
    draw = np.random.default_rng((seed, 1))
    return [int(draw.integers(k)) for k in np.random.default_rng(seed).integers(1, 5, 13)]


def drawn(seed: int, *, zeros: float = 0.0, spread: float = 1.0, dtype: torch.dtype = torch.float64) -> FactorGraph:
    """Factors of two to four variables of one to four states; the last variable is in none of them."""
    draw = np.random.default_rng(seed)
    cards = draw.integers(1, 5, 13)
    possible = planted(seed)
    factors = []
    for number in range(18):
        scope = tuple(int(v) for v in draw.choice(12, 2 + number % 3, replace=False))
        table = draw.normal(0, spread, [cards[v] for v in scope])
        table[draw.random(table.shape) < zeros] = -np.inf
        table[tuple(possible[v] for v in scope)] = 0.0
        factors.append((scope, table))
    factors += [((v,), draw.normal(0, 0.5, cards[v])) for v in (0, 5, 12)]
    return FactorGraph.from_factors(cards, factors, dtype=dtype)


def stepped(graph: FactorGraph, evidence: Evidence, count: int, algorithm: BeliefPropagation = GENERIC) -> Messages:
    state = algorithm.init(graph, evidence)
    for _ in range(count):
        state = algorithm.step(graph, evidence, state)
    assert isinstance(state, Messages)
    return state


@pytest.mark.parametrize("few", [0, 99])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize(
    ("zeros", "spread", "dtype"),
    [
        (0.0, 1.0, torch.float64),
        (0.0, 1.0, torch.float32),
        (0.0, 4.0, torch.float64),
        (0.3, 1.0, torch.float64),
        (0.5, 2.0, torch.float64),
        (0.4, 1.0, torch.float32),
    ],
)
def test_steps_are_those_by_shape_and_axis(
    zeros: float, spread: float, dtype: torch.dtype, damping: float, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With shapes one after the other (`few`) and all at once; half of the graphs have an observed variable."""
    calls: list[bool] = []
    divided = 0
    shapes: list[int] = []
    by_shape = flat._by_shape
    monkeypatch.setattr(flat, "FEW_SHAPES", few)
    monkeypatch.setattr(flat, "_by_shape", lambda given, *rest: shapes.append(1) or by_shape(given, *rest))

    def counted(*given: object) -> object:
        found = flat.by_flat(*given)  # type: ignore[arg-type]
        calls.append(found is not None)
        return found

    monkeypatch.setattr(belief_propagation, "by_flat", counted)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-5
    for seed in range(4):
        graph, algorithm = drawn(seed, zeros=zeros, spread=spread, dtype=dtype), GENERIC.replace(damping=damping)
        twin = drawn(seed, zeros=zeros, spread=spread, dtype=dtype)
        twin.derived("flat size", lambda: flat.SMALL + 1)
        seen = {0: planted(seed)[0]} if seed % 2 else {}
        evidence, given = graph.evidence(seen), twin.evidence(seen)
        before = sum(calls)
        for count in (1, 2, 7):
            one, other = stepped(graph, evidence, count, algorithm), stepped(twin, given, count, algorithm)
            assert torch.equal(one.messages.isneginf(), other.messages.isneginf())
            assert float((one.messages.exp() - other.messages.exp()).abs().max()) < tolerance
            assert float(one.residual) == pytest.approx(float(other.residual), rel=1e-4, abs=10 * tolerance)
            assert one.messages.dtype == one.residual.dtype == dtype
        divided += 0 if seen and graph.cardinalities[0] > 1 else sum(calls) - before
    assert sum(calls) > 0.8 * len(calls) > 0  # messages with zeros may run off on loops, out of the range
    assert len(shapes) == (divided if few and not zeros and spread < 2 else 0)  # beyond that it has less reach


def test_a_message_that_says_more_than_tables_can_loses_nothing() -> None:
    """One that a person holds at e^-740, in a graph of one shape."""
    draw = np.random.default_rng(4)
    scopes = ((0, 1, 2), (2, 3, 4), (4, 5, 0), (1, 3, 5))
    factors = [(scope, draw.normal(0, 2, (2, 2, 2))) for scope in scopes]
    graph = FactorGraph.from_factors([2] * 6, factors, dtype=torch.float64)
    twin = FactorGraph.from_factors([2] * 6, factors, dtype=torch.float64)
    twin.derived("flat size", lambda: flat.SMALL + 1)
    state = stepped(graph, graph.no_evidence(), 3)
    held = state.messages.clone()
    held[0], held[4] = -740.0, 0.0  # of the first factor's message to its first variable
    assert float(held.exp().reshape(3, 2, 4).sum(1)[0, 0]) == pytest.approx(1.0)
    for _ in range(3):
        before = Messages(state.iteration, state.residual, held)
        one = GENERIC.step(graph, graph.no_evidence(), before)
        other = GENERIC.step(twin, twin.no_evidence(), before)
        assert isinstance(one, Messages)
        assert isinstance(other, Messages)
        assert float((one.messages - other.messages).abs().max()) < 1e-9
        state, held = one, one.messages.clone()
        held[0], held[4] = -740.0, 0.0


def test_a_tree_with_zeros_is_exact() -> None:
    draw = np.random.default_rng(0)
    cards = [3, 2, 4, 3, 2]
    factors = [(scope, draw.normal(0, 1, [cards[v] for v in scope])) for scope in ((0, 1, 2), (2, 3), (3, 4))]
    factors[0][1][1, 0, 2] = factors[1][1][0] = -np.inf
    graph = FactorGraph.from_factors(cards, factors)
    evidence = graph.evidence({4: 1})
    joint = np.zeros(cards)
    for states in itertools.product(*map(range, cards)):
        joint[states] = np.exp(graph.score(states, evidence))
    joint /= joint.sum()
    found = graph.unpack(GENERIC.beliefs(graph, evidence, stepped(graph, evidence, 8)))
    for variable, marginal in enumerate(found):
        expected = joint.sum(tuple(other for other in range(5) if other != variable))
        assert np.abs(marginal - expected).max() < 1e-12


def test_numbers_beyond_the_range_are_left_to_the_log_domain() -> None:
    graph = drawn(1, spread=300.0)
    messages = stepped(graph, graph.no_evidence(), 3).messages
    assert flat.fits_flat(graph, messages)
    assert flat.by_flat(graph, graph.no_evidence(), messages) is None
    assert bool(torch.isfinite(messages).all())


def test_the_variable_of_which_nothing_is_left_is_named() -> None:
    table = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]], dtype=torch.float64).numpy()
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), table), ((1, 2), table)])
    evidence = graph.evidence({0: 0, 2: 1})
    uniform = torch.full((graph.packing.message_size,), 0.5, dtype=torch.float64).log()
    told = flat.by_flat(graph, evidence, uniform)
    assert told is not None
    assert flat.by_flat(graph, evidence, told[0]) is None
    with pytest.raises(ContradictoryEvidence):
        GENERIC.step(graph, evidence, Messages(1, told[1], told[0]))


def test_many_sets_of_evidence_and_gradients_go_the_other_way() -> None:
    graph = drawn(2)
    messages = stepped(graph, graph.no_evidence(), 1).messages
    assert not flat.fits_flat(graph, messages.expand(3, -1))
    assert not flat.fits_flat(graph, messages.clone().requires_grad_())
    tables = [group.tables.clone().requires_grad_() for group in graph.groups]
    assert not flat.fits_flat(graph.with_potentials(graph.unary, tables), messages)


def test_entries_too_small_for_the_linear_domain_are_not_taken_for_zeros() -> None:
    """e^-780 is 0 in 64 bits; the log domain, which answers instead, keeps both states possible."""
    tables = [np.array([[0.0, -780.0], [-780.0, 0.0]]), np.array([[0.0, -1.0], [-2.0, 0.0]])]
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), tables[0]), ((1, 2), tables[1])], dtype=torch.float64)
    evidence, bp = graph.evidence({0: 0}), BeliefPropagation(kernel="generic")
    state = bp.init(graph, evidence)
    for _ in range(3):
        state = bp.step(graph, evidence, state)
        assert isinstance(state, Messages)
        assert bool(torch.isfinite(state.messages).all())
