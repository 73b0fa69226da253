"""A typed text in Converge: states that a person rules out, lanes that stay, and what is written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.protocol.commands import AddLane, Forbid, NewGraph, Pause, SetSpeed, SetView, Step, Undo
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.converge import InferInputs, ReadText
from mrfstudio.engine.tasks.infer import infer_file
from mrfstudio.engine.workspaces.studio import Studio
from tests.engine.helpers.sessions import run

VIEW = SetView(("marginal", "steps"))


@pytest.fixture
def studio() -> Studio:
    return Studio({})


def read(studio: Studio, text: str, model: str = "letters") -> Any:
    return studio.answer("graph", ReadText(model, text))


def worked(studio: Studio, *commands: object) -> Frame:
    session = studio.session("graph")
    frames: list[Frame] = []
    for command in (VIEW, *commands):
        session.apply(command)  # type: ignore[arg-type]
        frames += run(session)
    return frames[-1]


def test_a_state_that_is_ruled_out_is_impossible_and_undo_takes_it_back(studio: Studio) -> None:
    read(studio, "bad end")
    before = worked(studio).lanes[0].pictures["marginal"]
    iteration = studio.session("graph").point.iteration
    state = int(before[1].argmax())
    frame = worked(studio, Forbid(1, state))
    after = frame.lanes[0].pictures["marginal"]
    assert after[1, state] == 0
    assert np.allclose(after.sum(1), 1, atol=1e-6)
    assert np.abs(after[0] - before[0]).max() > 1e-6  # the neighbours heard of it
    assert frame.iteration > iteration  # the run went on from its messages
    assert frame.graph is not None
    assert frame.graph.forbidden == {(1, state)}
    assert np.allclose(worked(studio, Undo()).lanes[0].pictures["marginal"], before, atol=1e-5)


def test_the_last_state_cannot_be_ruled_out(studio: Studio) -> None:
    states = read(studio, "ab").states
    frame = worked(studio, *(Forbid(0, state) for state in range(states)))
    assert "every state of it is impossible" in frame.message
    assert frame.graph is not None
    assert len(frame.graph.forbidden) == states - 1


def test_a_state_that_is_not_there_is_refused(studio: Studio) -> None:
    read(studio, "ab")
    assert "it has 0 to 5" in worked(studio, Forbid(0, 6)).message


def test_lanes_speed_and_pause_stay_when_the_text_changes(studio: Studio) -> None:
    read(studio, "the cat", "letters-3")
    worked(studio, AddLane("letters-3", "exact"), AddLane("letters-3", "trw"), SetSpeed(7.0), Pause(), Forbid(0, 1))
    read(studio, "the cats", "letters-3")
    session = studio.session("graph")
    assert [lane.algorithm.name for lane in session.point.lanes] == ["bp", "exact", "trw"]
    assert (session.speed, session.playing, session.point.iteration) == (7.0, False, 0)
    frame = worked(studio, Step(3))
    assert frame.iteration == 3
    assert frame.graph is not None
    assert not frame.graph.forbidden  # it was about another text
    session.apply(NewGraph("ring"))
    read(studio, "dog", "letters")
    assert [lane.algorithm.name for lane in studio.session("graph").point.lanes] == ["bp", "exact", "trw"]


def test_lines_that_reach_further_do_not_lie_under_each_other(studio: Studio) -> None:
    read(studio, "belief", "letters-3")
    graph = worked(studio).graph
    assert graph is not None
    ends = graph.positions[graph.edges]
    for node in range(graph.nodes):  # no node lies on a line between two others
        others = ends[(graph.edges != node).all(1)]
        along = others[:, 1] - others[:, 0]
        away = graph.positions[node] - others[:, 0]
        distance = np.abs(along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]) / np.linalg.norm(along, axis=1)
        share = (along * away).sum(1) / (along**2).sum(1)
        assert distance[(share > 0) & (share < 1)].min(initial=1.0) > 0.3
    assert graph.lattice is None


def test_what_is_ruled_out_is_written_for_infer(studio: Studio, tmp_path: Path) -> None:
    read(studio, "bad end")
    frame = worked(studio, Forbid(1, 0), Forbid(4, 2))
    path, evidence = studio.answer("graph", InferInputs(str(tmp_path / "text")))
    assert evidence == ""
    found = infer_file(path, "exact")
    marginals = np.array(found["marginals"])
    assert marginals[1, 0] == marginals[4, 2] == 0
    assert np.allclose(marginals, frame.lanes[0].pictures["marginal"], atol=1e-4)
