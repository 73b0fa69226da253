"""Going back and forth in time: messages come back bit for bit, within a memory budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.protocol.commands import (
    AddLane,
    Paint,
    Play,
    RemoveLane,
    Restart,
    Scrub,
    SetParameter,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.session import history as history_module
from mrfstudio.engine.session import lane_runner
from mrfstudio.engine.session import timeline as timeline_module
from mrfstudio.engine.session.history import History
from mrfstudio.engine.session.lanes import TimelinePoint, state_tensors
from mrfstudio.engine.session.timeline import replayed
from tests.engine.helpers.sessions import assert_same_point, graph_session, run, segment_session


def hint(x: float, y: float, value: int = 1) -> Paint:
    return Paint("hints", value, ((x + 0.5, y + 0.5),), 0.3)


def go(session: Any, *commands: Any) -> TimelinePoint:
    for command in commands:
        session.apply(command)
        run(session)
    point: TimelinePoint = session.point
    return point


def recorded(session: Any, iterations: int) -> dict[int, TimelinePoint]:
    """Step forward, painting at some iterations; the point at each."""
    points = {0: session.point}
    for iteration in range(1, iterations + 1):
        go(session, Step())
        if iteration % 4 == 0:
            go(session, hint(iteration % 6, iteration % 5, iteration % 2))
        if iteration == 6:
            go(session, SetParameter(0, "damping", 0.2))
        points[iteration] = session.point
    return points


@pytest.mark.parametrize("make", [graph_session, segment_session])
@pytest.mark.parametrize("memory", [0, 20_000, 10**9])
def test_every_iteration_can_be_returned_to_bit_for_bit(make: Any, memory: int) -> None:
    session = make(memory=memory)
    points = recorded(session, 14)
    for target in [13, 12, 11, 3, 4, 14, 0, 9, 9, 8, 1, 14]:
        go(session, Scrub(target))
        assert_same_point(session.point, points[target])
    for target in range(13, -1, -1):
        go(session, Step(-1))
        assert_same_point(session.point, points[target])
    for target in range(1, 15):
        go(session, Step(1))
        assert_same_point(session.point, points[target])
    assert session.timeline.newest == 14


def test_playing_from_the_past_repeats_it_and_goes_on() -> None:
    session = graph_session(iterations=6, tolerance=0.0)
    points = recorded(session, 10)
    go(session, Scrub(2), Play())
    assert session.timeline.newest == 14  # painted at 8, limit 6
    go(session, Scrub(10))
    assert_same_point(session.point, points[10])


@pytest.mark.parametrize("algorithm", ["gibbs", "mean-field", "bp"])
def test_any_algorithm_comes_back(algorithm: str) -> None:
    session = graph_session(algorithm=algorithm, memory=0)
    go(session, AddLane("strong"))
    points = {}
    for iteration in range(1, 9):
        points[iteration] = go(session, Step())
        if iteration == 4:
            points[4] = go(session, hint(1, 1))
    for target in (3, 7, 4, 5):
        assert_same_point(go(session, Scrub(target)), points[target])


def test_the_past_shows_the_evidence_it_had_and_the_present_keeps_all() -> None:
    session = graph_session(tolerance=0.0)
    go(session, Step(3), hint(0, 0), Step(3), hint(1, 0), Step(3))
    session.apply(Scrub(4))
    frame = run(session)[-1]
    assert frame.layers["hints"][0, :2].tolist() == [1, NO_HINT]
    assert (frame.iteration, frame.newest) == (4, 9)
    kept = session.point.lanes[0].state
    session.apply(hint(2, 0))
    frame = run(session)[-1]
    assert frame.layers["hints"][0, :3].tolist() == [1, 1, 1]
    assert (frame.iteration, frame.newest, frame.cut) == (4, 4, 4)
    assert session.point.lanes[0].state is kept
    assert [stamped.iteration for stamped in session.timeline.log] == [3, 4, 4]
    go(session, Undo(), Undo())
    assert session.document.layers["hints"][0, :3].tolist() == [1, NO_HINT, NO_HINT]


def test_a_refused_or_empty_edit_in_the_past_does_not_forget_the_future() -> None:
    session = graph_session(tolerance=0.0)
    go(session, Step(5), Scrub(2), Paint("sky", 1, ((1, 1),), 1), hint(-40, 0))
    assert session.timeline.newest == 5
    go(session, Scrub(5))
    assert session.point.iteration == 5


def test_an_edit_given_while_the_past_is_recomputed_waits_for_it() -> None:
    session = graph_session(tolerance=0.0, memory=0)
    go(session, Step(20))
    timeline = session.timeline
    expected = replayed(timeline.runner, timeline.origin, timeline.log, 12).lanes[0].state
    session.apply(Scrub(12), 5)
    session.apply(hint(0, 0), 6)
    frame = session.advance(0.0)
    assert frame is not None
    assert (frame.applied, frame.seeking, frame.iteration, frame.newest) == (5, 12, 20, 20)
    frame = run(session)[-1]
    assert (frame.applied, frame.seeking, frame.iteration, frame.newest) == (6, None, 12, 12)
    assert frame.layers["hints"][0, 0] == 1
    state = session.point.lanes[0].state
    pairs = zip(state_tensors(state), state_tensors(expected), strict=True)  # type: ignore[arg-type]
    assert all(torch.equal(a, b) for (_, a), (_, b) in pairs)


def test_restart_begins_anew_with_all_evidence() -> None:
    session = graph_session(tolerance=0.0)
    go(session, Step(3), hint(0, 0), Step(3), Scrub(1), Restart())
    assert (session.point.iteration, session.timeline.newest) == (0, 0)
    assert session.document.layers["hints"][0, 0] == 1
    once = go(session, Step(4))
    assert_same_point(once, go(session, Restart(), Step(4)))
    assert {stamped.iteration for stamped in session.timeline.log} == {0}


def test_a_removed_lane_is_there_in_the_past() -> None:
    session = graph_session(tolerance=0.0)
    go(session, AddLane("strong"), Step(4), RemoveLane(0), Step(2))
    assert [lane.number for lane in session.point.lanes] == [1]
    assert [lane.number for lane in go(session, Scrub(3)).lanes] == [0, 1]
    assert [lane.number for lane in go(session, hint(0, 0)).lanes] == [1]
    timeline = session.timeline
    assert_same_point(replayed(timeline.runner, timeline.origin, timeline.log, 3), session.point)


def test_pictures_of_changes_come_back_too() -> None:
    session = segment_session(memory=10**9)
    session.apply(SetView(("residual",)))
    session.apply(Step(6))
    frames = {frame.iteration: frame for frame in run(session)}
    session.apply(Scrub(4))
    again = run(session)[-1].lanes[0].pictures["residual"]
    assert np.array_equal(again, frames[4].lanes[0].pictures["residual"])


def test_a_long_log_is_forgotten_at_a_fresh_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "LONGEST_LOG", 10)
    session = graph_session(tolerance=0.0)
    for number in range(15):
        go(session, hint(number % 6, number % 5, number % 2))
    before = session.document
    go(session, Restart())
    assert session.timeline.log == []
    go(session, hint(5, 4), Step(3))
    timeline = session.timeline
    assert_same_point(replayed(timeline.runner, timeline.origin, timeline.log, 3), session.point)
    go(session, Undo())
    assert session.document.same(before)


# Memory ---------------------------------------------------------------------------------------------------------------


def point_with_states(iteration: int, like: TimelinePoint, size: int) -> TimelinePoint:
    lane = like.lanes[0]
    state = replace(lane.state, iteration=iteration, ratios=torch.zeros(size))  # type: ignore[type-var, arg-type]
    return replace(like, iteration=iteration, lanes=(replace(lane, state=state),))


def test_key_frames_stay_within_the_budget_and_thin_out_with_distance() -> None:
    like, size = graph_session().point, 1000
    document = sum(array.nbytes for array in like.document.arrays.values())
    history = History(40 * 4 * size + document)
    for iteration in range(2001):
        history.keep(point_with_states(iteration, like, size), iteration)
        assert history.bytes <= history.budget + 4 * size
    kept = np.array(history.iterations)
    assert kept[0] == 0
    assert kept[-1] == 2000
    assert len(kept) <= 42
    gaps = np.diff(kept)
    assert (gaps[-8:] <= 4).all()
    assert gaps[:4].mean() > 20 * gaps[-8:].mean()
    assert gaps.max() <= 2001 / 2


def test_memory_is_counted_once_and_given_back() -> None:
    session = graph_session(tolerance=0.0)
    go(session, AddLane("strong", limit=2), Step(10))
    history = session.timeline.history
    document = sum(array.nbytes for array in session.document.arrays.values())
    one = sum(tensor.nbytes for _, tensor in state_tensors(session.point.lanes[0].state))  # type: ignore[arg-type]
    other = sum(tensor.nbytes for _, tensor in state_tensors(session.point.lanes[1].state))  # type: ignore[arg-type]
    assert history.bytes == document + 10 * one + 2 * other
    history.clear()
    assert history.bytes == 0


def test_many_small_points_are_limited_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "MOST", 40)
    like = graph_session().point
    history = History(10**9)
    for iteration in range(500):
        history.keep(point_with_states(iteration, like, 1), iteration)
    assert len(history.iterations) <= 40
    assert history.before(499).iteration == 499


def test_the_number_of_threads_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums depend on how many threads share them, so a session computes with the number it began with."""
    before = torch.get_num_threads()
    session = graph_session(threads=2)
    seen = []
    runner = session.timeline.runner
    original = runner._next_state

    def spy(document: Any, lane: Any, midway: Any) -> Any:
        with runner.pinned(lane.state):
            seen.append(torch.get_num_threads())
        return original(document, lane, midway)

    monkeypatch.setattr(runner, "_next_state", spy)
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            monkeypatch.setattr(lane_runner, "WORTH_TWO", 0)
            go(session, Step())
            monkeypatch.setattr(lane_runner, "WORTH_TWO", 10**9)
            go(session, Step())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert seen == [2, 1, 2, 1]
