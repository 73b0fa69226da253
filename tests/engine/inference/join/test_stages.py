"""What `auto` tries on graphs that are dense or large: an answer first, and nothing that does not fit into the time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.join import auto, budget, join_tree, orders, stages
from mrfstudio.engine.inference.join.auto import UNKNOWN, Auto, AutoState, expected_error, hellinger, plan
from mrfstudio.engine.inference.join.large_orders import smallest_first
from mrfstudio.engine.inference.join.orders import along, best_order
from mrfstudio.engine.inference.join.reduction import reduced
from mrfstudio.engine.inference.join.tables import MANY, Axes, contraction
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.runtime.interruption import followed


def complete_bipartite(side: int, coupling: float = 0.1) -> FactorGraph:
    draw = np.random.default_rng(side)
    ising = np.array([[1.0, -1.0], [-1.0, 1.0]])
    pairs = [((a, side + b), draw.normal(0, coupling) * ising) for a in range(side) for b in range(side)]
    fields = [((v,), draw.normal(0, 0.5, 2)) for v in range(2 * side)]
    return FactorGraph.from_factors([2] * (2 * side), [*fields, *pairs])


def test_a_complete_bipartite_graph_has_an_answer_before_clusters_are_tried() -> None:
    graph = complete_bipartite(90)
    found = plan(Auto(seconds=5.0), graph, graph.no_evidence())
    assert found[0].algorithm.name == "bp"
    assert not any(stage.exact for stage in found)
    assert sum(stage.whole for stage in found) < 2 * 5.0


def test_every_stage_of_a_plan_fits_into_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(budget, "RATE", 1e6)
    monkeypatch.setattr(stages, "RATE", 1e6)
    graph = ising_grid(12, 12, seed=2)
    found = plan(Auto(seconds=3.0), graph, graph.no_evidence())
    assert sum(stage.whole for stage in found[1:]) <= 3.0
    longer = plan(Auto(seconds=30.0), graph, graph.no_evidence())
    assert longer[-1].algorithm.bits > found[-1].algorithm.bits  # type: ignore[attr-defined]


def test_answers_that_come_no_nearer_to_each_other_are_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 14.0)
    monkeypatch.setattr(stages, "ALIKE", 0.0)
    graph = ising_grid(14, 14, seed=3, coupling=2.0)
    chosen, evidence = Auto(seconds=60.0), graph.no_evidence()
    state = chosen.init(graph, evidence)
    seen: list[AutoState] = []
    while state.stage != auto.DONE:
        state = chosen.step(graph, evidence, state)
        if not seen or state.source != seen[-1].source:
            seen.append(state)
    first, second, third = seen[-3:]
    assert torch.equal(second.answer, second.latest)
    share = 0.5 * min(third.moved / second.moved, 1.0)
    assert 0 < share <= 0.5
    assert torch.allclose(third.answer, (1 - share) * third.latest + share * second.answer)
    assert third.moved == pytest.approx(hellinger(graph, second.latest, third.latest))
    assert third.error >= hellinger(graph, first.answer, third.latest)


def test_sizes_that_take_as_long_as_the_one_before_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    graph = ising_grid(14, 14, seed=3)
    sizes = {}
    for alike in (0.0, 1.5):
        monkeypatch.setattr(stages, "ALIKE", alike)
        found = plan(Auto(seconds=10.0 + alike), graph, graph.no_evidence())
        sizes[alike] = [stage.algorithm.bits for stage in found if stage.algorithm.name == "join-graph"]  # type: ignore[attr-defined]
    assert sizes[0.0][:3] == [8.0, 11.0, 14.0]
    assert set(sizes[1.5]) < set(sizes[0.0])
    assert sizes[1.5][-1] == sizes[0.0][-1]


def test_the_same_clusters_twice_say_nothing_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    draw = np.random.default_rng(0)
    pairs = [((a, b), draw.normal(0, 1, (16, 16))) for a in range(4) for b in range(a)]
    graph = FactorGraph.from_factors([16] * 4, pairs)
    chosen = Auto(seconds=10.0)
    state = run(chosen, graph, graph.no_evidence(), Limits()).state
    assert isinstance(state, AutoState)
    assert state.error == UNKNOWN
    assert not chosen.decides(state)


def test_a_huge_factor_gives_belief_propagation_fewer_iterations() -> None:
    wide = FactorGraph.from_factors([2] * 16, [(tuple(range(16)), np.zeros((2,) * 16))])
    few, many = (stages.quick_stages(wide, seconds)[0].iterations for seconds in (0.01, 100.0))
    assert stages.ENOUGH <= few < many <= stages.ROUNDS


def test_an_answer_that_settled_is_not_given_up_for_one_that_swings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    graph = ising_grid(12, 12, coupling=0.7, field=0.2, seed=1)
    given = graph.no_evidence()
    usual = run(Auto(), graph, given, Limits(iterations=100)).state
    monkeypatch.setattr(auto, "CALM", math.inf)
    monkeypatch.setattr(auto, "WILD", -1.0)
    kept = run(Auto(), graph, given, Limits(iterations=100)).state
    assert isinstance(usual, AutoState)
    assert isinstance(kept, AutoState)
    assert "2^11" in usual.picked
    assert "2^8" in kept.picked
    assert kept.error == pytest.approx(hellinger(graph, kept.answer, usual.answer))


def test_auto_on_a_dense_graph_is_no_further_from_the_truth_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    graph = complete_bipartite(11, 0.3)
    given = graph.no_evidence()
    right = Exact().beliefs(graph, given, run(Exact(), graph, given).state)
    chosen = Auto(seconds=20.0)
    state = run(chosen, graph, given, Limits(iterations=300)).state
    assert isinstance(state, AutoState)
    assert 0 < hellinger(graph, chosen.beliefs(graph, given, state), right) <= state.error


@pytest.mark.parametrize("graph", [ising_grid(1, 40, seed=1), ising_grid(6, 7, seed=1), complete_bipartite(8)])
def test_the_quick_order_of_large_graphs_costs_what_it_says(
    graph: FactorGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = reduced(graph, graph.no_evidence())
    variables, width, entries = smallest_first(problem)
    found = along(problem, variables)
    assert found is not None
    assert found.width == pytest.approx(width)
    monkeypatch.setattr(orders, "LARGE", 0)
    assert best_order(problem).variables == tuple(variables)
    assert entries >= 2.0**width


def test_an_order_without_hope_still_has_every_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = complete_bipartite(12)
    problem = reduced(graph, graph.no_evidence())
    monkeypatch.setattr(orders, "HOPELESS", 6.0)
    found = best_order(problem)
    assert sorted(found.variables) == sorted(problem.unary)
    assert found.width > 6.0


@pytest.mark.parametrize("variables", [4, 11])
def test_sums_of_many_products_are_those_of_their_joint_table(variables: int) -> None:
    draw = np.random.default_rng(variables)
    axes = Axes((2,) * variables)
    pairs = [tuple(sorted(draw.choice(variables, 2, replace=False).tolist())) for _ in range(2 * MANY)]
    masks = [(1 << a) | (1 << b) for a, b in pairs]
    tables = [draw.random(axes.laid(mask)) for mask in masks]
    joint = np.ones((2,) * variables)
    for table in tables:
        joint = joint * table
    for kept in (0, 1, 0b1010):
        rest = tuple(axis for axis in range(variables) if not kept >> axis & 1)
        np.testing.assert_allclose(contraction(axes, masks, kept)(tables), joint.sum(rest), rtol=1e-10)


def test_a_large_graph_has_an_answer_before_anything_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LOOKING", 1.0)
    graph = ising_grid(6, 6, seed=3)
    given, chosen = graph.no_evidence(), Auto()
    found = auto.stages_of(chosen, graph, given)
    first = found.get(0)
    assert first is not None
    assert first.algorithm.name == "bp"
    assert found.best is None  # nobody has looked yet
    state = run(chosen, graph, given, Limits(iterations=300)).state
    assert isinstance(state, AutoState)
    assert state.error == 0


class Ticking:
    """A clock that goes on by a second whenever somebody looks, after it was set off."""

    def __init__(self) -> None:
        self.time, self.going = 0.0, False

    def __call__(self) -> float:
        self.time += self.going
        return self.time


def test_looking_for_a_stage_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticking()
    monkeypatch.setitem(budget.CLOCKS, "wall", clock)
    monkeypatch.setattr(budget, "LOOKING", 1.0)
    graph = ising_grid(12, 12, coupling=0.3, seed=3)
    given, chosen = graph.no_evidence(), Auto(clock="wall")
    state = chosen.init(graph, given)
    while not state.picked:  # type: ignore[attr-defined]
        state = chosen.step(graph, given, state)
    clock.going = True
    state = chosen.step(graph, given, state)
    assert isinstance(state, AutoState)
    assert state.stage == auto.DONE
    assert state.picked.startswith("bp")
    assert float(state.residual) == pytest.approx(state.swing)
    assert clock.time < 2 * chosen.seconds


def test_something_quick_goes_first_where_looking_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticking()
    monkeypatch.setitem(budget.CLOCKS, "wall", clock)
    graph = ising_grid(12, 12, coupling=0.3, seed=3)
    given, chosen = graph.no_evidence(), Auto(clock="wall")
    state = chosen.init(graph, given)
    clock.going = True
    state = chosen.step(graph, given, state)
    assert isinstance(state, AutoState)
    assert not state.picked
    assert clock.time <= budget.ANSWERED * chosen.seconds + 2
    clock.going = False
    while state.stage != auto.DONE:
        state = chosen.step(graph, given, state)
        if state.source == 0 and state.picked:
            assert state.picked.startswith("bp")
    assert state.picked.startswith("exact")  # there was time for it after all


def test_no_further_order_is_drawn_once_it_is_enough() -> None:
    graph = ising_grid(24, 24, seed=1)
    problem = reduced(graph, graph.no_evidence())
    asked: list[int] = []

    def enough() -> bool:
        asked.append(1)
        return len(asked) > 1

    first = best_order(problem, enough=lambda: True)
    assert sorted(first.variables) == sorted(problem.unary)
    assert best_order(problem, enough=enough).entries <= first.entries
    assert len(asked) == 2


def test_the_search_for_orders_has_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setitem(budget.CLOCKS, "wall", lambda: now[0])
    ends, counted = Auto(clock="wall", seconds=20.0, spent=1.0).searched(), Auto(seconds=20.0).searched()
    assert not ends()
    now[0] = 99.0 + budget.SEARCHED * 20.0 + 0.01
    assert ends()
    assert not counted()


@pytest.mark.parametrize(("part", "ended"), [(0.85, "exact"), (0.95, "bp")])
def test_a_tree_may_go_on_for_longer_than_other_stages(
    part: float, ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setitem(budget.CLOCKS, "wall", lambda: now[0])
    monkeypatch.setattr(budget, "LOOKING", 1.0)
    graph = ising_grid(12, 12, coupling=0.3, seed=3)
    given, chosen = graph.no_evidence(), Auto(clock="wall")
    state = chosen.init(graph, given)
    while not state.picked:  # type: ignore[attr-defined]
        state = chosen.step(graph, given, state)
    solve = join_tree.solved

    def late(*arguments: object, **options: object) -> object:
        now[0] = part * chosen.seconds
        return solve(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(join_tree, "solved", late)
    monkeypatch.setattr(auto, "too_slow", lambda *_: False)  # only where the time ends is asked here
    while state.stage != auto.DONE:  # type: ignore[attr-defined]
        state = chosen.step(graph, given, state)
    assert state.picked.startswith(ended)  # type: ignore[attr-defined]


def test_a_tree_that_is_too_slow_is_given_up_for_larger_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    graph, chosen = ising_grid(12, 12, seed=2), Auto(seconds=30.0, clock="processor")
    exactly = run(chosen, graph, graph.no_evidence(), Limits(200))
    monkeypatch.setattr(auto, "too_slow", lambda *_: True)
    graph = ising_grid(12, 12, seed=2)
    state = run(chosen, graph, graph.no_evidence(), Limits(200)).state
    assert exactly.state.picked.startswith("exact")
    assert state.picked.startswith("join-graph")
    assert state.error > 0
    assert hellinger(graph, state.answer, exactly.state.answer) < 0.1


def test_a_tree_says_how_far_it_is() -> None:
    graph, parts = ising_grid(6, 6, seed=1), list[float]()
    with followed(parts.append):
        run(join_tree.JoinTree(), graph, graph.no_evidence(), Limits(1))
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("part", "taken", "slow"), [(0.01, 2.5, False), (0.01, 4.0, True), (0.5, 9.0, False), (0.2, 5.0, False)]
)
def test_what_will_not_end_in_its_time_is_known_early(part: float, taken: float, slow: bool) -> None:
    assert budget.too_slow(part, taken, 18.0 - taken, 20.0) == slow


def test_time_that_is_over_already_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(budget.CLOCKS, "wall", lambda: 100.0)
    graph = ising_grid(4, 4, seed=3)
    state = Auto(clock="wall", seconds=20.0, spent=7.0).init(graph, graph.no_evidence())
    assert isinstance(state, AutoState)
    assert state.began == 93.0


def test_residual_propagation_is_left_out_where_messages_have_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LOOKING", 1.0)
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 0.0)
    monkeypatch.setattr(stages.Stages, "_smallest", lambda self: None)
    said = []
    for coupling in (0.3, 1.0):
        graph = ising_grid(10, 10, coupling=coupling, field=0.3, seed=0)
        state = run(Auto(), graph, graph.no_evidence(), Limits(iterations=300)).state
        assert isinstance(state, AutoState)
        said.append(state.picked.split(":")[0])
    assert said == ["bp", "residual-bp"]


def test_the_estimate_is_larger_where_answers_do_not_come_nearer_to_each_other() -> None:
    assert expected_error(0.04, 0.04, UNKNOWN) == expected_error(0.04, 0.04, 0.04) == pytest.approx(0.12)
    assert expected_error(0.04, 0.01, 0.04) == pytest.approx(0.06)
    assert expected_error(0.9, 0.9, 0.5) == 1.0
    assert expected_error(1e-6, 1e-6, 1e-5) == 1e-3
    assert expected_error(0.0, 0.0, 1e-5) == 0.0
