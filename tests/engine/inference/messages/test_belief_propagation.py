"""Belief propagation against enumeration, and its kernels against each other."""

import json
import math

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import kernels
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from tests.engine.helpers.graphs import GRAPHS, distance, enumerate_all, observed_state, random_factors, random_tree
from tests.places import SHARED

PEERS = SHARED / "peer_tests" / "libdai"


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


@pytest.mark.skipif(not PEERS.exists(), reason="the answers of libDAI are not beside this checkout")
@pytest.mark.parametrize("name", ["alarm", "hoi1", "hoi2", "hoi3", "hoi4", "testfast", "twofactors"])
def test_a_peer_gives_the_same_answers(name: str) -> None:
    from mrfstudio.engine.files.graphs.fg import read_fg

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
