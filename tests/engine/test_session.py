"""Sessions: commands in, frames out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.commands import (
    AddLane,
    AddNoise,
    ClearLayer,
    Command,
    Fill,
    Paint,
    PaintRectangle,
    Pause,
    Play,
    Redo,
    RemoveLane,
    Restart,
    Scrub,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetModel,
    SetParameter,
    SetSpeed,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.data.border_noise import SEEN, UNSEEN
from mrfstudio.engine.frames import NO_HINT, merge
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import State
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.session import Session
from mrfstudio.engine.workspaces.graph import GraphWorkspace
from tests.engine.sessions import assert_same_moment, graph_session, run, segment_session

HINT = Paint("hints", 1, ((2.5, 1.5),), 0.3)


def messages(session: Any, lane: int = 0) -> torch.Tensor:
    state = session.moment.lanes[lane].state
    return getattr(state, "ratios", None) if hasattr(state, "ratios") else state.messages


def last(session: Any) -> Any:
    return run(session)[-1]


# Running --------------------------------------------------------------------------------------------------------------


def test_a_session_runs_to_convergence_and_equals_plain_inference() -> None:
    session = graph_session(playing=True)
    session.apply(HINT)
    frame = last(session)
    assert frame.lanes[0].status == "converged"
    model = session.moment.lanes[0].model
    bp, evidence = BeliefPropagation(), model.evidence({1 * 6 + 2: 1})
    state: State = bp.init(model, evidence)
    for _ in range(frame.iteration):
        state = bp.step(model, evidence, state)
    marginals = model.unpack(bp.beliefs(model, evidence, state))
    shown = frame.lanes[0].pictures["belief"].reshape(-1, 2)
    assert np.array_equal(shown, np.array(marginals, np.float32))
    assert shown[1 * 6 + 2].tolist() == [0.0, 1.0]


def test_every_iteration_leaves_its_scalars() -> None:
    session = graph_session(playing=True)
    frames = run(session)
    scalars = [s for frame in frames for s in frame.lanes[0].scalars]
    assert [s.iteration for s in scalars] == list(range(1, frames[-1].iteration + 1))
    assert all(s.residual is not None and s.log_partition is not None for s in scalars)
    assert frames[-1].lanes[0].log_partition_kind == "estimate"
    assert scalars[-1].residual == frames[-1].lanes[0].residual


def test_merged_frames_keep_all_scalars_and_forget_cut_ones() -> None:
    session = graph_session(iterations=5, tolerance=0.0)
    session.apply(Step(4))
    frames = run(session)
    session.apply(Scrub(2))
    frames += run(session)
    session.apply(HINT)
    session.apply(Step(2))
    frames += run(session)
    merged = frames[0]
    for frame in frames[1:]:
        merged = merge(merged, frame)
    assert [s.iteration for s in merged.lanes[0].scalars] == [1, 2, 3, 4]
    assert merged.cut == 2
    course = session.measurer.courses[0].scalars
    assert list(merged.lanes[0].scalars) == course


def test_the_limit_ends_a_run_and_play_goes_on() -> None:
    session = graph_session(iterations=3, tolerance=0.0, playing=True)
    frame = last(session)
    assert (frame.iteration, frame.lanes[0].status, frame.playing) == (3, "iteration limit", False)
    session.apply(Play())
    assert last(session).iteration == 6
    session.apply(Step(2))
    assert last(session).iteration == 8
    session.apply(HINT)
    session.apply(Play())
    frame = last(session)
    assert (frame.iteration, frame.lanes[0].base, frame.lanes[0].limit) == (11, 8, 3)


def test_an_edit_goes_on_from_the_present_messages() -> None:
    session = graph_session(iterations=8, tolerance=0.0)
    session.apply(Step(8))
    run(session)
    before = messages(session)
    session.apply(HINT)
    run(session)
    assert torch.equal(messages(session), before)
    session.apply(Step())
    run(session)
    assert session.moment.iteration == 9
    assert not torch.equal(messages(session), before)


def test_paused_edits_show_at_once_without_an_iteration() -> None:
    session = graph_session()
    run(session)
    session.apply(HINT, number=17)
    frame = last(session)
    assert (frame.applied, frame.iteration, frame.lanes[0].status) == (17, 0, "idle")
    assert frame.lanes[0].pictures["belief"][1, 2].tolist() == [0.0, 1.0]
    assert frame.layers["hints"][1, 2] == 1
    assert frame.layers["hints"][0, 0] == NO_HINT


def test_a_stroke_is_answered_before_the_next_iteration_and_cannot_starve_it() -> None:
    session = graph_session(playing=True, iterations=1000, tolerance=0.0)
    session.advance(0.0)
    iterations = []
    for number in range(10):
        session.apply(Paint("hints", 1, ((number % 6, 0),), 0.2, stroke_id=1), number + 100)
        frame = session.advance(0.0)
        assert frame is not None
        assert frame.applied == number + 100
        iterations.append(frame.iteration)
        session.advance(0.0)
    assert iterations == sorted(set(iterations))


def test_who_has_undone_everything_has_nothing_to_lose() -> None:
    session = graph_session()
    assert not session.modified
    session.apply(Step(2))
    run(session)
    session.apply(HINT)
    session.apply(SetParameter(0, "damping", 0.5))
    assert session.modified
    session.apply(Undo())
    assert session.modified
    session.apply(Undo())
    assert not session.modified
    session.apply(Redo())
    assert session.modified
    session.apply(Step(3))
    run(session)
    session.apply(Scrub(0))
    run(session)
    assert session.modified
    session.mark_saved()
    assert not session.modified
    session.apply(Undo())
    assert session.modified


def test_speed_is_kept_by_the_clock() -> None:
    now = [0.0]
    session = graph_session(playing=True, iterations=1000, tolerance=0.0, clock=lambda: now[0])
    session.apply(SetSpeed(2.0))
    session.advance(1.0)
    assert session.moment.iteration == 1
    session.advance(1.0)
    assert session.wait == pytest.approx(0.5)
    for _ in range(40):
        now[0] += 0.1
        session.advance(0.001)
    assert session.moment.iteration in (8, 9)
    now[0] += 100  # a sleeping machine does not catch up in a rush
    for _ in range(10):
        session.advance(0.0)
    assert session.moment.iteration <= 12


def test_the_pace_is_that_of_one_run_and_known_at_one_iteration_a_second() -> None:
    now = [0.0]
    session = graph_session(playing=True, iterations=1000, tolerance=0.0, clock=lambda: now[0])
    session.apply(SetSpeed(1.0))
    paces = []
    for _ in range(5):
        frame = session.advance(0.001)
        assert frame is not None
        paces.append(frame.iterations_per_second)
        now[0] += 1.0
    assert paces == pytest.approx([0, 1, 1, 1, 1])
    now[0] += 60.0  # a pause, and then a faster run
    session.apply(SetSpeed(10.0))
    for _ in range(3):
        frame = session.advance(0.001)
        now[0] += 0.1
    assert frame is not None
    assert frame.iterations_per_second == pytest.approx(10.0)


# Frames ---------------------------------------------------------------------------------------------------------------


def test_a_frame_holds_the_visible_rectangle_and_only_what_was_asked_for() -> None:
    session = segment_session()
    session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
    session.apply(SetView(("decoded", "entropy", "residual", "clone", "ownership"), (2, 3, 4, 100), stride=2))
    session.apply(Step(2))
    frame = last(session)
    assert (frame.rectangle, frame.stride, frame.shape) == ((2, 3, 4, 8), 2, (9, 11))
    pictures = frame.lanes[0].pictures
    assert set(pictures) == {"decoded", "entropy", "residual", "clone", "ownership"}
    assert {pictures[name].shape for name in ("decoded", "entropy", "clone", "ownership")} == {(2, 4)}
    assert pictures["residual"].shape == (8, 2, 4)
    assert pictures["residual"].max() <= session.moment.lanes[0].residual
    assert frame.layers["observed"].shape == (2, 4)
    contour = pictures["decoded"] == 0
    assert ((pictures["clone"] >= 0) == contour).all()
    assert (np.isnan(pictures["ownership"]) >= ~contour).all()
    assert pictures["entropy"].min() >= 0
    assert pictures["entropy"].max() <= np.log2(3) + 1e-6


def test_nobody_can_write_to_a_frame() -> None:
    session = segment_session()
    session.apply(SetView(("belief", "decoded", "entropy", "histogram", "strip")))
    session.apply(Step())
    frame = last(session)
    arrays = [*frame.layers.values(), *frame.lanes[0].pictures.values(), frame.lanes[0].strip[0][1]]
    assert arrays
    assert not any(array.flags.writeable for array in arrays)


def test_the_histogram_counts_all_pixels() -> None:
    session = segment_session()
    session.apply(SetView(("histogram",), (0, 0, 2, 2)))
    histogram = last(session).lanes[0].pictures["histogram"]
    assert histogram.shape == (3, 20)
    assert histogram.sum(1) == pytest.approx(1.0)


def test_the_strip_has_a_picture_of_each_of_the_first_iterations() -> None:
    session = segment_session(playing=True, limits=None)
    session.apply(SetLimits(20, 0.0))
    session.apply(SetView(("strip",)))
    strip = [small for frame in run(session) for small in frame.lanes[0].strip]
    assert [iteration for iteration, _ in strip] == list(range(1, 16))
    assert strip[0][1].shape == (9, 11, 3)
    assert abs(int(strip[0][1][0, 0].sum()) - 255) <= 2


def test_a_strip_that_is_asked_for_later_is_made_from_the_past() -> None:
    shown, late = segment_session(), segment_session()
    shown.apply(SetView(("strip",)))
    for session in (shown, late):
        session.apply(Step(3))
        run(session)
        session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
        session.apply(Step(5))
    first = {i: picture for frame in run(shown) for i, picture in frame.lanes[0].strip}
    run(late)
    late.apply(SetView(("strip",)))
    second = {i: picture for frame in run(late) for i, picture in frame.lanes[0].strip}
    assert sorted(second) == [4, 5, 6, 7, 8]
    assert all(np.array_equal(first[i], picture) for i, picture in second.items())


def test_two_models_are_compared_by_their_difference() -> None:
    session = segment_session()
    session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
    session.apply(AddLane("b"))
    session.apply(AddLane("a"))
    session.apply(SetView(("belief", "difference")))
    session.apply(Step(3))
    lanes = last(session).lanes
    assert [lane.lane for lane in lanes] == [0, 1, 2]
    assert "difference" not in lanes[0].pictures
    difference = np.abs(lanes[0].pictures["belief"] - lanes[1].pictures["belief"]).sum(-1) / 2
    assert np.allclose(lanes[1].pictures["difference"], difference, atol=1e-6)
    assert difference.max() > 0
    assert lanes[2].pictures["difference"].max() == 0


def test_truth_gives_overlap_and_cross_entropy() -> None:
    session = segment_session()
    truth = np.ones((9, 9), np.uint8)
    truth[2:7, 2:7], truth[3:6, 3:6] = 0, 2
    session.apply(SetImage(np.where(truth == 0, SEEN, UNSEEN), truth))
    session.apply(Step())
    frame = last(session)
    scalars = frame.lanes[0].scalars[-1]
    belief = frame.lanes[0].pictures["belief"].astype(np.float64)
    picked = np.take_along_axis(belief, truth[..., None].astype(int), -1)
    assert scalars.nce_bits == pytest.approx(-np.log2(picked).mean(), rel=1e-5)
    figure = belief[..., 1] < 0.5
    figure[[0, -1]] = figure[:, [0, -1]] = False
    assert scalars.iou == pytest.approx((figure & (truth != 1)).sum() / (figure | (truth != 1)).sum())
    assert np.array_equal(frame.layers["truth"], truth)


def test_an_inspector_gets_the_clones_of_a_pixel() -> None:
    session = segment_session()
    session.apply(SetView(("belief",), inspect=(3, 4)))
    frame = last(session)
    details: Any = frame.lanes[0].details
    assert details["labels"]["OUT"] == pytest.approx(float(frame.lanes[0].pictures["belief"][3, 4, 1]))
    assert sum(p for _, p in details["clones"]) == pytest.approx(details["labels"]["CONTOUR"], rel=1e-5)
    session.apply(SetView(("belief",), inspect=(300, 4)))
    assert last(session).lanes[0].details == {}


# Lanes ----------------------------------------------------------------------------------------------------------------


def test_lanes_run_in_step_and_one_with_its_own_limit_waits() -> None:
    session = graph_session(iterations=9, tolerance=0.0, playing=True)
    session.apply(AddLane("weak", limit=4))
    frame = last(session)
    assert [(lane.iteration, lane.status) for lane in frame.lanes] == [(9, "iteration limit"), (4, "iteration limit")]
    session.apply(Play())
    assert [lane.iteration for lane in last(session).lanes] == [18, 4]
    session.apply(HINT)
    assert [lane.iteration for lane in last(session).lanes] == [27, 22]


def test_a_lowered_limit_of_a_lane_shows_what_so_few_iterations_give() -> None:
    session = graph_session(iterations=9, tolerance=0.0, playing=True)
    session.apply(AddLane("weak"))
    run(session)
    session.apply(SetLimits(3, 0.0, lane=1))
    frame = last(session)
    assert [lane.iteration for lane in frame.lanes] == [9, 3]
    session.apply(SetLimits(5, 0.0, lane=1))
    assert last(session).lanes[0].iteration >= 9
    session.apply(Undo())
    session.apply(Undo())
    assert session.moment.lane(1).limit is None


def test_lane_numbers_stay_and_are_used_again() -> None:
    session = graph_session()
    for model in ("strong", "frustrated"):
        session.apply(AddLane(model))
    session.apply(RemoveLane(1))
    assert [lane.number for lane in session.moment.lanes] == [0, 2]
    session.apply(AddLane("weak"))
    assert [(lane.number, lane.model_name) for lane in session.moment.lanes] == [
        (0, "weak"), (1, "weak"), (2, "frustrated"),
    ]  # fmt: skip
    for _ in range(4):
        session.apply(AddLane("weak"))
    assert len(session.moment.lanes) == 6
    assert "at most 6" in last(session).message


def test_exact_is_a_lane_like_any_other() -> None:
    session = graph_session(playing=True)
    session.apply(AddLane("weak", "exact"))
    lanes = last(session).lanes
    assert [lane.status for lane in lanes] == ["converged", "converged"]
    assert lanes[1].iteration == 1
    assert np.abs(lanes[0].pictures["belief"] - lanes[1].pictures["belief"]).max() < 0.1
    session.apply(HINT)
    after = last(session).lanes[1]
    assert after.status == "converged"
    assert after.pictures["belief"][1, 2, 1] == pytest.approx(1.0)


def test_samples_drawn_before_an_edit_do_not_count_after_it() -> None:
    session = graph_session(algorithm="gibbs", parameters={"burn_in": 3}, tolerance=0.0)
    session.apply(Step(10))
    run(session)
    session.apply(HINT)
    session.apply(Step(10))
    lane = last(session).lanes[0]
    assert lane.pictures["belief"][1, 2].tolist() == [0.0, 1.0]
    assert session.moment.lanes[0].state.counted == 7


def test_a_parameter_goes_on_from_the_messages_unless_they_mean_nothing_to_it() -> None:
    session = graph_session(tolerance=0.0)
    session.apply(Step(5))
    run(session)
    before = messages(session)
    session.apply(SetParameter(0, "damping", 0.3))
    assert session.moment.iteration == 5
    assert torch.equal(messages(session), before)
    session.apply(SetParameter(0, "kernel", "generic"))
    assert session.moment.iteration == 0
    session.apply(Undo())
    session.apply(Undo())
    assert session.moment.lanes[0].algorithm == BeliefPropagation()


def test_a_drag_of_a_slider_is_one_undo_step() -> None:
    session = graph_session()
    for value in (0.1, 0.2, 0.3):
        session.apply(SetParameter(0, "damping", value, gesture=5))
    assert len(session.undo) == 1
    session.apply(Undo())
    assert session.moment.lanes[0].algorithm.values()["damping"] == 0.0
    session.apply(Redo())
    assert session.moment.lanes[0].algorithm.values()["damping"] == 0.3


# Refusals and stops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Paint("sky", 1, ((1, 1),), 1), "no layer 'sky'"),
        (Paint("hints", 7, ((1, 1),), 1), "painted with 7"),
        (Paint("hints", 1, ((1, float("inf")),), 1), "finite"),
        (Paint("hints", 1, ((1, 1),), 1, strength=0.0), "strength 0"),
        (Fill("hints", 1, 99, 0), "row 99"),
        (SetParameter(0, "damping", 2.0), "damping is 2"),
        (SetParameter(0, "dampink", 0.1), "did you mean 'damping'"),
        (SetParameter(3, "damping", 0.1), "no lane 3"),
        (SetAlgorithm(0, "bpp"), "did you mean 'bp'"),
        (SetModel(0, "nothing"), "nothing"),
        (RemoveLane(0), "only one"),
        (SetLimits(0, 1e-3), "iterations is 0"),
        (SetSpeed(-1.0), "speed is -1"),
        (SetImage(np.full((3, 3), 9)), "value 9"),
        (SetImage(np.zeros((3, 300), int)), "at most 256"),
        (SetImage(np.zeros((3, 3), int), np.zeros((2, 3), int)), "truth"),
        (AddNoise(edges=-1), "edges"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence_and_changes_nothing(command: Command, words: str) -> None:
    session = segment_session()
    session.apply(Step(2))
    run(session)
    before = session.moment
    assert session.apply(command, 40) is None
    frame = last(session)
    assert words in frame.message
    assert frame.applied == 40
    assert frame.message.endswith((".", "?"))
    assert_same_moment(session.moment, before)
    assert not session.modified
    session.apply(Paint("hints", 1, ((1, 1),), 1))
    assert last(session).message == ""


def test_evidence_that_contradicts_the_model_is_refused() -> None:
    never = np.array([-np.inf, 0.0])
    graph = FactorGraph.from_factors([2, 2, 2], [((0, 1), np.zeros((2, 2))), ((1,), never)])
    session = Session(GraphWorkspace({"graph": graph}, (1, 3)), "graph")
    session.apply(Paint("hints", 1, ((0.5, 0.5),), 0.2))
    session.apply(Paint("hints", 0, ((0.5, 0.5), (2.5, 0.5)), 0.2))
    frames = run(session)
    assert "contradicts the model at node 1" in frames[0].message
    assert frames[-1].layers["hints"].tolist() == [[1, NO_HINT, NO_HINT]]
    assert frames[-1].lanes[0].status == "converged"


def test_a_contradiction_found_on_the_way_stops_the_lane_until_it_is_taken_back() -> None:
    equal = np.where(np.eye(2) > 0, 0.0, -np.inf)
    graph = FactorGraph.from_factors([2] * 4, [((i, i + 1), equal) for i in range(3)])
    session = Session(GraphWorkspace({"graph": graph}, (1, 4)), "graph")
    session.apply(Paint("hints", 0, ((0.5, 0.5),), 0.2))
    session.apply(Paint("hints", 1, ((3.5, 0.5),), 0.2))
    lane = run(session)[-1].lanes[0]
    assert lane.status == "stopped"
    assert "contradicts" in lane.message
    session.apply(Undo())
    session.apply(Restart())
    lane = run(session)[-1].lanes[0]
    assert lane.status == "converged"
    assert lane.pictures["belief"][0, :, 0].tolist() == [1.0] * 4


class Poisoned(BeliefPropagation):
    """BP whose fourth message is not a number from the third iteration on."""

    name = "poisoned"

    def step(self, model: Any, evidence: Any, state: Any) -> Any:
        following: Any = super().step(model, evidence, state)
        if following.iteration < 3:
            return following
        bad = following.ratios.clone()
        bad[3] = torch.nan
        return dataclasses.replace(following, ratios=bad, residual=torch.tensor(torch.nan))


def with_algorithm(session: Any, algorithm: Any) -> None:
    """Give the session's lane an algorithm that no registry knows."""
    moment = session.timeline.origin
    lane = dataclasses.replace(moment.lanes[0], algorithm=algorithm)
    session.timeline.__init__(session.timeline.stage, dataclasses.replace(moment, lanes=(lane,)))


def test_numbers_that_are_not_finite_stop_the_lane_at_its_last_good_state() -> None:
    session = graph_session(playing=True)
    with_algorithm(session, Poisoned())
    frame = last(session)
    lane = frame.lanes[0]
    assert (lane.status, lane.iteration) == ("stopped", 2)
    assert "Iteration 3 " in lane.message
    assert "entry 3 of its ratios" in lane.message
    assert torch.isfinite(messages(session)).all()
    assert np.isfinite(lane.pictures["belief"]).all()
    session.apply(Restart())
    assert last(session).lanes[0].status == "stopped"


class Broken(BeliefPropagation):
    name = "broken"

    def step(self, model: Any, evidence: Any, state: Any) -> Any:
        raise RuntimeError("a bug")


def test_a_fault_in_an_algorithm_stops_its_lane_only(caplog: pytest.LogCaptureFixture) -> None:
    session = graph_session(playing=True)
    with_algorithm(session, Broken())
    lane = last(session).lanes[0]
    assert lane.status == "stopped"
    assert "a bug" in lane.message
    assert any(record.exc_info for record in caplog.records)
    caplog.clear()
    session.apply(SetAlgorithm(0, "bp"))
    assert last(session).lanes[0].status == "converged"


def test_a_run_that_does_not_settle_is_called_diverging() -> None:
    session = graph_session(playing=True, iterations=80, model="frustrated")
    assert last(session).lanes[0].status == "diverging"
    session.apply(SetParameter(0, "damping", 0.6))
    assert last(session).lanes[0].status in ("converged", "iteration limit")


# Undo -----------------------------------------------------------------------------------------------------------------


def test_one_stroke_is_one_undo_step_and_comes_back() -> None:
    session = segment_session()
    start = session.document
    for x in range(8):
        session.apply(Paint("observed", SEEN, ((x, 3.0), (x + 1.0, 3.0)), 1.0, stroke_id=4))
    session.apply(Paint("hints", 2, ((5.0, 5.0),), 2.0, 0.5, stroke_id=5))
    painted = session.document
    assert len(session.undo) == 2
    frame = last(session)
    assert (frame.undo, frame.redo) == ("Brush stroke", "")
    session.apply(Undo())
    session.apply(Undo())
    assert session.document.same(start)
    assert last(session).redo == "Brush stroke"
    session.apply(Redo())
    session.apply(Redo())
    assert session.document.same(painted)


def test_opening_a_picture_can_be_undone() -> None:
    session = segment_session()
    session.apply(Paint("hints", 2, ((5.0, 5.0),), 2.0))
    before = session.document
    session.apply(SetImage(np.zeros((4, 5), int), np.ones((4, 5), int), "zeros"))
    frame = last(session)
    assert (frame.shape, frame.name, frame.undo) == ((4, 5), "zeros", "Open zeros")
    session.apply(Undo())
    assert session.document.same(before)
    assert last(session).shape == (9, 11)
    session.apply(Redo())
    frame = last(session)
    assert np.array_equal(frame.layers["truth"], np.ones((4, 5)))


def test_an_edit_that_changes_nothing_is_no_undo_step() -> None:
    session = segment_session()
    session.apply(Paint("observed", UNSEEN, ((5.0, 5.0),), 2.0))
    session.apply(Paint("observed", SEEN, ((-50.0, 5.0),), 2.0))
    assert len(session.undo) == 0
    assert session.timeline.log == []


def test_two_hundred_steps_are_kept() -> None:
    session = segment_session()
    for number in range(210):
        session.apply(Paint("hints", number % 3, ((5, 5),), 0.3))
    assert len(session.undo) == 200


def test_a_stroke_on_a_large_image_is_undone_from_little_memory() -> None:
    session = segment_session(shape=(256, 256))
    session.apply(Paint("observed", SEEN, ((10.0, 10.0), (60.0, 10.0)), 2.0))
    step = session.undo.to_undo()
    assert step is not None
    patch: Any = step.inverses[0]
    assert 0 < patch.bytes < 2000
    assert {tile.layer for tile in patch.tiles} == {"observed"}


# Tools ----------------------------------------------------------------------------------------------------------------


def test_noise_adds_edges_away_from_contours_and_deletes_some() -> None:
    session = segment_session(shape=(40, 40))
    session.apply(PaintRectangle("observed", SEEN, (10, 10, 1, 20)))
    session.apply(AddNoise(edges=5, deletion=0.0, seed=1))
    observed = session.document.layers["observed"]
    assert (observed[10, 10:30] == SEEN).all()
    assert (observed == SEEN).sum() == 20 + 15
    rows, columns = np.nonzero(observed == SEEN)
    extra = ~((rows == 10) & (columns >= 10) & (columns < 30))
    assert (np.abs(rows[extra] - 10) > 1).sum() + ((columns[extra] < 9) | (columns[extra] > 30)).sum() >= 15
    session.apply(Undo())
    session.apply(AddNoise(edges=0, deletion=0.5, seed=1))
    assert 2 < (session.document.layers["observed"] == SEEN).sum() < 18


def test_fill_stays_within_a_closed_contour() -> None:
    session = segment_session()
    session.apply(PaintRectangle("hints", 0, (2, 2, 5, 5)))
    session.apply(PaintRectangle("hints", -1, (3, 3, 3, 3)))
    session.apply(Fill("hints", 2, 4, 4))
    hints = session.document.layers["hints"]
    assert (hints[3:6, 3:6] == 2).all()
    assert hints[0, 0] == NO_HINT
    session.apply(ClearLayer("hints"))
    assert (session.document.layers["hints"] == NO_HINT).all()
    assert len(session.undo) == 4


def test_a_soft_hint_pulls_and_a_hard_one_decides() -> None:
    beliefs = []
    for strength in (0.1, 0.6, 1.0):
        session = segment_session()
        session.apply(Paint("hints", 2, ((5.5, 4.5),), 0.3, strength))
        beliefs.append(float(last(session).lanes[0].pictures["belief"][4, 5, 2]))
    assert beliefs[0] < beliefs[1] < beliefs[2] == 1.0


def test_an_unknown_pixel_has_no_evidence() -> None:
    session = segment_session()
    session.apply(Paint("observed", 2, ((5.5, 4.5),), 0.3))
    stage = session.timeline.stage
    evidence = stage.evidence(session.document, session.moment.lanes[0].model).log_potentials
    assert (evidence[4, 5] == 0).all()
    assert (evidence[4, 6] != 0).any()


def test_pausing_stops_and_edits_do_not_start_a_paused_session() -> None:
    session = graph_session(playing=True, iterations=1000, tolerance=0.0)
    session.advance(0.0)
    session.apply(Pause())
    run(session)
    iteration = session.moment.iteration
    session.apply(HINT)
    frame = last(session)
    assert (frame.iteration, frame.playing, frame.lanes[0].status) == (iteration, False, "paused")
