"""Sessions: commands in, frames out, at the pace that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.commands import Paint, Pause, Play, Redo, Scrub, SetParameter, SetSpeed, Step, Undo
from mrfstudio.engine.protocol.frames import NO_HINT, merge
from tests.engine.helpers.sessions import HINT, graph_session, last, messages, run, segment_session


def test_a_session_runs_to_convergence_and_equals_plain_inference() -> None:
    session = graph_session(playing=True)
    session.apply(HINT)
    frame = last(session)
    assert frame.lanes[0].status == "converged"
    model = session.point.lanes[0].model
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
    assert merged.cut == -1  # the first frame of a session forgets what another one had shown
    later = frames[1]
    for frame in frames[2:]:
        later = merge(later, frame)
    assert later.cut == 2
    numbers = session.measurements.by_lane[0].scalars
    assert list(merged.lanes[0].scalars) == numbers


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
    assert session.point.iteration == 9
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
    assert session.point.iteration == 1
    session.advance(1.0)
    assert session.wait == pytest.approx(0.5)
    for _ in range(40):
        now[0] += 0.1
        session.advance(0.001)
    assert session.point.iteration in (8, 9)
    now[0] += 100  # a sleeping machine does not catch up in a rush
    for _ in range(10):
        session.advance(0.0)
    assert session.point.iteration <= 12


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


def test_pausing_stops_and_edits_do_not_start_a_paused_session() -> None:
    session = graph_session(playing=True, iterations=1000, tolerance=0.0)
    session.advance(0.0)
    session.apply(Pause())
    run(session)
    iteration = session.point.iteration
    session.apply(HINT)
    frame = last(session)
    assert (frame.iteration, frame.playing, frame.lanes[0].status) == (iteration, False, "paused")


def test_moved_sliders_alone_are_no_work_and_a_stroke_is() -> None:
    session = segment_session()
    session.apply(SetParameter(0, "damping", 0.3))
    assert session.modified
    assert not session.worth_saving  # nobody is asked before it is lost
    session.apply(Paint("hints", 1, ((2.5, 1.5),), 0.5))
    assert session.worth_saving
    session.apply(Undo())
    assert not session.worth_saving
