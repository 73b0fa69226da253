"""No answer that is wrong and says otherwise: the cases in which one was, by their cause."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.graphs.supports import UNDECIDED, possible_assignment, support_of
from mrfstudio.engine.inference.algorithm import Algorithm, Unsupported
from mrfstudio.engine.inference.exact import contraction
from mrfstudio.engine.inference.exact.exact import Exact, exact_log_partition
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.tree_reweighted import TreeReweighted
from mrfstudio.engine.inference.regions.bethe_net import BetheNetwork
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.tasks.infer import answer
from tests.engine.helpers.graphs import distance, enumerate_all, ising_factors, random_factors

DTYPES = [torch.float64, torch.float32]
EQUAL = np.where(np.eye(2) > 0, 0.0, -np.inf)
DIFFERENT = np.where(np.eye(2) > 0, -np.inf, 0.0)


def every_algorithm() -> list[Algorithm]:
    return [cls() for cls in ALGORITHMS]


# 1: exact -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [80.0, 110.0, 740.0, 800.0, 5000.0])
def test_two_equal_variables_that_want_different_states_are_no_contradiction(depth: float, dtype: torch.dtype) -> None:
    factors = [((0,), [0.0, -depth]), ((1,), [-depth, 0.0]), ((0, 1), EQUAL)]
    graph = FactorGraph.from_factors([2, 2], factors, dtype=dtype)
    state = run(Exact(), graph, graph.no_evidence()).state
    assert Exact().log_partition(graph, graph.no_evidence(), state).value == pytest.approx(math.log(2) - depth)
    assert distance(graph, Exact().beliefs(graph, graph.no_evidence(), state), [np.full(2, 0.5)] * 2) < 1e-6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("strength", [30.0, 1000.0])
def test_exact_is_enumeration_on_strong_ising_grids(strength: float, seed: int, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(seed)
    edges = grid_edges(3, 3)
    graph = FactorGraph.ising(edges, strength * rng.normal(size=12), strength * rng.normal(size=9), dtype=dtype)
    truth = enumerate_all(*ising_factors(graph))
    state = run(Exact(), graph, graph.no_evidence()).state
    found = Exact().log_partition(graph, graph.no_evidence(), state).value
    assert found == pytest.approx(truth.log_z, rel=1e-6 if dtype == torch.float32 else 1e-12)
    assert distance(graph, Exact().beliefs(graph, graph.no_evidence(), state), truth.marginals) < (
        1e-3 if dtype == torch.float32 else 1e-9
    )
    assert exact_log_partition(graph) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_every_way_to_contract_gives_the_same(seed: int, zeros: float, monkeypatch: pytest.MonkeyPatch) -> None:
    cards, factors = random_factors(seed, variables=7, factors=9, zeros=zeros, strength=3.0)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    tables = [group.tables for group in graph.groups]
    real = contraction._linear
    for trusted in (lambda shifts: True, lambda shifts: shifts is not None, lambda shifts: False):
        seen: list[torch.Tensor | None] = []
        operands = contraction._operands

        def noted(model, local, given, shifts, seen=seen, operands=operands):  # type: ignore[no-untyped-def]
            seen.append(shifts)
            return operands(model, local, given, shifts)

        def chosen(model, logs, seen=seen, trusted=trusted):  # type: ignore[no-untyped-def]
            return real(model, logs) if trusted(seen[-1]) else None

        with monkeypatch.context() as patch:
            patch.setattr(contraction, "_operands", noted)
            patch.setattr(contraction, "_linear", chosen)
            patch.setattr(contraction, "TINY", 0)  # which never comes here
            found = contraction.contracted(graph, graph.unary, tables)
        if math.isinf(truth.log_z):
            assert math.isinf(float(found.log_z))
            continue
        assert float(found.log_z) == pytest.approx(truth.log_z, abs=1e-9)
        assert distance(graph, found.gradients[0], truth.marginals) < 1e-9
        for group, gradient in zip(graph.groups, found.gradients[1:], strict=True):
            for number, scope in enumerate(group.scopes.T.tolist()):
                np.testing.assert_allclose(gradient[..., number].numpy(), truth.over(tuple(scope)), atol=1e-9)


# 2: samples -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [0.01, 1e-4])
def test_a_rare_state_is_never_reported_without_an_error(chance: float) -> None:
    graph = FactorGraph.from_factors([2, 2], [((0,), np.log([1 - chance, chance])), ((0, 1), np.zeros((2, 2)))])
    for seed in range(3):
        gibbs = Gibbs(seed=seed, burn_in=10)
        outcome = run(gibbs, graph, graph.no_evidence(), Limits(iterations=250, tolerance=2e-3))
        found = graph.unpack(gibbs.beliefs(graph, graph.no_evidence(), outcome.state))[0][1]
        error = gibbs.residual(outcome.state)
        assert error > 0
        assert abs(found - chance) < 6 * error


def test_stopping_by_the_error_does_not_bias_the_estimate() -> None:
    graph = FactorGraph.from_factors([2, 2], [((0,), np.log([0.97, 0.03])), ((0, 1), np.zeros((2, 2)))])
    found = []
    for seed in range(12):
        gibbs = Gibbs(seed=seed, chains=16, burn_in=5)
        outcome = run(gibbs, graph, graph.no_evidence(), Limits(iterations=2000, tolerance=0.008))
        assert outcome.converged
        found.append(graph.unpack(gibbs.beliefs(graph, graph.no_evidence(), outcome.state))[0][1])
    assert abs(np.mean(found) - 0.03) < 4 * np.std(found) / len(found) ** 0.5


def test_chains_in_two_modes_are_said_to_disagree() -> None:
    graph = FactorGraph.ising(grid_edges(3, 3), np.full(12, 8.0), np.full(9, 0.02))
    outcome = run(Gibbs(), graph, graph.no_evidence(), Limits(iterations=300, tolerance=0.1))
    assert not outcome.converged
    assert any("chains" in notice for notice in outcome.notices)


def test_chains_held_by_their_neighbours_cannot_tell() -> None:
    """Every chain falls into the wide valley; the narrow one next to it has nearly all the mass."""
    table = np.full((2,) * 6, -40.0)
    table[(0,) * 6] = 20.0
    for index in np.ndindex(*table.shape):
        table[index] += 15.0 * sum(index) if sum(index) else 0.0
    graph = FactorGraph.from_factors([2] * 6, [(tuple(range(6)), table)])
    truth = enumerate_all([2] * 6, [(tuple(range(6)), table)])
    outcome = run(Gibbs(), graph, graph.no_evidence(), Limits(iterations=300, tolerance=0.05))
    found = graph.unpack(Gibbs().beliefs(graph, graph.no_evidence(), outcome.state))
    wrong = max(float(np.abs(a - b).max()) for a, b in zip(found, truth.marginals, strict=True))
    assert not outcome.converged or wrong < 0.1


def test_chains_keep_to_what_is_possible() -> None:
    """Low unaries put no mass on a forbidden state, and chains begin at assignments that are possible."""
    factors = [((0,), [0.0, -1100.0]), ((1,), [0.0, -1100.0]), ((0, 1), DIFFERENT), ((1, 2), EQUAL)]
    graph = FactorGraph.from_factors([2, 2, 2], factors)
    truth = enumerate_all([2, 2, 2], [(scope, np.asarray(table)) for scope, table in factors])
    for sampler in ("gibbs", "metropolis"):
        gibbs = Gibbs(sampler=sampler, burn_in=5)
        state = run(gibbs, graph, graph.no_evidence(), Limits(iterations=30, tolerance=0.0)).state
        assert np.isfinite([graph.score(chain) for chain in state.chains.tolist()]).all()
        found = graph.unpack(gibbs.beliefs(graph, graph.no_evidence(), state))
        assert all(np.abs(a - b).max() < 0.3 for a, b in zip(found, truth.marginals, strict=True))


@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
def test_chains_on_a_plain_find_the_needle(sampler: str) -> None:
    """One assignment of 256 has nearly all the mass, and nothing leads to it: chains must not go to and fro."""
    table = np.zeros((2,) * 8)
    table[(1,) * 8] = 9.0
    factors = [(tuple(range(8)), table)]
    graph, truth = FactorGraph.from_factors([2] * 8, factors), enumerate_all([2] * 8, factors)
    for seed in range(2):
        gibbs = Gibbs(sampler=sampler, seed=seed)
        outcome = run(gibbs, graph, graph.no_evidence(), Limits(iterations=500, tolerance=0.05))
        found = gibbs.beliefs(graph, graph.no_evidence(), outcome.state)
        assert not outcome.converged or distance(graph, found, truth.marginals) < 6 * gibbs.residual(outcome.state)
        assert graph.unpack(found)[0][1] > 0.8


# 3: fixed points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["auto", "generic"])
@pytest.mark.parametrize(
    "algorithm", [BeliefPropagation(damping=0.5), BeliefPropagation(damping=0.9), TreeReweighted(memory=0), AlphaBP()]
)
def test_converged_means_the_fixed_point_also_where_probabilities_saturate(algorithm: Algorithm, kernel: str) -> None:
    graph = FactorGraph.ising([(0, 1)], [20.0], [15.0, -14.5])
    if isinstance(algorithm, BeliefPropagation):
        algorithm = algorithm.replace(kernel=kernel)
    truth = enumerate_all(*ising_factors(graph))
    outcome = run(algorithm, graph, graph.no_evidence(), Limits(iterations=3000))
    assert outcome.converged
    if not isinstance(algorithm, AlphaBP):
        assert distance(graph, algorithm.beliefs(graph, graph.no_evidence(), outcome.state), truth.marginals) < 1e-6


def test_the_residual_of_alpha_bp_is_that_of_the_whole_step() -> None:
    """A small α keeps most of the old message: that must not look like convergence."""
    graph = ising_grid(3, 3, seed=1)
    slow = AlphaBP(alpha=0.01)
    first = slow.step(graph, graph.no_evidence(), slow.init(graph, graph.no_evidence()))
    fast = BeliefPropagation()
    assert slow.residual(first) > 0.2 * fast.residual(
        fast.step(graph, graph.no_evidence(), fast.init(graph, graph.no_evidence()))
    )


# 4: contradictions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", every_algorithm(), ids=lambda algorithm: algorithm.name)
def test_three_variables_of_two_states_cannot_all_differ(algorithm: Algorithm) -> None:
    graph = FactorGraph.from_factors([2] * 3, [(pair, DIFFERENT) for pair in ((0, 1), (1, 2), (2, 0))])
    with pytest.raises((ContradictoryEvidence, Unsupported)):
        run(algorithm, graph, graph.no_evidence(), Limits(iterations=30))


def test_evidence_that_makes_a_loop_impossible_is_found_while_messages_go_on() -> None:
    """Neighbours on a loop of five with three states differ; two states are then forbidden."""
    differ = np.where(np.eye(3) > 0, -np.inf, 0.0)
    graph = FactorGraph.from_factors([3] * 5, [((i, (i + 1) % 5), differ) for i in range(5)])
    bp = BeliefPropagation()
    state = bp.step(graph, graph.no_evidence(), bp.init(graph, graph.no_evidence()))
    forbidden = Evidence(graph.pack([[0.0, 0.0, -math.inf]] * 5))
    with pytest.raises(ContradictoryEvidence):
        bp.step(graph, forbidden, state)


def test_what_cannot_be_decided_is_said() -> None:
    """Twelve pigeons and eleven holes: arc consistency sees nothing, and the search would take for ever."""
    differ = np.where(np.eye(11) > 0, -np.inf, 0.0)
    graph = FactorGraph.from_factors([11] * 12, [(pair, differ) for pair in itertools.combinations(range(12), 2)])
    assert support_of(graph, graph.no_evidence()).verdict == "undecided"
    found = answer(BeliefPropagation(), graph, graph.no_evidence(), Limits(iterations=3))
    assert UNDECIDED in found["notices"]


@pytest.mark.parametrize("seed", range(40))
def test_the_search_decides_as_enumeration_does(seed: int) -> None:
    cards, factors = random_factors(seed, variables=6, factors=10, zeros=0.45)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    try:
        found = support_of(graph, graph.no_evidence())
    except ContradictoryEvidence:  # local potentials alone
        assert math.isinf(truth.log_z)
        return
    assert found.verdict == ("impossible" if math.isinf(truth.log_z) else "possible")
    if found.verdict == "possible":
        preference = torch.rand(graph.packing.size, generator=torch.Generator().manual_seed(seed))
        chosen = possible_assignment(graph, graph.no_evidence(), preference)
        assert chosen is not None
        assert math.isfinite(graph.score(chosen))


# 5: what is forbidden -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("low", [-1100.0, -5000.0])
@pytest.mark.parametrize(
    "algorithm",
    [GeneralizedBP(), GeneralizedBP(method="messages"), RegionEnergyNetwork(), BetheNetwork(), MeanField(), Gibbs()],
    ids=lambda a: f"{a.name} {getattr(a, 'method', '')}",
)
def test_no_potential_is_so_low_that_the_forbidden_beats_it(
    algorithm: Algorithm, low: float, dtype: torch.dtype
) -> None:
    factors = [((0,), [low, 0.0]), ((1,), [low, low]), ((0, 1), np.array([[0.0, 0.0], [-np.inf, -np.inf]]))]
    graph = FactorGraph.from_factors([2, 2], factors, dtype=dtype)
    outcome = run(algorithm, graph, graph.no_evidence(), Limits(iterations=200))
    found = graph.unpack(algorithm.beliefs(graph, graph.no_evidence(), outcome.state))
    assert found[0][0] > 0.999
    value = algorithm.log_partition(graph, graph.no_evidence(), outcome.state)
    if value.kind == "lower_bound":
        assert value.value is not None
        assert value.value <= 2 * low + math.log(2) + 1e-2
    elif value.value is not None:
        assert value.value == pytest.approx(2 * low + math.log(2), abs=0.01)


def test_zeros_of_regions_follow_from_zeros_of_others() -> None:
    """What one face of a grid forbids, its neighbours do not put any belief on."""
    edges = grid_edges(2, 3)
    factors = [(tuple(edge), EQUAL if number == 0 else np.zeros((2, 2))) for number, edge in enumerate(edges.tolist())]
    graph = FactorGraph.from_factors([2] * 6, factors)
    gbp = GeneralizedBP()
    tables = gbp.tables(graph)
    potentials = tables.potentials(graph, graph.unary)
    said = tables.to_children(potentials.exp())
    held = potentials.exp().index_select(-1, tables.of_children)
    assert torch.equal(said > 0, held > 0)


# 6: messages that run off, defaults that converge ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["messages", "auto", "double-loop"])
def test_gbp_does_not_call_beliefs_of_0_and_1_converged(method: str) -> None:
    edges = np.array(list(itertools.combinations(range(10), 2)))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        graph = FactorGraph.ising(edges, rng.normal(size=45) / 2, 0.1 * rng.normal(size=10))
        given = graph.no_evidence()
        exact = Exact().step(graph, given, Exact().init(graph, given))
        gbp = GeneralizedBP(method=method)
        outcome = run(gbp, graph, given, Limits(iterations=400))
        error = distance(
            graph, gbp.beliefs(graph, given, outcome.state), graph.unpack(Exact().beliefs(graph, given, exact))
        )
        assert not outcome.converged or error < 0.1


@pytest.mark.parametrize("seed", range(2))
def test_trw_settles_on_strong_graphs_with_its_defaults(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = grid_edges(5, 5)
    graph = FactorGraph.ising(edges, 3 * rng.normal(size=len(edges)), rng.normal(size=25))
    outcome = run(TreeReweighted(), graph, graph.no_evidence(), Limits(iterations=1000))
    assert outcome.converged
    bound = TreeReweighted().log_partition(graph, graph.no_evidence(), outcome.state)
    assert bound.kind == "upper_bound"
    assert bound.value is not None
    assert bound.value >= exact_log_partition(graph) - 1e-6
    plain = run(TreeReweighted(memory=0), graph, graph.no_evidence(), Limits(iterations=outcome.state.iteration))
    assert plain.residuals[-1] > 100 * outcome.residuals[-1]


def test_an_optimiser_is_not_converged_while_its_potentials_are_softened() -> None:
    """A strong field: beliefs stand still at once, and the plan has hardly begun."""
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0)], [50.0, 50.0, -50.0], [40.0, 10.0, 5.0])
    outcome = run(RegionEnergyNetwork(), graph, graph.no_evidence(), Limits(iterations=60, tolerance=0.5))
    assert not outcome.converged
    assert any("planned" in notice for notice in outcome.notices)


# 7: log Z and assignments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm", [BeliefPropagation(), AlphaBP(), TreeReweighted(), BeliefPropagation(damping=0.5)]
)
def test_log_z_is_null_or_within_what_the_potentials_can_give(algorithm: Algorithm) -> None:
    for seed in range(12):
        cards, factors = random_factors(seed, variables=8, factors=16, order=2, zeros=0.3, strength=5.0)
        truth = enumerate_all(cards, factors)
        if math.isinf(truth.log_z):
            continue
        graph = FactorGraph.from_factors(cards, factors)
        for iterations in (1, 5, 60):
            outcome = run(algorithm, graph, graph.no_evidence(), Limits(iterations=iterations))
            value = algorithm.log_partition(graph, graph.no_evidence(), outcome.state).value
            assert value is None or abs(value - truth.log_z) < 200
            if value is None:
                assert not outcome.converged


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_max_product_decodes_what_is_possible(damping: float) -> None:
    decoded = 0
    for seed in range(25):
        cards, factors = random_factors(seed, variables=7, factors=10, zeros=0.35, strength=2.0)
        truth = enumerate_all(cards, factors)
        if math.isinf(truth.log_z):
            continue
        graph = FactorGraph.from_factors(cards, factors)
        bp = BeliefPropagation(temperature=0.0, damping=damping)
        found = answer(bp, graph, graph.no_evidence(), Limits(iterations=50))
        assert found["assignment"] is not None
        assert found["map_score"] is not None
        decoded += 1
    assert decoded > 3
