"""Join graphs and `auto` against enumeration: exact where nothing is split, honest where something is."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.join import auto, budget, orders, stages
from mrfstudio.engine.inference.join.auto import Auto, hellinger, plan
from mrfstudio.engine.inference.join.orders import along, best_order
from mrfstudio.engine.inference.join.propagation import JoinGraph, layout_of
from mrfstudio.engine.inference.join.reduction import reduced
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors

WHOLE = JoinGraph(bits=20.0)


def marginals(graph: FactorGraph, algorithm: object, evidence: dict[int, int] | None = None) -> list[np.ndarray]:
    given = graph.evidence(evidence or {})
    outcome = run(algorithm, graph, given, Limits(iterations=200))  # type: ignore[arg-type]
    return graph.unpack(algorithm.beliefs(graph, given, outcome.state))  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", GRAPHS)
@pytest.mark.parametrize("zeros", [0.0, 0.25])
def test_a_join_tree_is_exact(seed: int, zeros: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros)
    evidence = {0: 0} if seed % 3 == 0 else {}
    truth = enumerate_all(cards, factors, evidence)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence(evidence)
    if math.isinf(truth.log_z):
        with pytest.raises(ContradictoryEvidence):
            run(WHOLE, graph, given)
        return
    outcome = run(WHOLE, graph, given)
    assert outcome.converged
    for found, right in zip(graph.unpack(WHOLE.beliefs(graph, given, outcome.state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-10)
    log_z = WHOLE.log_partition(graph, given, outcome.state)
    assert (log_z.value, log_z.kind) == (pytest.approx(truth.log_z, abs=1e-8), "exact")
    for group, beliefs in zip(graph.groups, WHOLE.factor_beliefs(graph, given, outcome.state), strict=True):
        for place, scope in enumerate(group.scopes.t().tolist()):
            np.testing.assert_allclose(beliefs[..., place], truth.over(tuple(scope)), atol=1e-10)


@pytest.mark.parametrize("strength", [300.0, 900.0])
def test_potentials_that_no_number_holds_side_by_side_are_summed_in_logarithms(strength: float) -> None:
    for seed in range(6):
        cards, factors = random_factors(seed, strength=strength)
        truth = enumerate_all(cards, factors)
        graph = FactorGraph.from_factors(cards, factors)
        given = graph.no_evidence()
        outcome = run(WHOLE, graph, given)
        for found, right in zip(graph.unpack(WHOLE.beliefs(graph, given, outcome.state)), truth.marginals, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-8)


def test_two_that_must_be_equal_and_disagree_by_eight_hundred_nats() -> None:
    equal = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    graph = FactorGraph.from_factors([2, 2], [((0,), [0.0, -800.0]), ((1,), [-800.0, 0.0]), ((0, 1), equal)])
    np.testing.assert_allclose(np.array(marginals(graph, WHOLE)), 0.5, atol=1e-9)


def test_contradictions_on_a_loop_are_found_when_the_loop_is_in_one_cluster() -> None:
    differ = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), differ), ((1, 2), differ), ((0, 2), differ)])
    with pytest.raises(ContradictoryEvidence):
        run(WHOLE, graph, graph.no_evidence())


def test_small_clusters_are_nearer_to_the_truth_than_belief_propagation() -> None:
    errors: dict[str, list[float]] = {"bp": [], "join-graph": []}
    for seed in range(6):
        graph = ising_grid(5, 5, coupling=0.7, field=0.3, seed=seed)
        right = np.array(marginals(graph, Exact()))
        for algorithm in (BeliefPropagation(damping=0.3), JoinGraph(bits=5.0)):
            found = np.array(marginals(graph, algorithm))
            errors[algorithm.name].append(float(np.abs(found - right).mean()))
    assert np.mean(errors["join-graph"]) < 0.5 * np.mean(errors["bp"])


def test_no_cluster_is_larger_than_asked_unless_a_factor_is() -> None:
    graph = ising_grid(6, 6, seed=1)
    for bits in (2.0, 4.0, 6.0):
        layout = layout_of(graph, graph.no_evidence(), JoinGraph(bits=bits))
        assert max(math.prod(axes.shape) for axes in layout.axes) <= 2**bits
        assert not layout.clusters.tree


def test_every_variable_reaches_each_cluster_that_has_it_on_one_way_only() -> None:
    graph = ising_grid(5, 6, seed=2)
    clusters = layout_of(graph, graph.no_evidence(), JoinGraph(bits=4.0)).clusters
    for v in range(graph.variables):
        holders = {cluster for cluster, scope in enumerate(clusters.scopes) if v in scope}
        edges = [(one, other) for one, other, shared in clusters.edges if v in shared]
        assert len(edges) == len(holders) - 1  # with that many edges, connected is a tree
        reached = {min(holders)}
        for _ in holders:
            reached |= {end for edge in edges if reached & set(edge) for end in edge}
        assert reached == holders


def test_evidence_and_zeros_leave_only_what_is_undecided() -> None:
    equal = np.where(np.eye(3, dtype=bool), 0.0, -np.inf)
    graph = FactorGraph.from_factors([3, 3, 3], [((0, 1), equal), ((1, 2), np.arange(9.0).reshape(3, 3))])
    left = reduced(graph, graph.evidence({0: 2}))
    assert list(left.unary) == [2]
    np.testing.assert_allclose(left.unary[2], [6.0, 7.0, 8.0])


def test_an_order_covers_every_variable_and_draws_are_no_worse_than_bands() -> None:
    problem = reduced(graph := ising_grid(11, 11, seed=0), graph.no_evidence())
    found = best_order(problem)
    assert sorted(found.variables) == sorted(problem.unary)
    rows = along(problem, sorted(problem.unary), math.inf)
    assert rows is not None
    assert along(problem, found.variables, math.inf) == found
    assert found.entries <= rows.entries


def test_an_order_weighs_variables_by_their_states() -> None:
    """A ring of two and eight states in turn: whoever goes joins two others, and it should be two small ones."""
    cards = [2, 8] * 20
    ring = [((v, (v + 1) % 40), np.zeros((cards[v], cards[(v + 1) % 40]))) for v in range(40)]
    graph = FactorGraph.from_factors(cards, ring)
    problem = reduced(graph, graph.no_evidence())
    search = orders._Search(problem, random.Random(0))
    search.begin()
    search.draw("plain", 0.0)
    assert search.best is not None
    assert best_order(problem).entries < 0.6 * search.best.entries


def test_costs_that_are_lowered_are_those_that_counting_again_gives() -> None:
    rng = np.random.default_rng(3)
    cards = [int(k) for k in rng.integers(2, 5, 40)]
    scopes = {tuple(sorted(rng.choice(40, 2, replace=False).tolist())) for _ in range(110)}
    graph = FactorGraph.from_factors(cards, [(s, np.zeros([cards[v] for v in s])) for s in sorted(scopes)])
    search = orders._Search(reduced(graph, graph.no_evidence()), random.Random(0))
    near = list(search.near)
    costs = {v: search.fill(near, v) for v in range(len(near))}
    changed: set[int] = set()
    for v in range(12):
        changed |= search._spare(near, v, search.bits, costs)
        for x in orders._join(near, v):
            costs[x] = search.fill(near, x)
        for x in range(v + 1, len(near)):
            assert costs[x] == pytest.approx(search.fill(near, x)), (v, x)
    assert changed


def test_orders_get_better_with_effort() -> None:
    problem = reduced(graph := ising_grid(14, 14, seed=0), graph.no_evidence())
    found = [best_order(problem, effort=effort).entries for effort in (0.1, 20.0)]
    assert found[1] <= found[0]


@pytest.mark.parametrize("seed", range(6))
def test_one_sweep_through_a_join_tree_is_all_it_takes(seed: int) -> None:
    """Also where clusters were merged, and where small messages meet before they reach a large one."""
    rng = np.random.default_rng(seed)
    cards = [int(k) for k in rng.integers(2, 5, 30)]
    scopes = {tuple(sorted(rng.choice(30, 2, replace=False).tolist())) for _ in range(40)}
    scopes |= {(0, other) for other in range(1, 30)}
    graph = FactorGraph.from_factors(cards, [(s, rng.normal(size=[cards[v] for v in s])) for s in sorted(scopes)])
    layout = layout_of(graph, graph.no_evidence(), JoinGraph(bits=34.0, seed=seed))
    assert layout.clusters.tree
    once = layout.silent()
    layout.sweep(once, 0.0)
    twice = once.copy()
    layout.sweep(twice, 0.0)
    np.testing.assert_allclose(once, twice, atol=1e-9)


# Auto -----------------------------------------------------------------------------------------------------------------


def test_auto_is_exact_where_that_fits_and_says_so() -> None:
    graph = ising_grid(6, 6, coupling=1.0, seed=3)
    given = graph.no_evidence()
    chosen = Auto(seconds=20.0)
    outcome = run(chosen, graph, given)
    assert outcome.converged
    np.testing.assert_allclose(
        chosen.beliefs(graph, given, outcome.state),
        Exact().beliefs(graph, given, run(Exact(), graph, given).state),
        atol=1e-9,
    )
    assert chosen.log_partition(graph, given, outcome.state).kind == "exact"
    assert outcome.state.error == 0.0  # type: ignore[attr-defined]
    assert "fits" in outcome.state.picked  # type: ignore[attr-defined]


def test_auto_has_nothing_in_front_of_an_exact_stage_that_is_not_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "QUICK", 0.0)
    chain = ising_grid(1, 200, seed=3)
    assert [stage.exact for stage in plan(Auto(), chain, chain.no_evidence())] == [True]
    dense = ising_grid(20, 20, seed=3)
    assert [stage.exact for stage in plan(Auto(), dense, dense.no_evidence())][-2:] == [False, True]


def test_auto_grows_clusters_where_nothing_exact_fits_and_estimates_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    graph = ising_grid(13, 13, coupling=0.5, field=0.2, seed=5)
    given = graph.no_evidence()
    chosen = Auto(seconds=20.0)
    assert [stage.algorithm.bits for stage in plan(chosen, graph, given)] == [8.0, 11.0]  # type: ignore[attr-defined]
    outcome = run(chosen, graph, given)
    swing = outcome.state.swing  # type: ignore[attr-defined]
    assert outcome.ending == "end of the plan"  # ten iterations of the last clusters: nearly at rest, and not called so
    assert auto.SETTLED < swing < 1e-5
    assert outcome.residuals[-1] == pytest.approx(swing)
    right = Exact().beliefs(graph, given, run(Exact(), graph, given).state)
    error = hellinger(graph, chosen.beliefs(graph, given, outcome.state), right)
    assert error < 0.02
    assert 0 < outcome.state.error < 0.1  # type: ignore[attr-defined]
    assert chosen.log_partition(graph, given, outcome.state).kind == "estimate"


@pytest.mark.parametrize("observed", [{}, {8: 2}])
def test_beliefs_of_many_factors_in_one_large_cluster(observed: dict[int, int]) -> None:
    """Eleven variables of two and three states, every pair and some triples: sums to 60 sets of axes of one table."""
    draw = np.random.default_rng(5)
    cards = [2] * 8 + [3] * 3
    scopes: list[tuple[int, ...]] = list(itertools.combinations(range(11), 2))
    scopes += [(0, 4, 9), (10, 3, 1), (5, 6, 7)]
    factors = [(scope, draw.normal(0, 0.7, [cards[v] for v in scope])) for scope in scopes]
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence(observed)
    chosen, right = JoinGraph(bits=16.0), Exact()
    state = chosen.step(graph, given, chosen.init(graph, given))
    exact = run(right, graph, given).state
    torch.testing.assert_close(
        chosen.beliefs(graph, given, state), right.beliefs(graph, given, exact), atol=1e-10, rtol=0
    )
    mine, theirs = chosen.factor_beliefs(graph, given, state), right.factor_beliefs(graph, given, exact)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)
