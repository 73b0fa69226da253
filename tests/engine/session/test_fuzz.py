"""Thousands of random commands: what a session holds is always what its log says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.protocol.commands import Pause, Redo, Scrub, Step, Undo
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.session.undo import UndoStack
from tests.engine.helpers.person import Person, busy
from tests.engine.helpers.sessions import assert_same_point, graph_session, run, segment_session

COMMANDS = 800
CHECK_EVERY = 100


def check_replay(session: Session) -> None:
    timeline = session.timeline
    again = replayed(timeline.runner, timeline.origin, timeline.log, session.point.iteration)
    assert_same_point(session.point, again)
    for mine, theirs in zip(session.point.lanes, again.lanes, strict=True):
        if mine.state is not None:
            left = timeline.runner.view(session.point, mine)
            right = timeline.runner.view(again, theirs)
            assert left is not None
            assert right is not None
            labels: Any = session.workspace
            assert np.array_equal(labels.labels(left), labels.labels(right))


@pytest.mark.parametrize(
    ("make", "person"),
    [
        (graph_session, lambda: Person(1, {"hints": 2}, ("weak", "strong"), pictures=False)),
        (segment_session, lambda: Person(2, {"observed": 3, "hints": 3}, ("a", "b"), pictures=True)),
    ],
)
def test_random_commands_leave_what_their_log_says(make: Any, person: Any) -> None:
    session = make(memory=100_000, **({} if make is graph_session else {"shape": (7, 8)}))
    session.undo = UndoStack(COMMANDS)
    session.workspace.log_partition_stride = lambda view: 0  # its values are not compared here, its time would be felt
    who, undos = person(), 0
    shadows: list[Any] = []  # what each undo must bring back
    for number in range(COMMANDS):
        run(session)  # a pending seek would make edits wait, and this test compares them at once
        command = who.next(session)
        before, steps = timeline_present(session), len(session.undo)
        session.apply(command)
        run(session) if isinstance(command, Step | Scrub) else busy(session, who.random)
        if isinstance(command, Undo) and steps:
            assert timeline_present(session).same(shadows.pop())
            undos += 1
        elif len(session.undo) > steps:
            shadows.append(before)
        if number % CHECK_EVERY == 0:
            run(session)
            check_replay(session)
    run(session)
    check_replay(session)
    assert undos > 30


def timeline_present(session: Session) -> Any:
    """The document that all commands so far give, wherever the cursor is."""
    return session.timeline.present().document


@pytest.mark.parametrize("seed", [4, 5])
def test_undoing_everything_restores_the_beginning_and_redoing_the_end(seed: int) -> None:
    session = segment_session(shape=(7, 8), memory=100_000)
    session.undo = UndoStack(10_000)
    start, specs = session.document, lane_specs(session)
    who = Person(seed, {"observed": 3, "hints": 3}, ("a", "b"), pictures=True)
    for _ in range(300):
        session.apply(who.next(session))
        busy(session, who.random)
    session.apply(Pause())
    run(session)
    end, end_specs = timeline_present(session), lane_specs(session)
    steps = len(session.undo)
    assert steps > 20
    for _ in range(steps):
        session.apply(Undo())
        session.advance(0.0)
    assert len(session.undo) == 0
    assert session.document.same(start)
    assert lane_specs(session) == specs
    for _ in range(steps):
        session.apply(Redo())
    assert session.document.same(end)
    assert lane_specs(session) == end_specs
    run(session)
    check_replay(session)


def lane_specs(session: Session) -> Any:
    point = session.timeline.present()
    lanes = [(lane.number, lane.model_name, lane.algorithm, lane.limit) for lane in point.lanes]
    return lanes, point.limits
