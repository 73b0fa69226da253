"""Generalized belief propagation against enumeration, and the double loop against its messages."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.graphs.uai import write_uai
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import IsingGraph, ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP, double_loop, pass_messages
from mrfstudio.engine.inference.regions.on_regions import region_potentials
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.run import Limits, Outcome, run
from mrfstudio.engine.tasks.infer import infer_file
from tests.engine.helpers.graphs import (
    Factors,
    Truth,
    distance,
    enumerate_all,
    ising_factors,
    random_factors,
    random_tree,
)

METHODS = ("messages", "double-loop")


def chain_of_cliques(seed: int) -> tuple[list[int], Factors]:
    """Triangles in a row, each sharing an edge with the next, factors of order 2 and 3, mixed states: the regions of
    its cycles are a junction tree.
    """
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, 7).tolist()
    scopes = [(v,) for v in range(7)] + [(a, b) for a in range(7) for b in (a + 1, a + 2) if b < 7] + [(4, 2, 3)]
    return cards, [(scope, rng.normal(size=[cards[v] for v in scope])) for scope in scopes]


def settled(gbp: GeneralizedBP, graph: FactorGraph, given: Evidence, tolerance: float = 1e-11) -> Outcome:
    outcome = run(gbp, graph, given, Limits(iterations=3000, tolerance=tolerance))
    assert outcome.converged
    return outcome


def assert_exact(gbp: GeneralizedBP, graph: FactorGraph, given: Evidence, truth: Truth) -> None:
    state = settled(gbp, graph, given).state
    assert distance(graph, gbp.beliefs(graph, given, state), truth.marginals) < 1e-8
    found = gbp.log_partition(graph, given, state)
    assert found.value == pytest.approx(truth.log_z, abs=1e-8)
    assert found.kind == "estimate"
    for group, tables in zip(graph.groups, gbp.factor_beliefs(graph, given, state), strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            np.testing.assert_allclose(tables[..., number].numpy(), truth.over(tuple(scope)), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_exact_on_junction_trees(seed: int, method: str) -> None:
    cards, factors = chain_of_cliques(seed)
    graph = FactorGraph.from_factors(cards, factors)
    gbp = GeneralizedBP(method=method)
    assert len(gbp.tables(graph).regions.roots) == 5
    assert_exact(gbp, graph, graph.evidence({3: 1}), enumerate_all(cards, factors, {3: 1}))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_exact_on_trees_of_factors(seed: int, method: str) -> None:
    cards, factors = random_tree(seed, zeros=0.2 if seed else 0.0)
    graph = FactorGraph.from_factors(cards, factors)
    assert_exact(GeneralizedBP(method=method), graph, graph.no_evidence(), enumerate_all(cards, factors))


def test_the_double_loop_does_not_go_on_from_messages_that_swing() -> None:
    graph = ising_grid(4, 4, coupling=1.5, seed=0)
    given = graph.no_evidence()
    swinging = run(GeneralizedBP(method="messages"), graph, given, Limits(iterations=60, tolerance=0)).state
    loop = GeneralizedBP()
    state, fresh = loop.step(graph, given, swinging), loop.step(graph, given, loop.init(graph, given))
    torch.testing.assert_close(loop.beliefs(graph, given, state), loop.beliefs(graph, given, fresh))


def test_triangles_through_one_node_are_belief_propagation_given_that_node() -> None:
    """Z of the regions = Σ over x_0 of Bethe's Z given x_0: what complete graphs of 16 can hope for."""
    rng = np.random.default_rng(0)
    edges = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    graph = FactorGraph.ising(edges, 0.3 * rng.normal(size=15), 0.5 * rng.normal(size=6))
    limits = Limits(iterations=1000, tolerance=1e-10)
    given = [graph.evidence({0: state}) for state in (0, 1)]
    bethe = [
        BeliefPropagation().log_partition(graph, g, run(BeliefPropagation(), graph, g, limits).state) for g in given
    ]
    regions = run(GeneralizedBP(), graph, graph.no_evidence(), limits)
    found = GeneralizedBP().log_partition(graph, graph.no_evidence(), regions.state).value
    assert found == pytest.approx(np.logaddexp(bethe[0].value, bethe[1].value), abs=1e-6)


def test_one_region_around_everything_is_exact() -> None:
    graph = ising_grid(2, 4, seed=2)
    truth = enumerate_all(*ising_factors(graph))
    assert_exact(GeneralizedBP(outer_face=True), graph, graph.no_evidence(), truth)


def consistency_matrix(tables: RegionTables) -> np.ndarray:
    """Linear constraints on all region beliefs: parents agree with children, everything sums to 1."""
    rows = []
    for parent, child in tables.regions.edges.tolist():
        for entry, members in enumerate(tables.entries_within(tables.regions.regions[child], parent)):
            row = np.zeros(tables.size)
            row[members] = 1.0
            row[tables.offsets[child] + entry] -= 1.0
            rows.append(row)
    for region, offset in enumerate(tables.offsets):
        row = np.zeros(tables.size)
        row[offset : offset + tables.sizes[region]] = 1.0
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("regions", ["cycles", "bethe"])
@pytest.mark.parametrize("method", METHODS)
def test_fixed_points_are_stationary_points_of_the_region_free_energy(method: str, regions: str) -> None:
    graph = ising_grid(3, 4, coupling=0.5, seed=4)
    given = graph.evidence({5: 1}) if method == "messages" else graph.no_evidence()
    gbp = GeneralizedBP(method=method, regions=regions)
    state = settled(gbp, graph, given).state
    tables = gbp.tables(graph)
    potentials = region_potentials(graph, tables, given)
    log_beliefs = state.log_beliefs
    gradient = (tables.counting * (log_beliefs + 1 - potentials)).numpy()
    constraints = consistency_matrix(tables)
    possible = log_beliefs.exp().numpy() > 0
    np.testing.assert_allclose(constraints[: -len(tables.sizes)] @ log_beliefs.exp().numpy(), 0, atol=1e-9)
    # Lagrange: where beliefs may move, the gradient lies in the span of the constraints.
    coefficients = np.linalg.lstsq(constraints[:, possible].T, gradient[possible], rcond=None)[0]
    np.testing.assert_allclose(constraints[:, possible].T @ coefficients, gradient[possible], atol=1e-7)


def test_the_quotient_of_beliefs_is_equation_4_2() -> None:
    """One undamped update of one message, from the sets N(P, R) and H(P, R) of Eq. 4.3 written out."""
    graph = ising_grid(3, 3, seed=1)
    gbp = GeneralizedBP(damping=0.0)
    tables = gbp.tables(graph)
    regions = tables.regions
    potentials = region_potentials(graph, tables, graph.no_evidence())
    generator = torch.Generator().manual_seed(0)
    old = tables.normalise_messages(torch.randn(tables.message_size, generator=generator, dtype=torch.float64))
    new, _ = pass_messages(tables, potentials, old, 0.0)
    below = regions.descendants
    edge = next(i for i, (_, child) in enumerate(tables.edges.tolist()) if regions.levels[child] == 1)
    parent, child = tables.edges[edge].tolist()
    members = regions.regions[parent]

    def on_parent(values: np.ndarray, scope: tuple[int, ...]) -> np.ndarray:
        shaped = values.reshape([2] * len(scope))
        return shaped[np.ix_(*[[0, 1]] * len(scope))].reshape([2 if v in scope else 1 for v in members])

    def message(number: int) -> np.ndarray:
        start = tables.message_offsets[number]
        target = int(tables.edges[number, 1])
        return on_parent(old[start : start + tables.sizes[target]].numpy(), regions.regions[target])

    total = np.zeros([2] * len(members))
    for variable in set(members) - set(regions.regions[child]):
        total = total + on_parent(graph.unpack(graph.unary)[variable], (variable,))
    scopes = graph.groups[0].scopes.T.tolist()
    for factor in set(regions.factors[parent]) - set(regions.factors[child]):
        total = total + on_parent(graph.groups[0].tables[..., factor].numpy(), tuple(scopes[factor]))
    divisor = np.zeros([1] * len(members))
    for number, (source, target) in enumerate(tables.edges.tolist()):
        if target in below[parent] - below[child] and source not in below[parent]:
            total = total + message(number)
        if target in below[child] and source in below[parent] - below[child] and number != edge:
            divisor = divisor + message(number)
    axes = tuple(i for i, v in enumerate(members) if v not in regions.regions[child])
    expected = (np.log(np.exp(total).sum(axes, keepdims=True)) - divisor).reshape(-1)
    start = tables.message_offsets[edge]
    np.testing.assert_allclose(new[start : start + 4].numpy(), expected - np.log(np.exp(expected).sum()), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_bethe_regions_give_belief_propagation(seed: int) -> None:
    graph = ising_grid(3, 4, seed=seed, coupling=0.4)
    given = graph.no_evidence()
    bp = BeliefPropagation()
    fixed = run(bp, graph, given, Limits(tolerance=1e-12)).state
    for method in METHODS:
        gbp = GeneralizedBP(regions="bethe", method=method)
        state = settled(gbp, graph, given).state
        torch.testing.assert_close(gbp.beliefs(graph, given, state), bp.beliefs(graph, given, fixed), atol=1e-8, rtol=0)
        expected = bp.log_partition(graph, given, fixed).value
        assert gbp.log_partition(graph, given, state).value == pytest.approx(expected, abs=1e-8)


def test_where_messages_fail_the_double_loop_settles_near_the_truth() -> None:
    """5×5 with J ~ N(0, 1) and weak fields, where damped messages swing for ever."""
    graph = ising_grid(5, 5, field=0.1, seed=0)
    given = graph.no_evidence()
    swinging = run(GeneralizedBP(method="messages"), graph, given, Limits(iterations=150))
    assert swinging.residuals[-1] > 1e-3
    gbp = GeneralizedBP(method="auto")
    state = settled(gbp, graph, given, tolerance=1e-8).state
    assert state.looping
    truth = run(Exact(), graph, given).state
    assert float((gbp.beliefs(graph, given, state) - truth.marginals).abs().mean()) < 1e-3
    assert gbp.log_partition(graph, given, state).value == pytest.approx(float(truth.log_z), abs=0.01)


def test_on_a_complete_graph_messages_run_off_and_the_double_loop_does_not() -> None:
    graph = IsingGraph(shape="complete", nodes=9, coupling=0.2, field=0.1, seed=0).make()
    given = graph.no_evidence()
    truth = run(Exact(), graph, given).state
    errors = {}
    for method in METHODS:
        gbp = GeneralizedBP(method=method)
        outcome = run(gbp, graph, given, Limits(iterations=1000, tolerance=1e-6))
        assert outcome.converged == (method != "messages")  # beliefs of 0 and 1 that messages still drive further
        errors[method] = float((gbp.beliefs(graph, given, outcome.state) - truth.marginals).abs().max())
    assert errors["double-loop"] < 0.01
    assert errors["messages"] > 0.1
    assert GeneralizedBP().method == "double-loop"


def test_a_converged_double_loop_is_a_fixed_point_of_the_messages() -> None:
    """Messages that reproduce its beliefs exist: found by least squares, they do not move."""
    graph = ising_grid(3, 3, seed=0)
    given = graph.no_evidence()
    gbp = GeneralizedBP(method="double-loop")
    state = settled(gbp, graph, given).state
    tables = gbp.tables(graph)
    potentials = region_potentials(graph, tables, given)
    columns = torch.eye(tables.message_size, dtype=torch.float64)
    matrix = tables.from_messages(columns).T.numpy()
    ones = np.zeros((tables.size, len(tables.sizes)))
    for region, offset in enumerate(tables.offsets):
        ones[offset : offset + tables.sizes[region], region] = 1.0
    wanted = (state.log_beliefs - potentials).numpy()
    solution = np.linalg.lstsq(np.hstack([matrix, ones]), wanted, rcond=None)[0]
    messages = torch.from_numpy(solution[: tables.message_size])
    np.testing.assert_allclose(
        tables.normalise(potentials + tables.from_messages(messages)).numpy(), state.log_beliefs.numpy(), atol=1e-7
    )
    assert float(pass_messages(tables, potentials, messages, 0.5)[1]) < 1e-7


def test_each_turn_of_the_double_loop_lowers_the_free_energy() -> None:
    """With the inner loop run to its end; the bound then touches the free energy at consistent beliefs."""
    graph = IsingGraph(shape="complete", nodes=6, coupling=1.0, field=0.3, seed=2).make()
    given = graph.no_evidence()
    gbp = GeneralizedBP(method="double-loop", inner=60)
    state, values = gbp.init(graph, given), []
    for _ in range(12):
        state = gbp.step(graph, given, state)
        values.append(gbp.log_partition(graph, given, state).value)
    assert values[-1] > values[0] + 0.01
    assert all(later >= earlier - 1e-7 for earlier, later in pairwise(values))


def test_batched_evidence_equals_single_evidence() -> None:
    cards, factors = random_factors(8)
    graph = FactorGraph.from_factors(cards, factors)
    rows = torch.randn(3, graph.packing.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for method in METHODS:
        gbp = GeneralizedBP(method=method)

        def after(given: Evidence, gbp: GeneralizedBP = gbp) -> torch.Tensor:
            return gbp.beliefs(graph, given, run(gbp, graph, given, Limits(iterations=6, tolerance=0)).state)

        together = after(Evidence(rows))
        for row, beliefs in zip(rows, together, strict=True):
            torch.testing.assert_close(after(Evidence(row)), beliefs)


def test_strong_couplings_stay_finite_in_32_bits() -> None:
    for method in METHODS:
        graph = IsingGraph(shape="complete", nodes=6, coupling=15.0, field=1.0, seed=0).make(torch.float32)
        gbp = GeneralizedBP(method=method)
        outcome = run(gbp, graph, graph.no_evidence(), Limits(iterations=60, tolerance=1e-6))
        assert outcome.ending != "not finite"
        assert bool(torch.isfinite(gbp.beliefs(graph, graph.no_evidence(), outcome.state)).all())
        assert math.isfinite(gbp.log_partition(graph, graph.no_evidence(), outcome.state).value or math.nan)


def test_infer_prints_an_estimate_and_the_consistency_residual(tmp_path: Path) -> None:
    write_uai(tmp_path / "graph.uai", ising_grid(3, 3, seed=0))
    for name in ("gbp", "bethe-net"):
        found = infer_file(tmp_path / "graph.uai", name, limits={"iterations": 30})
        assert found["log_partition_kind"] == "estimate"
        assert 0 <= found["consistency_residual"] <= found["residual"]


def test_a_graph_whose_regions_do_not_fit_is_refused_in_one_sentence() -> None:
    states = 2000
    graph = FactorGraph.from_factors([states] * 3, [])
    tables = np.zeros((states, states))
    large = FactorGraph.from_factors([states] * 3, [((0, 1), tables), ((1, 2), tables), ((0, 2), tables)])
    assert GeneralizedBP().supports(graph) is None
    reason = GeneralizedBP().supports(large)
    assert reason is not None
    assert "bp" in reason
    assert double_loop(GeneralizedBP().tables(graph)).size == 0
