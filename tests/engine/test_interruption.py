"""An iteration that is given up leaves no trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mrfstudio.engine.commands import Paint, Play, Scrub, Step
from mrfstudio.engine.frames import Frame
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.interruption import Interrupted, breathe, interruptible
from mrfstudio.engine.workspaces.segment import SegmentWorkspace
from tests.engine.sessions import assert_same_moment, run, segment_session

HINT = Paint("hints", 2, ((3.5, 4.5),), radius=1.0)


def after(calls: int) -> Callable[[], bool]:
    """False so many times, then true."""
    left = [calls]

    def asked() -> bool:
        left[0] -= 1
        return left[0] < 0

    return asked


def test_nothing_is_given_up_unless_somebody_asks() -> None:
    breathe()
    with interruptible(lambda: False):
        breathe()
    with interruptible(lambda: True):
        with pytest.raises(Interrupted):
            breathe()
        with interruptible(lambda: False):
            breathe()
        with pytest.raises(Interrupted):
            breathe()
    breathe()


@pytest.mark.parametrize("calls", [0, 1, 5, 7])
def test_an_interrupted_iteration_leaves_the_session_as_it_was(calls: int) -> None:
    session, other = segment_session(), segment_session()
    for each in (session, other):
        each.apply(Step(3))
        run(each)
    before = session.moment
    session.apply(Play())
    session.advance(0.0, after(calls))
    assert session.moment is before
    session.apply(HINT)
    other.apply(HINT)
    other.apply(Play())
    run(session)
    run(other)
    assert session.moment.iteration > before.iteration
    assert_same_moment(session.moment, other.moment)


def test_a_walk_through_history_goes_on_where_it_was_interrupted() -> None:
    session = segment_session(memory=1, limits=Limits(iterations=15, tolerance=0.0))
    session.apply(Step(12))
    run(session)
    wanted = session.moment
    session.apply(Step(3))
    run(session)
    session.apply(Scrub(12))
    for calls in range(40):
        session.advance(0.0, after(calls))
    run(session)
    assert_same_moment(session.moment, wanted)


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
        frame = session.advance(0.0, after(8) if session.moment.iteration == 0 else after(0))
        if frame is not None:
            frames.append(frame)
    assert logs(frames) == [(1, None)]
    assert session.wait is None
