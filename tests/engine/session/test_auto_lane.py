"""`auto` and join graphs in a session: evidence that changes under way, files, and what the badge says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.inference.join import stages
from mrfstudio.engine.inference.join.auto import AutoState
from mrfstudio.engine.protocol.commands import NewGraph, SetAlgorithm, SetEvidence, SetLimits, Step
from mrfstudio.engine.protocol.frames import SO_FAR
from mrfstudio.engine.workspaces.studio import Studio
from tests.engine.helpers.sessions import run


@pytest.fixture
def studio() -> Studio:
    return Studio({})


@pytest.mark.parametrize("algorithm", ["auto", "join-graph"])
def test_evidence_may_change_while_clusters_are_at_work(studio: Studio, algorithm: str) -> None:
    session = studio.session("graph")
    parameters = {"bits": 3.0} if algorithm == "join-graph" else {}
    for command in (NewGraph("grid", {"rows": 5, "columns": 5}), SetLimits(100, 1e-6)):
        session.apply(command)
    session.apply(SetAlgorithm(0, algorithm, parameters))
    session.apply(Step(2))
    run(session)
    session.apply(SetEvidence((7,), 1))
    assert run(session)[-1].lanes[0].status != "stopped"  # new evidence under what was computed before
    session.apply(Step(30))
    assert run(session)[-1].lanes[0].status != "stopped"
    lane = session.point.lanes[0]
    given = session.workspace.evidence(session.document, lane.model)
    assert lane.state is not None
    beliefs = lane.algorithm.beliefs(lane.model, given, lane.state)
    assert lane.model.unpack(beliefs)[7][1] == pytest.approx(1.0)


def test_a_session_with_a_plan_half_done_is_saved_and_goes_on(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    session = studio.session("graph")
    session.apply(NewGraph("grid", {"rows": 12, "columns": 12}))
    for command in (SetLimits(100, 1e-6), SetAlgorithm(0, "auto", {}), Step(13)):
        session.apply(command)
    run(session)
    before = session.point.lanes[0].state
    assert isinstance(before, AutoState)
    assert before.stage == 1
    save_session(session, tmp_path / "half.mrfs")
    again = load_session(tmp_path / "half.mrfs")
    run(again)  # what a slow machine has still to compute again
    after = again.point.lanes[0].state
    assert isinstance(after, AutoState)
    np.testing.assert_array_equal(before.answer, after.answer)
    for each in (session, again):
        each.apply(Step(20))
        run(each)
    ends = [each.point.lanes[0].state for each in (session, again)]
    assert isinstance(ends[0], AutoState)
    assert isinstance(ends[1], AutoState)
    assert ends[0].source == 1
    np.testing.assert_array_equal(ends[0].answer, ends[1].answer)


def test_a_plan_ends_by_itself_and_not_at_the_limit_of_iterations(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    session = studio.session("graph")
    session.apply(NewGraph("grid", {"rows": 12, "columns": 12}))
    for command in (SetLimits(3, 1e-6), SetAlgorithm(0, "auto", {}), Step(13)):
        session.apply(command)
    lane = run(session)[-1].lanes[0]
    assert lane.status in ("running", "paused")
    assert lane.message.startswith(f"{SO_FAR} join-graph")
    assert "Trying join-graph of 2^11 entries, " in lane.message
    session.apply(Step(20))
    lane = run(session)[-1].lanes[0]
    assert lane.status == "converged"
    assert lane.message.startswith("Join-graph: ")
    assert "Trying" not in lane.message
    assert ", error about 0." in lane.message
