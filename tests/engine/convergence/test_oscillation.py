"""Periods of messages: found where BP swings, and not where it only takes its time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.convergence.oscillation import IRREGULAR, LARGEST_DAMPING, Oscillation, advice, find_oscillations
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges, ring_edges
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.tasks.infer import make_algorithm

BP = BeliefPropagation(kernel="generic")


def history(graph: FactorGraph, algorithm: Algorithm = BP, skip: int = 100, kept: int = 24) -> np.ndarray:
    """The last messages as probabilities, (kept, entries)."""
    nothing = graph.no_evidence()
    state, seen = algorithm.init(graph, nothing), []
    for _ in range(skip + kept):
        state = algorithm.step(graph, nothing, state)
        assert isinstance(state, Messages)
        seen.append(state.messages.exp().numpy())
    return np.stack(seen[skip:])


def frustrated_complete(nodes: int = 8) -> FactorGraph:
    edges = complete_edges(nodes)
    return FactorGraph.ising(edges, np.full(len(edges), -1.0), 0.1 * np.random.default_rng(0).normal(size=nodes))


def ring(nodes: int, sign: float, strength: float = 6.0) -> FactorGraph:
    couplings = np.full(nodes, strength)
    couplings[0] *= sign
    return FactorGraph.ising(ring_edges(nodes), couplings, np.random.default_rng(1).normal(size=nodes))


def test_parallel_bp_on_a_frustrated_complete_graph_swings_with_period_two() -> None:
    found = find_oscillations(history(frustrated_complete()))
    assert (found.period == 2).all()
    assert found.commonest == 2
    assert (found.amplitude > 0.5).all()
    np.testing.assert_allclose(found.decay, 1.0, atol=1e-3)


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_a_frustrated_ring_returns_after_going_round_twice(nodes: int) -> None:
    assert (find_oscillations(history(ring(nodes, -1.0))).period == 2 * nodes).all()


def test_the_same_ring_without_frustration_rests() -> None:
    assert find_oscillations(history(ring(4, 1.0))).count == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("skip", [5, 60, 400])
def test_a_grid_near_its_critical_coupling_converges_slowly_and_does_not_oscillate(
    dtype: torch.dtype, skip: int
) -> None:
    edges = grid_edges(8, 8)
    graph = FactorGraph.ising(edges, np.full(len(edges), 0.36), np.full(64, 1e-3), dtype=dtype)
    seen = history(graph, skip=skip)
    assert skip == 400 or np.ptp(seen, 0).max() > 1e-5  # it still moves, or there would be nothing to confuse
    assert find_oscillations(seen).count == 0


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6, 7, 9, 12])
@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_a_cycle_is_found_whatever_its_period_under_noise_and_drift(period: int, drift: float) -> None:
    rng = np.random.default_rng(period)
    time = np.arange(24)
    cycle = rng.random((period, 5))
    cycle += 0.3 * np.arange(period)[:, None] / period
    seen = 0.2 * cycle[time % period] + drift * np.exp(-time / 10)[:, None] + 1e-6 * rng.normal(size=(24, 5))
    assert (find_oscillations(seen).period == period).all()


def test_a_cycle_of_four_that_is_nearly_one_of_two_is_called_four() -> None:
    seen = np.tile([0.2, 0.8, 0.25, 0.8], 6)[:, None]
    assert find_oscillations(seen).period.tolist() == [4]


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99, 0.999])
def test_an_exponential_approach_has_no_period(rate: float) -> None:
    seen = (0.5 + 0.4 * rate ** np.arange(24))[:, None] + 1e-8 * np.random.default_rng(0).normal(size=(24, 3))
    assert not find_oscillations(seen).period.any()


def test_a_swing_that_dies_quickly_is_not_counted_and_one_that_hardly_dies_is_with_its_decay() -> None:
    time = np.arange(24)
    seen = 0.5 + 0.4 * np.stack([(-0.85) ** time, (-0.98) ** time], 1)
    found = find_oscillations(seen)
    assert found.period.tolist() == [0, 2]
    assert found.decay[1] == pytest.approx(0.98, abs=0.002)


def test_swings_without_a_period_are_irregular() -> None:
    logistic = [0.3]
    for _ in range(123):
        logistic.append(3.99 * logistic[-1] * (1 - logistic[-1]))
    found = find_oscillations(np.array(logistic[-24:])[:, None])
    assert found.period.tolist() == [IRREGULAR]
    assert found.count == 1
    assert found.commonest == 0


def test_states_of_one_message_are_judged_together() -> None:
    time = np.arange(24)
    swing = np.where(time % 2, 0.7, 0.2)
    still = np.full(24, 0.1)
    seen = np.stack([np.stack([swing, 0.9 - swing, still], 1), np.stack([still, still, 1 - 2 * still], 1)], 1)
    as_cube = find_oscillations(seen)
    # The same entries in another order, as a packed vector may have them.
    order = [0, 3, 1, 4, 2, 5]
    as_flat = find_oscillations(seen.reshape(24, 6)[:, order], owner=[0, 1, 0, 1, 0, 1])
    assert as_cube.period.tolist() == as_flat.period.tolist() == [2, 0]
    np.testing.assert_array_equal(as_cube.amplitude, as_flat.amplitude)


def test_a_history_too_short_for_a_period_shows_none() -> None:
    assert find_oscillations(np.tile([0.1, 0.9], 2)[:, None]).period.tolist() == [0]
    assert find_oscillations(np.zeros((0, 3))).period.size == 0
    assert find_oscillations(np.zeros((24, 0))).period.size == 0


@pytest.mark.parametrize(
    ("seen", "owner", "words"),
    [
        (np.zeros(5), None, "axes"),
        (np.full((8, 2), -np.inf), None, "not finite"),
        (np.zeros((8, 2)), [0], "one for each entry"),
        (np.zeros((8, 2)), [0, 2], "leave none out"),
    ],
)
def test_what_is_no_history_is_refused(seen: np.ndarray, owner: list[int] | None, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        find_oscillations(seen, owner)


# Advice ---------------------------------------------------------------------------------------------------------------


def test_following_the_advice_ends_the_swing() -> None:
    """Whichever offer is taken, again and again, the messages come to rest."""
    graph = frustrated_complete()
    for choice in (0, -1):
        algorithm: Algorithm = BP
        for _ in range(5):
            found = find_oscillations(history(graph, algorithm))
            offers = advice(found, algorithm.name, algorithm.values())
            if not offers:
                break
            taken = offers[choice]
            if taken.algorithm == algorithm.name:
                algorithm = algorithm.replace(**taken.parameters)
            else:
                algorithm = make_algorithm(taken.algorithm, dict(taken.parameters))
        assert algorithm != BP
        assert find_oscillations(history(graph, algorithm)).count == 0


def swinging(count: int = 3, period: int = 2) -> Oscillation:
    return Oscillation(np.full(count, period), np.ones(count), np.ones(count))


def test_advice_is_to_damp_more_or_to_lower_alpha() -> None:
    damp, lower = advice(swinging(), "alpha-bp", {"alpha": 0.5, "damping": 0.0})
    assert (damp.algorithm, damp.parameters) == ("alpha-bp", {"damping": 0.5})
    assert (lower.algorithm, lower.parameters) == ("alpha-bp", {"alpha": 0.25})
    assert "period 2" in damp.reason


def test_a_known_guarantee_gives_the_largest_alpha_within_it() -> None:
    offers = advice(swinging(), "bp", {"damping": 0.5}, guaranteed=(0.0, 0.438))
    assert offers[1].parameters == {"alpha": 0.43, "damping": 0.5}
    assert offers[1].algorithm == "alpha-bp"
    assert "guaranteed" in offers[1].reason


def test_an_alpha_that_is_guaranteed_is_not_to_be_left() -> None:
    offers = advice(swinging(), "alpha-bp", {"alpha": 1.0, "damping": 0.0}, guaranteed=(0.98, 1.02))
    assert [offer.parameters for offer in offers] == [{"damping": 0.5}]


def test_there_is_no_advice_that_cannot_help() -> None:
    assert advice(find_oscillations(np.zeros((24, 4))), "bp", {"damping": 0.0}) == ()
    assert len(advice(swinging(), "bp", {"damping": 0.0}, pairwise=False)) == 1
    assert len(advice(swinging(), "bp", {"damping": 0.0, "temperature": 0.0})) == 1
    assert advice(swinging(), "gibbs", {"chains": 10}) == ()
    assert not any("damping" in o.parameters for o in advice(swinging(), "trw", {"damping": LARGEST_DAMPING}))


def test_advice_speaks_of_one_message_in_the_singular() -> None:
    assert advice(swinging(1), "bp", {"damping": 0.0})[0].reason.startswith("One message oscillates with period 2")
    assert advice(swinging(1, IRREGULAR), "bp", {"damping": 0.0})[0].reason.startswith("One message swings without")


def test_advised_parameters_are_ones_the_algorithm_takes() -> None:
    for algorithm in (BP, AlphaBP(alpha=1.0), make_algorithm("trw", {})):
        for offer in advice(swinging(), algorithm.name, algorithm.values()):
            assert make_algorithm(offer.algorithm, dict(offer.parameters)).name == offer.algorithm
            assert set(offer.as_dict()) == {"title", "reason", "algorithm", "parameters"}


def triples(seed: int) -> FactorGraph:
    """Twelve strong random factors of three variables each, of two to four states."""
    rng = np.random.default_rng(seed)
    cards = [int(states) for states in rng.choice([2, 3, 4], 8)]
    scopes = [tuple(int(v) for v in rng.choice(8, 3, replace=False)) for _ in range(12)]
    return FactorGraph.from_factors(cards, [(s, 4 * rng.normal(size=[cards[v] for v in s])) for s in scopes])


@pytest.mark.parametrize(("seed", "period"), [(6, 8), (21, 10), (13, 0), (2, 0), (9, None)])
def test_factors_of_three_variables_have_the_period_after_which_they_come_back_and_no_other(
    seed: int, period: int | None
) -> None:
    from mrfstudio.engine.workspaces.converge.messages import owners

    graph = triples(seed)
    seen = history(graph, skip=300, kept=60)
    swing = np.ptp(seen, 0).max()
    returns = [p for p in range(1, 13) if np.abs(seen[p:] - seen[:-p]).max() < 1e-3 * swing]
    found = find_oscillations(seen[-24:], owners(graph))
    if period is None:  # it has come to rest
        assert swing < 1e-6
        assert found.count == 0
        return
    assert swing > 0.5
    assert returns[:1] == ([period] if period else [])
    assert found.commonest == period
    assert found.sharing == (found.count if period else 0)
    assert (found.period > 0).mean() > 0.9 if period else (found.period > 0).mean() < 0.1


def test_a_common_period_is_one_that_more_than_half_share() -> None:
    def of(*period: int, decay: float = 1.0) -> Oscillation:
        swings = np.array(period)
        return Oscillation(swings, np.where(swings, 0.3, 0.0), np.where(swings, decay, 0.0))

    assert (of(8, 8, 2, 4, 0).commonest, of(8, 8, 2, 4, 0).sharing) == (8, 4)  # two also comes back after eight
    assert (of(2, 2, 2, 4, IRREGULAR).commonest, of(2, 2, 2, 4, IRREGULAR).sharing) == (2, 3)
    assert (of(5, IRREGULAR, IRREGULAR, 0).commonest, of(5, IRREGULAR, IRREGULAR, 0).sharing) == (0, 0)
    assert of(8, 8, decay=0.95).shrinks
    assert not of(8, 8, decay=0.999).shrinks
    assert not of(8, IRREGULAR, IRREGULAR, decay=0.9).shrinks


def test_a_rotation_that_dies_slowly_keeps_its_period() -> None:
    time = np.arange(24)
    seen = 0.5 + 0.3 * 0.96**time * np.cos(2 * np.pi * time / 10)
    found = find_oscillations(seen[:, None])
    assert found.period.tolist() == [10]
    assert found.shrinks
