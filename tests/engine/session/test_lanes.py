"""Several lanes in step, and one lane whose algorithm or parameter changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.commands import AddLane, Play, Redo, RemoveLane, SetLimits, SetParameter, Step, Undo
from tests.engine.helpers.sessions import HINT, graph_session, last, messages, run


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
    assert session.point.lane(1).limit is None


def test_lane_numbers_stay_and_are_used_again() -> None:
    session = graph_session()
    for model in ("strong", "frustrated"):
        session.apply(AddLane(model))
    session.apply(RemoveLane(1))
    assert [lane.number for lane in session.point.lanes] == [0, 2]
    session.apply(AddLane("weak"))
    assert [(lane.number, lane.model_name) for lane in session.point.lanes] == [
        (0, "weak"), (1, "weak"), (2, "frustrated"),
    ]  # fmt: skip
    for _ in range(4):
        session.apply(AddLane("weak"))
    assert len(session.point.lanes) == 6
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
    assert session.point.lanes[0].state.counted == 7


def test_a_parameter_goes_on_from_the_messages_unless_they_mean_nothing_to_it() -> None:
    session = graph_session(tolerance=0.0)
    session.apply(Step(5))
    run(session)
    before = messages(session)
    session.apply(SetParameter(0, "damping", 0.3))
    assert session.point.iteration == 5
    assert torch.equal(messages(session), before)
    session.apply(SetParameter(0, "kernel", "generic"))
    assert session.point.iteration == 0
    session.apply(Undo())
    session.apply(Undo())
    assert session.point.lanes[0].algorithm == BeliefPropagation()


def test_a_drag_of_a_slider_is_one_undo_step() -> None:
    session = graph_session()
    for value in (0.1, 0.2, 0.3):
        session.apply(SetParameter(0, "damping", value, gesture=5))
    assert len(session.undo) == 1
    session.apply(Undo())
    assert session.point.lanes[0].algorithm.values()["damping"] == 0.0
    session.apply(Redo())
    assert session.point.lanes[0].algorithm.values()["damping"] == 0.3
