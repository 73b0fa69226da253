"""One stroke is one step of undo, and comes back from little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.data.pictures.border_noise import SEEN, UNSEEN
from mrfstudio.engine.protocol.commands import (
    Command,
    Paint,
    Redo,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetParameter,
    Step,
    Undo,
)
from mrfstudio.engine.session.inverses import Restore
from mrfstudio.engine.session.lanes import state_tensors
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.session.undo import UndoStack
from mrfstudio.engine.workspaces.sessions import let_go_of_past
from tests.engine.helpers.sessions import assert_same_point, graph_session, last, run, segment_session


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
    step = session.undo.last
    assert step is not None
    patch: Any = step.inverses[0]
    assert 0 < patch.bytes < 2000
    assert {tile.layer for tile in patch.tiles} == {"observed"}


# Messages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [graph_session, segment_session])
@pytest.mark.parametrize(
    "spoil",
    [
        SetParameter(0, "damping", 0.9),
        SetAlgorithm(0, "mean-field", {}),
        SetLimits(40, 1e-3),
        Paint("hints", 1, ((2.5, 1.5), (4.5, 1.5)), 0.3),
    ],
    ids=["parameter", "algorithm", "limits", "stroke"],
)
def test_undo_brings_back_the_messages_of_the_moment(make: Any, spoil: Any) -> None:
    session = make()
    session.apply(Step(6))
    run(session)
    before, taken = session.point, session.measurements.taken()
    session.apply(spoil)
    session.apply(Step(4))
    run(session)
    spoilt = session.point
    assert spoilt.iteration != before.iteration
    session.apply(Undo())
    run(session)
    assert_same_point(session.point, before)
    assert session.measurements.taken()[0].all == taken[0].all
    timeline = session.timeline
    assert_same_point(replayed(timeline.runner, timeline.origin, timeline.log, 6), before)
    session.apply(Redo())
    session.apply(Step(4))
    run(session)
    assert_same_point(session.point, spoilt)
    session.apply(Undo())
    run(session)
    assert_same_point(session.point, before)


def test_a_stroke_of_many_pieces_goes_back_to_before_the_first() -> None:
    session = graph_session()
    session.apply(Step(3))
    run(session)
    before = session.point
    for x in (1.5, 2.5, 3.5):
        session.apply(Paint("hints", 1, ((x, 1.5), (x + 1, 1.5)), 0.3, stroke_id=7))
        session.apply(Step(2))
        run(session)
    session.apply(Undo())
    run(session)
    assert_same_point(session.point, before)


def test_messages_that_are_not_held_any_more_are_said_to_go_on() -> None:
    session = graph_session()
    session.undo = UndoStack(held=0)
    session.apply(Step(3))
    run(session)
    session.apply(SetParameter(0, "damping", 0.5))
    session.apply(Step(2))
    run(session)
    session.apply(Undo())
    assert "not held any more" in run(session)[0].message
    assert session.point.iteration == 5
    assert session.point.lanes[0].algorithm.damping == 0.0  # type: ignore[attr-defined]


def test_held_messages_stay_within_memory() -> None:
    session = graph_session()
    session.apply(Step(3))
    run(session)
    one = session.undo
    session.apply(SetParameter(0, "damping", 0.1))
    assert one.last is not None
    assert one.last.before is not None
    known = one.last.before.mark.point.lanes[0].state
    assert known is not None
    state = sum(tensor.nbytes for _, tensor in state_tensors(known))
    session.undo = UndoStack(held=one.bytes + state)
    for damping in (0.2, 0.3, 0.4, 0.5):
        session.apply(SetParameter(0, "damping", damping))
        session.apply(Step(1))
        run(session)
    held = [step.before is not None for step in session.undo._done]
    assert held == [False, False, True, True]
    assert session.undo.bytes <= one.bytes + state
    assert session.timeline.history.others == session.undo.bytes


def test_messages_that_several_steps_share_count_once() -> None:
    session = graph_session()
    session.apply(Step(3))
    run(session)
    session.apply(SetParameter(0, "damping", 0.1))
    once = session.undo.bytes
    assert once > 0
    for damping in (0.2, 0.3, 0.4):
        session.apply(SetParameter(0, "damping", damping))
    assert session.undo.bytes == once


def test_key_frames_leave_room_for_what_undo_holds() -> None:
    session = segment_session(memory=20_000)
    for value in (0, 1, 0, 1):
        session.apply(Paint("hints", value, ((2.5, 1.5), (4.5, 1.5)), 0.3))
        session.apply(Step(9))
        run(session)
    history = session.timeline.history
    assert history.others == session.undo.bytes > 0
    assert len(history.iterations) <= 3  # the first, the newest and the one looked at are all that stays
    let_go_of_past(session, 0)
    assert all(step.before is None for step in session.undo._done)
    session.apply(Undo())
    assert "not held any more" in run(session)[0].message


def test_pictures_that_steps_put_back_stay_within_memory() -> None:
    stack = UndoStack(stored=1000)
    for number in range(5):
        layers = {"observed": bytes([number]) * 400}
        stack.push(Command(), Restore((20, 20), layers))
    assert len(stack) == 2
    stack.push(Command(), Restore((50, 50), {"observed": bytes(2500)}))
    assert len(stack) == 1  # the last step can be undone however large it is
    assert stack.bytes == 2500
