"""What undo and history of a photograph take: few bytes, and a step back is never longer than one run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.protocol.commands import Command, Paint, Play, Redo, Scrub, SetPhotograph, SetView, Undo
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.session.undo import UndoStack
from mrfstudio.engine.workspaces.photograph.workspace import MODEL, PhotographWorkspace
from tests.engine.helpers.photographs import disc
from tests.engine.helpers.sessions import assert_same_point

MEGAPIXELS = 12_000_000
HEIGHT, WIDTH = 120, 160
SCALE = HEIGHT * WIDTH / MEGAPIXELS


def strokes(count: int) -> list[Command]:
    """On the disc and around it, in turns."""
    made: list[Command] = []
    for k in range(count):
        y = HEIGHT / 2 - 10 + 3.0 * k if k % 2 else 4.0 + 2 * k
        made.append(Paint("strokes", 1 if k % 2 else 2, ((70.0, y), (90.0, y)), 2, 1.0, k + 1))
    return made


def painted(memory: int, count: int) -> tuple[Session, list[int]]:
    """A session with strokes, each settled before the next; the iterations at which each had."""
    workspace = PhotographWorkspace()
    document = workspace.photographed(SetPhotograph(as_content(disc(HEIGHT, WIDTH)), "disc"))
    session = Session(workspace, MODEL, "cutout", document=document, memory=memory)
    session.undo = UndoStack.of_size(int(workspace.undo_memory * SCALE))
    session.apply(SetView(("overlay",)))
    ends = []
    for stroke in strokes(count):
        session.apply(stroke)
        ends.append(rested(session))
    return session, ends


def rested(session: Session) -> int:
    while session.wait == 0.0:
        session.advance(0.05)
    return session.point.iteration


def reached(roots: Iterable[Any]) -> dict[int, int]:
    """Bytes of every array and tensor that can be reached from some values, by where they lie in memory."""
    found: dict[int, int] = {}
    seen, ahead = set(), list(roots)
    while ahead:
        value = ahead.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            found[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
        elif isinstance(value, np.ndarray):
            whole = value
            while isinstance(whole.base, np.ndarray):
                whole = whole.base
            found[whole.__array_interface__["data"][0]] = whole.nbytes
        elif isinstance(value, bytes):
            found[id(value)] = len(value)
        elif isinstance(value, dict):
            ahead += value.values()
        elif isinstance(value, list | tuple) or type(value).__name__ == "deque":
            ahead += value
        elif hasattr(value, "__dict__"):
            ahead += vars(value).values()
    return found


def beyond(session: Session, *roots: Any) -> int:
    """Bytes that some values hold and the present point, its workspace and its evidence do not."""
    present = reached([session.point, session.workspace, session.timeline.runner])
    return sum(size for at, size in reached(roots).items() if at not in present)


def test_undo_takes_less_than_100_mb_at_12_megapixels() -> None:
    session, _ = painted(0, 7)
    assert session.undo.bytes < 100e6 * SCALE
    assert len(session.undo) == 7
    assert beyond(session, session.undo) < 100e6 * SCALE


def test_undo_counts_all_that_it_holds() -> None:
    session, _ = painted(0, 2)
    session.undo = UndoStack()  # room enough for the messages of this small picture
    for stroke in strokes(6)[2:]:
        session.apply(stroke)
        rested(session)
    held = beyond(session, session.undo)
    assert held > 1e6
    assert held <= 1.1 * session.undo.bytes


@pytest.mark.parametrize("memory", [0, 10**9])
def test_a_step_back_walks_no_further_than_one_run(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    session, ends = painted(memory, 5)
    runs = np.diff(ends, prepend=0)
    steps: list[int] = []
    ticked = LaneRunner.tick

    def counted(runner: LaneRunner, *given: Any) -> Any:
        steps.append(1)
        return ticked(runner, *given)

    monkeypatch.setattr(LaneRunner, "tick", counted)
    for target in (ends[3] - 1, ends[2] + 1, ends[2], ends[1] - 3, ends[4]):
        steps.clear()
        session.apply(Scrub(target))
        while session.timeline.target is not None:
            session.advance(0.0)
        assert len(steps) <= max(runs)
        timeline = session.timeline
        assert_same_point(session.point, replayed(timeline.runner, timeline.origin, timeline.log, target))


def test_an_undone_stroke_gives_the_answer_of_before_whether_messages_were_held_or_not() -> None:
    answers = []
    for held in (0, 10**9):
        session, _ = painted(0, 4)
        session.undo = UndoStack(held=held)
        before = session.timeline.runner.view(session.point, session.point.lanes[0])
        assert before is not None
        session.apply(strokes(5)[4])
        rested(session)
        session.apply(Undo())
        frame = session.advance(0.0)
        assert frame is not None
        assert frame.message == ""  # the strokes say it all: nothing is lost
        session.apply(Play())
        rested(session)
        after = session.timeline.runner.view(session.point, session.point.lanes[0])
        assert after is not None
        np.testing.assert_allclose(after.beliefs.numpy(), before.beliefs.numpy(), rtol=0, atol=1e-6)  # rounding
        answers.append(after.beliefs.numpy())
        session.apply(Redo())
        rested(session)
        assert len(session.undo) == 1
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-6)
