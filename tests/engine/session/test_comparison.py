"""Lanes against a reference: the numbers are those of enumeration, and what is said about the reference is true."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import AddLane, Paint, RemoveLane, RenameLane, Scrub, SetView, Step, Undo
from mrfstudio.engine.protocol.frames import Comparison, Frame, LaneScore, merge
from mrfstudio.engine.session import exact_reference
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.engine.workspaces.workspace import Workspace
from tests.engine.helpers import job_work
from tests.engine.helpers.graphs import enumerate_all, ising_factors
from tests.engine.helpers.sessions import run, segment_session

SHAPE = (3, 4)
ASKED = SetView(("belief", "comparison", "error", "difference"))


def small_graph(seed: int = 0) -> FactorGraph:
    return ising_grid(*SHAPE, coupling=0.8, field=0.3, seed=seed)


def session(*lanes: tuple[str, dict[str, Any]], graph: FactorGraph | None = None, **options: Any) -> Session:
    """A session on a small graph with these lanes, played to its end, and its last frame."""
    graph = graph or small_graph()
    workspace = GraphWorkspace({"g": graph}, SHAPE if graph.variables == 12 else None)
    first, *rest = lanes or (("bp", {}),)
    limits = Limits(iterations=options.pop("iterations", 300), tolerance=1e-7)
    made = Session(workspace, "g", *first, limits=limits, **options)
    for name, parameters in rest:
        made.apply(AddLane("g", name, parameters))
    made.apply(ASKED)
    return made


def compared(made: Session) -> Comparison:
    found = run(made)[-1].comparison
    assert found is not None
    return found


def score(found: Comparison, lane: int) -> LaneScore:
    return next(each for each in found.scores if each.lane == lane)


def test_the_reference_is_enumeration_and_so_are_the_errors() -> None:
    graph = small_graph()
    made = session(("bp", {}), ("mean-field", {}), ("trw", {}), graph=graph)
    found = compared(made)
    truth = enumerate_all(*ising_factors(graph.to(dtype=torch.float32)))
    assert found.reference == "exact"
    assert found.lane is None
    assert found.log_partition == pytest.approx(truth.log_z, abs=1e-6)
    assert found.marginals is not None
    exact = np.array([marginal[1] for marginal in truth.marginals])
    np.testing.assert_allclose(found.marginals, exact, atol=1e-6)
    pairs = np.array([truth.over(tuple(scope))[1, 1] for scope in graph.groups[0].scopes.T.tolist()])
    for lane in made.point.lanes:
        view = made.timeline.runner.view(made.point, lane)
        assert view is not None
        own = np.array([vector[1] for vector in lane.model.unpack(view.beliefs)])
        tables = lane.algorithm.factor_beliefs(lane.model, view.evidence, view.state)[0]
        together = np.concatenate([own - exact, tables[1, 1].double().numpy() - pairs])
        mine = score(found, lane.number)
        assert mine.l1 == pytest.approx(np.abs(own - exact).mean(), abs=1e-6)
        assert mine.l1_pairs == pytest.approx(np.abs(together).mean(), abs=1e-6)
        assert mine.largest == pytest.approx(np.abs(own - exact).max(), abs=1e-6)
        assert mine.worst == np.abs(own - exact).argmax()
        assert mine.correlation == pytest.approx(np.corrcoef(own, exact)[0, 1], abs=1e-5)
        log_z = lane.algorithm.log_partition(lane.model, view.evidence, view.state).value
        assert log_z is not None
        assert mine.log_partition_error == pytest.approx(log_z - truth.log_z, abs=1e-5)
        assert mine.marginals is not None
        np.testing.assert_allclose(mine.marginals, own, atol=1e-6)
    assert score(found, 1).log_partition_error < 0 < score(found, 2).log_partition_error  # type: ignore[operator]


def test_evidence_changes_the_reference_with_the_lanes() -> None:
    graph = small_graph()
    made = session(graph=graph)
    before = compared(made)
    made.apply(Paint("hints", 1, ((1.5, 0.5),), radius=0.4))
    after = compared(made)
    truth = enumerate_all(*ising_factors(graph.to(dtype=torch.float32)), {1: 1})
    assert after.log_partition == pytest.approx(truth.log_z, abs=1e-6)
    assert after.log_partition != pytest.approx(before.log_partition, abs=1e-3)
    np.testing.assert_allclose(after.marginals, [m[1] for m in truth.marginals], atol=1e-6)
    made.apply(Undo())
    assert compared(made).log_partition == pytest.approx(before.log_partition, abs=1e-9)


def test_one_tick_steps_every_lane_and_no_iteration_is_left_out() -> None:
    made = session(("bp", {}), ("bp", {"damping": 0.5}), ("alpha-bp", {"alpha": 0.5}), iterations=7, playing=False)
    made.apply(Step(7))
    frames = run(made)
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for frame in frames:
        for lane in frame.lanes:
            seen[lane.lane] += [scalars.iteration for scalars in lane.scalars]
    assert seen == {0: [1, 2, 3, 4, 5, 6, 7], 1: [1, 2, 3, 4, 5, 6, 7], 2: [1, 2, 3, 4, 5, 6, 7]}


def test_scores_are_those_of_the_iteration_shown() -> None:
    made = session(iterations=5)
    last = compared(made)
    made.apply(Scrub(1))
    first = compared(made)
    assert first.log_partition == last.log_partition
    assert score(first, 0).l1 != pytest.approx(score(last, 0).l1, rel=1e-3)
    assert score(first, 0).iterations == 1
    assert score(first, 0).seconds is not None


def test_an_exact_lane_is_the_reference_itself() -> None:
    found = compared(session(("bp", {}), ("exact", {})))
    assert (found.reference, found.lane) == ("exact", 1)
    assert "lane B" in found.text
    assert score(found, 1).l1 == 0
    assert score(found, 1).log_partition_error == 0


def test_a_lane_can_be_chosen_as_the_reference() -> None:
    made = session(("bp", {}), ("mean-field", {}))
    made.apply(SetView(("comparison", "error"), reference=1))
    found = compared(made)
    assert (found.reference, found.lane) == ("lane", 1)
    assert found.log_partition is None
    assert score(found, 1).l1 == 0
    assert score(found, 1).log_partition_error is None
    assert score(found, 0).l1 > 0  # type: ignore[operator]


def test_where_exact_is_out_of_reach_the_first_lane_is_the_reference_and_the_reason_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact_reference, "MOST_GIGABYTES", 1e-9)
    found = compared(session(("bp", {}), ("mean-field", {})))
    assert (found.reference, found.lane) == ("lane", 0)
    assert "memory" in found.text
    assert found.text.startswith("Compared with lane A: exact inference on this graph would need")
    assert score(found, 0).l1 == 0
    assert score(found, 1).l1 > 0  # type: ignore[operator]


def test_a_large_graph_with_loops_is_not_even_estimated_but_a_large_tree_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_reference, "LARGE", 5)
    assert "12 variables with loops is not tried" in compared(session()).text
    chain = FactorGraph.ising(np.stack([np.arange(11), np.arange(1, 12)], 1), np.full(11, 0.5), np.zeros(12))
    assert compared(session(graph=chain)).reference == "exact"


def test_a_grid_of_clones_is_compared_with_its_first_lane() -> None:
    made = segment_session(playing=True, limits=Limits(iterations=3, tolerance=1e-9))
    made.apply(AddLane("b"))
    made.apply(SetView(("belief", "comparison", "error")))
    frame = run(made)[-1]
    assert frame.comparison is not None
    assert frame.comparison.reference == "lane"
    assert frame.lanes[1].pictures["error"].shape == frame.shape
    assert score(frame.comparison, 1).l1 > 0  # type: ignore[operator]


def test_pictures_of_error_and_of_the_difference_between_any_two_lanes() -> None:
    made = session(("bp", {}), ("mean-field", {}), ("trw", {}))
    made.apply(SetView(("belief", "difference", "error", "comparison"), apart=2))
    frame = run(made)[-1]
    belief = {lane.lane: lane.pictures["belief"] for lane in frame.lanes}
    assert "difference" not in frame.lanes[2].pictures
    for lane in (0, 1):
        expected = np.abs(belief[lane] - belief[2]).sum(-1) / 2
        np.testing.assert_allclose(frame.lanes[lane].pictures["difference"], expected, atol=1e-6)
    assert frame.comparison is not None
    assert frame.comparison.marginals is not None
    exact = frame.comparison.marginals.reshape(SHAPE)
    np.testing.assert_allclose(frame.lanes[0].pictures["error"], np.abs(belief[0][..., 1] - exact), atol=1e-6)


def test_what_nobody_asks_for_is_not_computed() -> None:
    made = session()
    made.apply(SetView(("belief",)))
    frame = run(made)[-1]
    assert frame.comparison is None
    assert "error" not in frame.lanes[0].pictures
    assert made.wait is None


def test_samples_have_errors_of_nodes_but_not_of_pairs() -> None:
    found = compared(session(("bp", {}), ("gibbs", {"chains": 8, "burn_in": 2}), iterations=20))
    assert score(found, 1).l1 is not None
    assert score(found, 1).l1_pairs is None
    assert score(found, 1).log_partition_error is None


def test_more_states_than_two_count_all_but_the_first() -> None:
    rng = np.random.default_rng(0)
    factors = [((0, 1), rng.normal(size=(3, 3))), ((1, 2), rng.normal(size=(3, 2))), ((2, 0), rng.normal(size=(2, 3)))]
    graph = FactorGraph.from_factors([3, 3, 2], factors)
    made = session(("bp", {}), graph=graph)
    found = compared(made)
    assert found.marginals is not None
    assert len(found.marginals) == 3 * 2  # the third state of the last variable does not exist: 0 for both
    truth = enumerate_all([3, 3, 2], [(scope, np.float32(table)) for scope, table in factors])
    assert found.log_partition == pytest.approx(truth.log_z, abs=1e-5)


# In a child process ---------------------------------------------------------------------------------------------------


def waited(made: Session, seconds: float = 60.0) -> Frame:
    """Advance until the reference is there."""
    deadline = time.monotonic() + seconds
    frame: Frame | None = None
    while True:
        newer = made.advance(0.01)
        frame = newer if frame is None or newer is None else merge(frame, newer)
        if newer is not None and newer.comparison is not None and newer.comparison.reference != "computing":
            return newer
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_larger_graph_is_solved_beside_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    inline = compared(session())
    monkeypatch.setattr(exact_reference, "QUICK_OPERANDS", 1)
    made = session()
    first = made.advance(0.0)
    assert first is not None
    assert first.comparison is not None
    assert first.comparison.reference == "computing"
    assert made.wait is not None
    assert score(first.comparison, 0).l1 is None
    found = waited(made).comparison
    assert found is not None
    assert found.reference == "exact"
    assert found.log_partition == pytest.approx(inline.log_partition, abs=1e-9)
    np.testing.assert_array_equal(found.marginals, inline.marginals)
    assert score(found, 0).l1_pairs is not None
    assert made.comparer.waiting is False


def test_evidence_that_changes_ends_the_child_and_so_does_a_closed_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_reference, "QUICK_OPERANDS", 1)
    monkeypatch.setattr(exact_reference, "REST_SECONDS", 0.0)
    made = session()
    run_until_started(made)
    child = made.comparer._exact._work
    assert child is not None
    made.apply(Paint("hints", 1, ((1.5, 0.5),), radius=0.4))
    made.advance(0.0)
    assert child._job.poll() == "cancelled"
    run_until_started(made)
    again = made.comparer._exact._work
    assert again is not None
    made.apply(SetView(("belief",)))
    made.advance(0.0)
    assert again._job.poll() == "cancelled"
    assert not made.comparer.waiting


def run_until_started(made: Session) -> None:
    for _ in range(200):
        made.advance(0.0)
        if made.comparer._exact._work is not None:
            return
    raise AssertionError("no child was started")


def test_a_child_that_fails_leaves_a_lane_as_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_reference, "QUICK_OPERANDS", 1)
    monkeypatch.setattr(exact_reference, "exact_command", job_work.fail_on_a_graph)
    found = waited(session(("bp", {}), ("mean-field", {}))).comparison
    assert found is not None
    assert (found.reference, found.lane) == ("lane", 0)
    assert "no answer today" in found.text


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_lane_keeps_its_name_through_undo_restart_and_a_file(tmp_path: Path) -> None:
    made = session(("bp", {}), ("mean-field", {}))
    made.apply(RenameLane(1, "  a   bound "))
    assert run(made)[-1].lanes[1].title == "a bound"
    made.apply(RemoveLane(1))
    made.apply(Undo())
    assert run(made)[-1].lanes[1].title == "a bound"
    save_session(made, tmp_path / "s.mrfs")
    opened = load_session(tmp_path / "s.mrfs", {})
    opened.apply(Step(1))
    assert run(opened)[-1].lanes[1].title == "a bound"
    made.apply(Undo())
    assert run(made)[-1].lanes[1].title == ""


def test_a_name_does_not_disturb_the_run() -> None:
    made = session(("bp", {}))
    before = run(made)[-1].lanes[0]
    made.apply(RenameLane(0, "mine"))
    after = run(made)[-1].lanes[0]
    assert (after.iteration, after.status, after.residual) == (before.iteration, before.status, before.residual)


def test_a_name_that_is_too_long_is_refused() -> None:
    made = session(("bp", {}))
    made.apply(RenameLane(0, "x" * 61))
    assert "at most 60" in run(made)[0].message


def test_a_sampler_whose_error_does_not_fall_is_not_called_diverging() -> None:
    made = session(("gibbs", {"chains": 2, "burn_in": 0}), iterations=80)
    assert {frame.lanes[0].status for frame in run(made)} <= {"running", "iteration limit"}


def test_a_network_whose_regions_still_disagree_is_not_called_diverging() -> None:
    made = session(("renn", {"embedding": 8}), iterations=90)
    frames = run(made)
    assert max(frames[-1].lanes[0].residual or 0.0, 0.0) > 1e-3
    assert {frame.lanes[0].status for frame in frames} <= {"running", "iteration limit"}


def test_models_without_labels_have_times_and_a_sentence() -> None:
    made = session()
    made.timeline.runner.workspace = Workspace()  # one whose beliefs are no labels
    found = made.comparer.compare(made.point, ASKED)
    assert found.reference == "none"
    assert "Difference" in found.text
    assert [each.lane for each in found.scores] == [0]
    assert found.scores[0].l1 is None
