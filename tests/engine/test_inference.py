"""Every registered algorithm against enumeration."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import Algorithm, Unsupported, kernels
from mrfstudio.engine.inference.exact import Exact, elimination_bytes
from mrfstudio.engine.inference.gibbs import Gibbs
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.ising import ising_grid
from mrfstudio.engine.models.possible import possible_states
from mrfstudio.engine.registry import ALGORITHMS
from tests.engine.graphs import distance, enumerate_all, random_factors, random_tree

PEERS = Path(__file__).parents[3] / "shared" / "peer_tests" / "libdai"
GRAPHS = range(30)


def observed_state(cards: list[int], truth_joint: np.ndarray, seed: int) -> dict[int, int]:
    """Evidence on one variable at a state that has some probability."""
    variable = seed % len(cards)
    marginal = truth_joint.sum(tuple(j for j in range(len(cards)) if j != variable))
    return {variable: int(marginal.argmax())}


# exact ----------------------------------------------------------------------------------------------------------------


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


# belief propagation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
@pytest.mark.parametrize("zeros", [0.0, 0.25])
@pytest.mark.parametrize("seed", range(15))
def test_bp_is_exact_on_trees(seed: int, zeros: float, schedule: str) -> None:
    cards, factors = random_tree(seed, zeros=zeros)
    free = enumerate_all(cards, factors)
    evidence = observed_state(cards, free.joint, seed)
    truth = enumerate_all(cards, factors, evidence)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence(evidence)
    bp = BeliefPropagation(schedule=schedule)
    outcome = run(bp, graph, given, Limits(tolerance=1e-13))
    assert outcome.converged
    assert distance(graph, bp.beliefs(graph, given, outcome.state), truth.marginals) < 1e-9
    assert bp.log_partition(graph, given, outcome.state).value == pytest.approx(truth.log_z, abs=1e-9)
    for group, tables in zip(graph.groups, bp.factor_beliefs(graph, given, outcome.state), strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            np.testing.assert_allclose(tables[..., number].numpy(), truth.over(tuple(scope)), atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_max_product_finds_the_most_probable_assignment_of_a_tree(seed: int) -> None:
    cards, factors = random_tree(seed)
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    bp = BeliefPropagation(temperature=0)
    outcome = run(bp, graph, graph.no_evidence())
    beliefs = bp.beliefs(graph, graph.no_evidence(), outcome.state)
    best = np.unravel_index(truth.joint.argmax(), truth.joint.shape)
    np.testing.assert_array_equal(graph.packing.argmax(beliefs).numpy(), best)
    for variable, belief in enumerate(graph.unpack(beliefs)):
        others = tuple(j for j in range(len(cards)) if j != variable)
        max_marginal = truth.joint.max(others)
        np.testing.assert_allclose(belief, max_marginal / max_marginal.sum(), atol=1e-9)


def all_messages(bp: BeliefPropagation, graph: FactorGraph, evidence: Evidence, steps: int) -> list[torch.Tensor]:
    state, seen = bp.init(graph, evidence), []
    for _ in range(steps):
        state = bp.step(graph, evidence, state)
        seen.append(bp.beliefs(graph, evidence, state))
    return seen


@pytest.mark.parametrize("temperature", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("coupling", [1.0, 5.0])  # 5 leaves the range where one exponential serves both states
def test_the_binary_kernel_equals_the_generic_one_at_every_iteration(
    temperature: float, damping: float, dtype: torch.dtype, coupling: float
) -> None:
    graph = ising_grid(5, 4, seed=1, coupling=coupling, dtype=dtype)
    evidence = graph.evidence({3: 1, 10: 0})
    fast = BeliefPropagation(temperature=temperature, damping=damping)
    slow = fast.replace(kernel="generic")
    assert len(kernels(fast, graph)) == 2
    assert len(kernels(slow, graph)) == 1
    for a, b in zip(all_messages(fast, graph, evidence, 12), all_messages(slow, graph, evidence, 12), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5 if dtype == torch.float32 else 1e-11, rtol=0)
    state = run(fast, graph, evidence, Limits(iterations=12)).state
    other = run(slow, graph, evidence, Limits(iterations=12)).state
    assert fast.residual(state) == pytest.approx(slow.residual(other), abs=1e-5)
    if temperature == 1.0:
        value = fast.log_partition(graph, evidence, state).value
        assert value == pytest.approx(slow.log_partition(graph, evidence, other).value, rel=1e-5)


@pytest.mark.parametrize("strength", [0.5, 30.0, 300.0])
def test_linear_and_logarithmic_sums_agree(strength: float) -> None:
    cards, factors = random_factors(4, strength=strength)
    graph = FactorGraph.from_factors(cards, factors, dtype=torch.float64)
    in_32 = graph.to(dtype=torch.float32)  # strong tables leave the linear domain in 32 bits first
    bp = BeliefPropagation()
    wide = all_messages(bp, graph, graph.no_evidence(), 6)
    narrow = all_messages(bp, in_32, in_32.no_evidence(), 6)
    for a, b in zip(wide, narrow, strict=True):
        assert bool(torch.isfinite(b).all())
        torch.testing.assert_close(a.float(), b, atol=2e-4, rtol=0)


def test_low_temperature_tends_to_max_product() -> None:
    graph = ising_grid(4, 4, seed=5)
    evidence = graph.no_evidence()
    cold = all_messages(BeliefPropagation(temperature=1e-4), graph, evidence, 10)[-1]
    zero = all_messages(BeliefPropagation(temperature=0), graph, evidence, 10)[-1]
    torch.testing.assert_close(cold, zero, atol=1e-3, rtol=0)


def test_batched_evidence_equals_single_evidence() -> None:
    cards, factors = random_factors(8)
    graph = FactorGraph.from_factors(cards, factors)
    rows = torch.randn(3, graph.packing.size, dtype=torch.float64)
    bp = BeliefPropagation()
    together = all_messages(bp, graph, Evidence(rows), 5)[-1]
    for row, beliefs in zip(rows, together, strict=True):
        torch.testing.assert_close(all_messages(bp, graph, Evidence(row), 5)[-1], beliefs)


def test_gradients_flow_through_unrolled_steps() -> None:
    cards, factors = random_factors(9, zeros=0.0)
    graph = FactorGraph.from_factors(cards, factors)
    bp = BeliefPropagation(damping=0.2)

    def unrolled(potentials: torch.Tensor) -> torch.Tensor:
        return all_messages(bp, graph, Evidence(potentials), 3)[-1]

    start = torch.randn(graph.packing.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unrolled, (start,))


def test_damping_reaches_the_same_fixed_point() -> None:
    graph = ising_grid(4, 4, seed=2, coupling=0.5)
    given = graph.no_evidence()
    ends = []
    for bp in (BeliefPropagation(), BeliefPropagation(damping=0.5), BeliefPropagation(schedule="sequential")):
        outcome = run(bp, graph, given, Limits(tolerance=1e-12))
        assert outcome.converged
        ends.append(bp.beliefs(graph, given, outcome.state))
    torch.testing.assert_close(ends[0], ends[1], atol=1e-9, rtol=0)
    torch.testing.assert_close(ends[0], ends[2], atol=1e-9, rtol=0)


def test_step_has_no_side_effects() -> None:
    graph = ising_grid(4, 4, seed=3)
    evidence = graph.evidence({0: 1})
    for bp in (
        BeliefPropagation(damping=0.1),
        BeliefPropagation(kernel="generic"),
        MeanField(),
        Gibbs(chains=4, burn_in=0),
    ):
        start = bp.step(graph, evidence, bp.init(graph, evidence))
        first = bp.beliefs(graph, evidence, bp.step(graph, evidence, start))
        again = bp.beliefs(graph, evidence, bp.step(graph, evidence, start))
        assert torch.equal(first, again), bp.name


# mean field -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("seed", GRAPHS)
def test_mean_field_is_a_lower_bound_that_never_falls(seed: int, zeros: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros)
    truth = enumerate_all(cards, factors)
    if math.isinf(truth.log_z):
        return
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    mean_field = MeanField()
    state, bounds = mean_field.init(graph, given), []
    for _ in range(20):
        bounds.append(mean_field.log_partition(graph, given, state).value)
        state = mean_field.step(graph, given, state)
    assert max(bounds) <= truth.log_z + 1e-9
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(bounds))
    assert mean_field.log_partition(graph, given, state).kind == "lower_bound"


def test_mean_field_is_exact_without_interactions() -> None:
    rng = np.random.default_rng(0)
    cards = [2, 3, 4]
    factors = [((v,), rng.normal(size=k)) for v, k in enumerate(cards)]
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    outcome = run(MeanField(), graph, graph.no_evidence())
    assert MeanField().log_partition(graph, graph.no_evidence(), outcome.state).value == pytest.approx(truth.log_z)


def test_mean_field_factor_beliefs_are_products() -> None:
    cards, factors = random_factors(2)
    graph = FactorGraph.from_factors(cards, factors)
    mean_field, given = MeanField(), graph.no_evidence()
    state = run(mean_field, graph, given, Limits(iterations=3)).state
    singles = graph.unpack(mean_field.beliefs(graph, given, state))
    for group, tables in zip(graph.groups, mean_field.factor_beliefs(graph, given, state), strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            product = np.ones(())
            for variable in scope:
                product = np.multiply.outer(product, singles[variable])
            np.testing.assert_allclose(tables[..., number].numpy(), product, atol=1e-12)


# sampling -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
def test_samples_agree_with_enumeration_within_their_error_bars(sampler: str) -> None:
    cards, factors = random_factors(5)
    truth = enumerate_all(cards, factors, {1: 0})
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence({1: 0})
    gibbs = Gibbs(chains=400, burn_in=30, sampler=sampler)
    outcome = run(gibbs, graph, given, Limits(iterations=230, tolerance=0))
    error = gibbs.residual(outcome.state)
    assert 0 < error < 0.01
    assert distance(graph, gibbs.beliefs(graph, given, outcome.state), truth.marginals) < 4 * error


def test_the_same_seed_gives_the_same_samples() -> None:
    graph = ising_grid(3, 3, seed=0)
    one, two, other = Gibbs(seed=1), Gibbs(seed=1), Gibbs(seed=2)
    ends = [
        run(g, graph, graph.no_evidence(), Limits(iterations=5, tolerance=0)).state.chains for g in (one, two, other)
    ]
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def test_chains_leave_an_impossible_start() -> None:
    parity = np.where(np.indices((2, 2, 2)).sum(0) % 2 == 0, 0.0, -np.inf)
    graph = FactorGraph.from_factors([2] * 5, [((0, 1, 2), parity), ((2, 3, 4), parity)])
    gibbs = Gibbs(chains=200, burn_in=20)
    state = run(gibbs, graph, graph.no_evidence(), Limits(iterations=30, tolerance=0)).state
    assert all(math.isfinite(graph.score(chain.tolist())) for chain in state.chains)


# all of them ----------------------------------------------------------------------------------------------------------


def every_algorithm() -> list[Algorithm]:
    return [cls() for cls in ALGORITHMS]  # type: ignore[misc]


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


@pytest.mark.parametrize("algorithm", every_algorithm(), ids=lambda a: a.name)
def test_hard_evidence_is_obeyed_by_every_algorithm(algorithm: Algorithm) -> None:
    graph = ising_grid(3, 3, seed=7)
    given = graph.evidence({4: 1, 0: 0})
    if algorithm.supports(graph) is not None:
        pytest.skip("refuses this graph")
    outcome = run(algorithm, graph, given, Limits(iterations=120))
    marginals = graph.unpack(algorithm.beliefs(graph, given, outcome.state))
    np.testing.assert_allclose(marginals[4], [0, 1], atol=1e-12)
    np.testing.assert_allclose(marginals[0], [1, 0], atol=1e-12)


@pytest.mark.parametrize("algorithm", every_algorithm(), ids=lambda a: a.name)
def test_contradictory_evidence_names_a_node(algorithm: Algorithm) -> None:
    equal = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), equal), ((1, 2), equal)])
    if algorithm.supports(graph) is not None:
        pytest.skip("refuses this graph")
    with pytest.raises(ContradictoryEvidence, match="node"):
        run(algorithm, graph, graph.evidence({0: 0, 2: 1}))


@pytest.mark.parametrize("seed", GRAPHS)
def test_possible_states_are_those_of_some_probability_on_trees_and_include_them_on_others(seed: int) -> None:
    for (cards, factors), is_tree in ((random_tree(seed, zeros=0.4), True), (random_factors(seed, zeros=0.2), False)):
        graph = FactorGraph.from_factors(cards, factors)
        truth = enumerate_all(cards, factors)
        alive = graph.unpack(possible_states(graph, graph.unary).double())
        for vector, marginal in zip(alive, truth.marginals, strict=True):
            some = np.zeros(len(vector), bool) if math.isinf(truth.log_z) else marginal > 0
            assert (vector > 0)[some].all()
            if is_tree:
                assert (vector > 0).tolist() == some.tolist()


@pytest.mark.parametrize("seed", GRAPHS)
def test_bp_gives_no_nan_on_loopy_graphs_with_zeros(seed: int) -> None:
    cards, factors = random_factors(seed, variables=7, factors=12, zeros=0.2)
    graph = FactorGraph.from_factors(cards, factors)
    bp = BeliefPropagation(damping=0.2)
    try:
        outcome = run(bp, graph, graph.no_evidence(), Limits(iterations=50))
    except ContradictoryEvidence:
        assert math.isinf(enumerate_all(cards, factors).log_z)
        return
    assert outcome.ending != "not finite"
    assert bool(torch.isfinite(bp.beliefs(graph, graph.no_evidence(), outcome.state)).all())


@pytest.mark.parametrize("name", ["alarm", "hoi1", "hoi2", "hoi3", "hoi4", "testfast", "twofactors"])
def test_a_peer_gives_the_same_answers(name: str) -> None:
    if not PEERS.exists():
        pytest.skip("the peer's graphs are not beside this checkout")
    from mrfstudio.engine.files.fg import read_fg

    graph = read_fg(PEERS / f"{name}.fg")
    peer = json.loads((PEERS / f"{name}.json").read_text())
    given = graph.no_evidence()
    assert list(graph.labels) == peer["labels"]
    exact = run(Exact(), graph, given).state
    assert Exact().log_partition(graph, given, exact).value == pytest.approx(peer["logz"], abs=1e-6)
    assert distance(graph, Exact().beliefs(graph, given, exact), [np.array(v) for v in peer["exact"]]) < 1e-6
    bp = BeliefPropagation(schedule="sequential")
    outcome = run(bp, graph, given, Limits(iterations=5000, tolerance=1e-12))
    assert outcome.converged
    assert distance(graph, bp.beliefs(graph, given, outcome.state), [np.array(v) for v in peer["bp"]]) < 1e-6
    assert bp.log_partition(graph, given, outcome.state).value == pytest.approx(peer["bp_logz"], abs=1e-6)
