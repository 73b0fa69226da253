"""A stroke does not wait for the end of an iteration, and changes nothing that was computed before it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNoise,
    Command,
    Paint,
    Pause,
    Play,
    Redo,
    Scrub,
    SetParameter,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.frames import NO_HINT, Frame
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible, stop_if_interrupted
from mrfstudio.engine.session.lanes import TimelinePoint
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.engine.helpers.sessions import assert_same_point, run, segment_session

HINT = Paint("hints", 2, ((3.5, 4.5),), radius=1.0)


def after(calls: int) -> Callable[[], bool]:
    """False so many times, then true."""
    left = [calls]

    def asked() -> bool:
        left[0] -= 1
        return left[0] < 0

    return asked


def test_nothing_is_given_up_unless_somebody_asks() -> None:
    stop_if_interrupted()
    with interruptible(lambda: False):
        stop_if_interrupted()
    with interruptible(lambda: True):
        with pytest.raises(Interrupted):
            stop_if_interrupted()
        with interruptible(lambda: False):
            stop_if_interrupted()
        with pytest.raises(Interrupted):
            stop_if_interrupted()
    stop_if_interrupted()


def replay(session: Session) -> TimelinePoint:
    """The present point from the log alone."""
    timeline = session.timeline
    return replayed(timeline.runner, timeline.origin, timeline.log, timeline.iteration)


@pytest.mark.parametrize("calls", [0, 1, 5, 6])
def test_an_interrupted_iteration_goes_on_and_is_the_same(calls: int) -> None:
    session, other = segment_session(), segment_session()
    for each in (session, other):
        each.apply(Step(3))
        run(each)
    before = session.point
    session.apply(Play())
    session.advance(0.0, after(calls))
    assert session.point is before
    while session.point is before:
        session.advance(0.0, after(0))
    other.apply(Step(1))
    run(other)
    assert_same_point(session.point, other.point)


def test_a_stroke_in_the_middle_is_shown_at_once_and_applies_after_the_iteration() -> None:
    session = segment_session(playing=True)
    session.advance(0.0)
    session.advance(0.0, after(3))
    assert session.point.iteration == 1
    other = replace(HINT, value=1)
    session.apply(other, 39)
    session.apply(HINT, 40)
    frame = session.advance(0.0)
    assert frame is not None
    assert (frame.applied, frame.iteration, frame.modified) == (40, 1, True)
    assert frame.layers["hints"][4, 3] == 2
    assert frame.lanes[0].pictures["belief"][4, 3, 2] == 1
    assert session.document.layers["hints"][4, 3] == NO_HINT
    frame = session.advance(0.0)
    assert frame is not None
    assert (frame.applied, frame.iteration, frame.undo != "") == (40, 2, True)
    assert [(s.iteration, s.command) for s in session.timeline.log] == [(2, other), (2, HINT)]
    assert session.document.layers["hints"][4, 3] == 2
    assert_same_point(session.point, replay(session))


@pytest.mark.parametrize("command", [Pause(), Undo(), Scrub(0), AddNoise(edges=1, deletion=0.0, seed=0)])
def test_what_cannot_wait_for_the_iteration_ends_it(command: Command) -> None:
    """All that was painted before is there when it applies."""
    session = segment_session(playing=True)
    session.advance(0.0)
    session.advance(0.0, after(3))
    session.apply(HINT)
    session.apply(command)
    session.settle()
    hint = 255 if isinstance(command, Undo) else 2
    assert session.document.layers["hints"][4, 3] == hint
    assert session.shown is session.point
    run(session)
    assert_same_point(session.point, replay(session))


def test_strokes_and_interruptions_at_random_are_a_replay_of_the_log() -> None:
    chance = random.Random(4)
    session = segment_session(playing=True, limits=Limits(iterations=40, tolerance=0.0))
    session.apply(AddLane("b", "bp", {}))
    for number in range(300):
        if chance.random() < 0.3:
            place = (chance.uniform(0, 11), chance.uniform(0, 9))
            session.apply(Paint("hints", chance.randrange(3), (place,), 1.0, stroke_id=number // 10))
        elif chance.random() < 0.1:
            damping = SetParameter(0, "damping", chance.random() / 2)
            session.apply(chance.choice((Undo(), Redo(), Pause(), Step(2), damping)))
            session.advance(0.0, after(chance.randrange(20)))
            session.apply(Play())
        session.advance(0.0, after(chance.randrange(20)))
    session.settle()
    assert session.point.iteration > 30
    assert_same_point(session.point, replay(session))


def test_a_walk_through_history_goes_on_where_it_was_interrupted() -> None:
    session = segment_session(memory=1, limits=Limits(iterations=15, tolerance=0.0))
    session.apply(Step(12))
    run(session)
    wanted = session.point
    session.apply(Step(3))
    run(session)
    session.apply(Scrub(12))
    for calls in range(40):
        session.advance(0.0, after(calls))
    run(session)
    assert_same_point(session.point, wanted)


def logs(frames: list[Frame]) -> list[tuple[int, float | None]]:
    return [(s.iteration, s.log_partition) for frame in frames for s in frame.lanes[0].scalars]


def test_of_a_large_picture_the_iteration_is_shown_before_its_log_z(monkeypatch: pytest.MonkeyPatch) -> None:
    session = segment_session()
    session.apply(Step(2))
    expected = logs(run(session))
    monkeypatch.setattr(SegmentWorkspace, "log_partition_later", lambda self, view: True)
    session = segment_session()
    session.apply(Step(2))
    frames = run(session)
    assert logs(frames) == expected
    first = next(frame for frame in frames if frame.iteration == 1)
    assert not first.lanes[0].scalars
    assert all(value is not None for _, value in expected)


def test_a_log_z_that_is_interrupted_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentWorkspace, "log_partition_later", lambda self, view: True)
    session = segment_session()
    session.apply(Step(1))
    frames = []
    for _ in range(4):
        frame = session.advance(0.0, after(8) if session.point.iteration == 0 else after(0))
        if frame is not None:
            frames.append(frame)
    assert logs(frames) == [(1, None)]
    assert session.wait is None


def test_a_stroke_instead_of_log_z_leaves_the_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentWorkspace, "log_partition_later", lambda self, view: True)
    session = segment_session(playing=True)
    first = session.advance(0.0)
    assert first is not None
    assert (first.iteration, first.lanes[0].scalars) == (1, ())
    session.apply(HINT)
    second = session.advance(0.0)
    assert second is not None
    assert logs([second]) == [(1, None)]
    assert second.lanes[0].scalars[0].residual is not None
