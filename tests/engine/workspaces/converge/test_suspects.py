"""How a message was computed, pins, edited tables, suspects, loops and remedies tried in a copy."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.engine.convergence.loops import loops_through
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of, table_of
from mrfstudio.engine.inference.energy import bethe_log_partition
from mrfstudio.engine.inference.messages.factor_messages import totals_and_cavities
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.answers import MessageWork, Suspects, Swings, Tip
from mrfstudio.engine.protocol.commands import (
    Command,
    NewGraph,
    PinMessage,
    SetAlgorithm,
    SetLimits,
    SetParameter,
    SetStrength,
    SetTable,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.engine.protocol.requests.converge import ExplainMessage, FindSuspects, FindSwings, OpenGraph, TryTips
from mrfstudio.engine.workspaces.converge.suspects import energy_shares, tried
from mrfstudio.engine.workspaces.studio import Studio
from mrfstudio.engine.workspaces.workspace import LaneView
from tests.engine.helpers.graphs import random_factors
from tests.engine.helpers.sessions import run


def opened(graph: FactorGraph, *commands: Command) -> Studio:
    studio = Studio({})
    studio.answer("graph", OpenGraph(graph, "mine"))
    session = studio.session("graph")
    session.apply(SetLimits(40, 1e-6))
    for command in commands:
        session.apply(command)
        run(session)
    run(session)
    return studio


def work(studio: Studio, request: Request) -> object:
    return studio.answer("graph", request).work()


def view_of(studio: Studio) -> LaneView:
    session = studio.session("graph")
    view = session.timeline.runner.view(session.point, session.point.lanes[0])
    assert view is not None
    return view


def triples(seed: int = 1, strength: float = 4.0) -> FactorGraph:
    rng = np.random.default_rng(seed)
    scopes = [tuple(int(v) for v in rng.choice(8, 3, replace=False)) for _ in range(14)]
    return FactorGraph.from_factors([3] * 8, [(scope, strength * rng.normal(size=(3, 3, 3))) for scope in scopes])


@pytest.mark.parametrize(
    ("algorithm", "parameters", "pairwise"),
    [
        ("bp", {}, False),
        ("bp", {"damping": 0.4}, False),
        ("bp", {"temperature": 0.5}, False),
        ("bp", {"temperature": 0.0}, False),
        ("alpha-bp", {"alpha": 0.6, "damping": 0.2}, True),
        ("trw", {"memory": 0}, True),
    ],
)
def test_the_explained_message_is_the_one_that_the_run_sent(
    algorithm: str, parameters: dict[str, float], pairwise: bool
) -> None:
    cards, factors = random_factors(2, variables=5, factors=7, order=2 if pairwise else 4)
    graph = FactorGraph.from_factors(cards, factors)
    studio = opened(graph, SetAlgorithm(0, algorithm, dict(parameters)), Step(3))
    for factor in range(links_of(graph).factors):
        for axis in range(len(links_of(graph).of(factor))):
            found = work(studio, ExplainMessage(0, factor, axis))
            assert found.sent is not None  # type: ignore[attr-defined]
            np.testing.assert_allclose(found.damped, found.sent, atol=2e-4)  # type: ignore[attr-defined]


def test_other_numbers_show_what_would_follow_and_change_nothing() -> None:
    studio = opened(triples(strength=1.0))
    plain = work(studio, ExplainMessage(0, 0, 0))
    sure = work(studio, ExplainMessage(0, 0, 0, ((1, (0.0, 1.0, 0.0)), (2, (0.0, 0.0, 1.0)))))
    table = np.exp(table_of(view_of(studio).model, 0))[:, 1, 2]
    np.testing.assert_allclose(sure.fresh, table / table.sum(), atol=1e-5)  # type: ignore[attr-defined]
    assert sure.sent is None  # type: ignore[attr-defined]
    again = work(studio, ExplainMessage(0, 0, 0))
    np.testing.assert_array_equal(plain.fresh, again.fresh)  # type: ignore[attr-defined]
    with pytest.raises(StudioError, match="no probabilities"):
        work(studio, ExplainMessage(0, 0, 0, ((1, (0.0, 0.0, 0.0)),)))
    with pytest.raises(StudioError, match="no variable 3"):
        work(studio, ExplainMessage(0, 0, 3))


def test_a_table_can_be_seen_under_an_algorithm_without_messages() -> None:
    graph = triples(strength=1.0)
    found = work(opened(graph, SetAlgorithm(0, "exact", {})), ExplainMessage(0, 3, 1))
    assert isinstance(found, MessageWork)
    assert found.table_alone
    assert "sends no messages" in found.equation
    np.testing.assert_allclose(np.log(found.table) + found.log_scale, table_of(graph, 3), atol=1e-5)


@pytest.mark.parametrize("kernel", ["auto", "generic"])
def test_a_pinned_message_stays_and_the_others_settle_around_it(kernel: str) -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0)], [0.4, 0.3, -0.2], [0.1, 0.0, 0.0])
    studio = opened(graph, SetAlgorithm(0, "bp", {"kernel": kernel}), PinMessage(0, 1, (0.9, 0.1)))
    session = studio.session("graph")
    lane = session.point.lanes[0]
    assert lane.status == "converged"
    assert "pinned" in lane.message
    view = view_of(studio)
    assert session.workspace.factor_messages(view, 0)[0][1].tolist() == pytest.approx([0.9, 0.1], abs=1e-5)
    # Around the ring everything follows from it: what 1 says to 2 is the pinned message through one table.
    told = np.array([[np.exp(0.3), np.exp(-0.3)], [np.exp(-0.3), np.exp(0.3)]]).T @ [0.9, 0.1]
    heard = session.workspace.factor_messages(view, 1)[0][1]
    np.testing.assert_allclose(heard, told / told.sum(), atol=1e-5)
    session.apply(Undo())
    run(session)
    assert session.point.lanes[0].message == ""
    assert not session.document.graph.pins


def test_an_edited_table_is_the_graphs_and_undo_brings_the_old_one_back() -> None:
    graph = triples(strength=0.5)
    studio = opened(graph)
    session = studio.session("graph")
    before = table_of(session.point.lanes[0].model, 2)
    changed = np.exp(before)
    changed[0, 1, 2] = 0.0
    session.apply(SetTable(2, tuple(changed.ravel().tolist())))
    run(session)
    now = table_of(session.point.lanes[0].model, 2)
    assert np.isneginf(now[0, 1, 2])
    np.testing.assert_allclose(np.delete(now.ravel(), 5), np.delete(before.ravel(), 5), atol=1e-5)
    session.apply(Undo())
    np.testing.assert_array_equal(table_of(session.point.lanes[0].model, 2), before)
    session.apply(SetTable(2, (1.0, 2.0)))
    assert "expected 27" in " ".join(frame.message for frame in run(session))


def test_a_table_is_edited_as_it_is_shown_at_any_strength() -> None:
    studio = opened(FactorGraph.ising([(0, 1)], [0.5], [0.1, 0.0]), SetStrength("coupling", 2.0))
    session = studio.session("graph")
    session.apply(SetTable(0, tuple(np.exp([0.7, -0.7, -0.7, 0.7]))))
    run(session)
    np.testing.assert_allclose(table_of(session.point.lanes[0].model, 0), [[0.7, -0.7], [-0.7, 0.7]], atol=1e-5)
    session.apply(NewGraph("ring", {"nodes": 4}))
    session.apply(SetTable(1, tuple(np.exp([0.7, -0.7, -0.7, 0.7]))))
    frame = run(session)[-1]
    assert frame.graph is not None
    assert frame.graph.couplings is not None
    assert frame.graph.couplings[1] == pytest.approx(0.7, abs=1e-5)
    assert frame.graph.source == "drawn"


def test_shares_of_the_free_energy_add_up_to_it_at_a_fixed_point() -> None:
    graph = FactorGraph.from_factors([2, 3, 2], [((0, 1), np.ones((2, 3))), ((1, 2), np.arange(6.0).reshape(3, 2))])
    studio = opened(graph)
    view = view_of(studio)
    totals, cavities = totals_and_cavities(view.model, view.model.local_potentials(view.evidence), view.state.messages)
    expected = float(bethe_log_partition(view.model, totals, cavities))
    factors, variables = energy_shares(view)
    everything = np.concatenate([factors, variables])
    assert np.abs(everything).sum() == pytest.approx(1.0)
    assert everything.sum() * abs(expected) == pytest.approx(expected * everything.sum())
    assert np.sign(everything.sum()) == np.sign(expected)


def test_suspects_name_what_swings_and_remedies_say_what_they_would_do() -> None:
    studio = opened(triples(3))
    found = work(studio, FindSuspects(0))
    kinds = {kind: [row for row in found.rows if row.kind == kind] for kind in ("message", "factor", "variable")}  # type: ignore[attr-defined]
    assert {kind: len(rows) for kind, rows in kinds.items()} == {"message": 42, "factor": 14, "variable": 8}
    assert max(row.amplitude for row in kinds["message"]) > 0.1
    assert all(row.wrong is not None and 0 <= row.wrong <= 1 for row in kinds["variable"])
    assert found.worst == max(kinds["message"], key=lambda row: (row.amplitude, row.residual)).number  # type: ignore[attr-defined]
    assert found.loops  # type: ignore[attr-defined]
    trials = work(studio, TryTips(0))
    assert not any("α" in trial.tip.title for trial in trials)  # type: ignore[attr-defined]
    said = {trial.tip.title: trial for trial in trials}  # type: ignore[attr-defined]
    assert said["Join graph"].converged
    assert said["Join graph"].text == "converges in 1 iteration"
    assert said["Damp: 0.9"].text == "does not settle in 40 iterations"
    before = studio.session("graph").point
    assert before.lanes[0].algorithm.name == "bp"  # all of it happened in copies


def test_a_factor_whose_messages_swing_without_a_period_has_none() -> None:
    found = work(opened(triples(3)), FindSuspects(0))
    assert isinstance(found, Suspects)
    links = links_of(triples(3))
    irregular = {int(links.owners[row.number]) for row in found.rows if row.kind == "message" and row.period == -1}
    assert 0 < len(irregular) <= 14
    for row in found.rows:
        if row.kind == "factor":
            assert (row.period == -1) == (row.number in irregular)


def test_nothing_swings_any_more_in_a_run_that_has_converged() -> None:
    # Messages of this ring swing on their way to rest, by more than is rounding when the tolerance is reached.
    graph = FactorGraph.ising([(i, (i + 1) % 4) for i in range(4)], [-1.5, 1.5, 1.5, 1.5], [0.2, 0, 0, 0])
    studio = opened(graph, SetAlgorithm(0, "bp", {}), SetLimits(400, 1e-3))
    assert studio.session("graph").point.lanes[0].status == "converged"
    found = work(studio, FindSuspects(0))
    assert isinstance(found, Suspects)
    assert found.converged
    assert not any(row.period for row in found.rows)
    swings = work(studio, FindSwings(0))
    assert isinstance(swings, Swings)
    assert (swings.count, swings.tips) == (0, ())


def test_on_a_large_graph_only_what_begins_at_once_is_tried_and_only_if_somebody_asks() -> None:
    graph = FactorGraph.ising([(i, i + 1) for i in range(1999)], np.full(1999, 0.5), np.zeros(2000))
    view = view_of(opened(graph, SetAlgorithm(0, "bp", {})))
    tips = (Tip("Damp: 0.5", "why", "bp", {"damping": 0.5}), Tip("Join graph", "why", "join-graph", {}))
    assert tried(view, tips, Limits(iterations=5, tolerance=1e-9), asked=False) == ()
    damp, join = tried(view, tips, Limits(iterations=500, tolerance=1e-6))
    assert damp.converged
    assert damp.text == "converges in 1 iteration"  # from the messages of the run, which had converged
    assert (join.converged, join.text) == (False, "not tried on so large a graph")


def test_a_tip_that_was_tried_does_what_the_trial_said() -> None:
    graph = FactorGraph.ising([(i, (i + 1) % 5) for i in range(5)], [-2.0] * 5, [0.2, 0, 0, 0, 0])
    studio = opened(graph, SetAlgorithm(0, "bp", {}))
    session = studio.session("graph")
    assert session.point.lanes[0].status == "iteration limit"
    trials = [trial for trial in work(studio, TryTips(0)) if trial.tip.parameters.get("damping")]  # type: ignore[attr-defined]
    damp = next(trial for trial in trials if trial.tip.algorithm == "bp")
    session.apply(SetParameter(0, "damping", damp.tip.parameters["damping"]))
    run(session)
    assert (session.point.lanes[0].status == "converged") == damp.converged
    if damp.converged:
        assert session.point.lanes[0].done == damp.iterations


def test_the_strongest_loop_is_found_first_and_a_tree_has_none() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]
    graph = FactorGraph.ising(edges, [1.0, 1.0, -1.0, 0.1, 0.1], np.zeros(4))
    loops = loops_through(graph, 0, 0)
    assert set(loops[0].factors) == {0, 1, 2}
    assert loops[0].strength == pytest.approx(np.tanh(1.0) ** 3)
    assert loops[0].sign == -1
    assert set(loops[1].factors) == {0, 1, 3, 4}
    assert loops_through(FactorGraph.ising([(0, 1), (1, 2)], [1.0, 1.0], np.zeros(3)), 0, 1) == []
