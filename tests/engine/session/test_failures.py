"""What is refused, and what stops a lane, in one sentence each."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.commands import (
    AddNoise,
    Command,
    Fill,
    Paint,
    RemoveLane,
    Restart,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetModel,
    SetParameter,
    SetSpeed,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from tests.engine.helpers.sessions import assert_same_point, graph_session, last, messages, run, segment_session


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
    before = session.point
    assert session.apply(command, 40) is None
    frame = last(session)
    assert words in frame.message
    assert frame.applied == 40
    assert frame.message.endswith((".", "?"))
    assert_same_point(session.point, before)
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
    point = session.timeline.origin
    lane = dataclasses.replace(point.lanes[0], algorithm=algorithm)
    session.timeline.__init__(session.timeline.runner, dataclasses.replace(point, lanes=(lane,)))


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


def test_what_swings_and_is_held_back_is_not_called_diverging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(State, "steadied", True)
    lane = last(graph_session(playing=True, iterations=80, model="frustrated")).lanes[0]
    assert lane.status == "iteration limit"
    assert "held back" in lane.message


def test_steps_that_prepare_a_start_are_never_called_diverging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(State, "preparing", True)
    session = graph_session(playing=True, iterations=80, model="frustrated")
    lane = last(session).lanes[0]
    assert lane.status == "iteration limit"
    assert lane.residual is not None
