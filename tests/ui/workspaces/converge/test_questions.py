"""What Converge asks: the gauge, advice, messages of an edge, the map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.answers import Swings
from mrfstudio.engine.protocol.commands import NewGraph, SetAlgorithm, SetStrength, Undo
from mrfstudio.engine.protocol.frames import LaneFrame
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.engine.protocol.requests.converge import AskGuarantee, FindSwings
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.workspaces.converge.gauge import GUARANTEED, NOT_GUARANTEED, number
from mrfstudio.ui.workspaces.converge.overviews.overviews import MAP
from mrfstudio.ui.workspaces.converge.questions import Questions
from tests.ui.helpers.converge import Converge, Left


class Clerk(QObject):
    """Stands for a controller: notes what is asked, to be answered by hand."""

    message = Signal(str)
    workspace = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Request[Any], Any, Any]] = []

    def ask(self, request: Request[Any], then: Any, refused: Any) -> None:
        self.asked.append((request, then, refused))


@pytest.mark.parametrize("refuses", [False, True])
def test_what_waited_for_an_answer_about_an_earlier_graph_is_asked_then(converge: Converge, refuses: bool) -> None:
    """The run may have ended meanwhile, so that no further frame would ask."""
    clerk, frame = Clerk(), converge.studio.frame
    said: list[object] = []
    clerk.message.connect(said.append)
    questions = Questions(cast(Controller, clerk), "graph")
    questions.guarantee.connect(said.append)
    questions.on_frame(frame, frame.lanes[0])
    questions.reset()
    questions.on_frame(frame, frame.lanes[0])
    (_, then, refused), *more = clerk.asked
    assert not more  # one at a time
    if refuses:
        refused("no")
    else:
        then("of the earlier graph")
    assert [question for question, _, _ in clerk.asked] == [AskGuarantee(0), AskGuarantee(0)]
    assert said == []
    clerk.asked[1][1]("of this graph")
    assert said == ["of this graph"]


def test_what_was_seen_of_a_run_that_has_come_to_rest_since_is_not_said(converge: Converge) -> None:
    clerk, frame = Clerk(), converge.studio.frame
    said: list[object] = []
    questions = Questions(cast(Controller, clerk), "graph")
    questions.swings.connect(said.append)
    running = replace(frame.lanes[0], status="running", iteration=60, base=0)
    found = Swings(0, 60, np.full(4, 2, np.int16), 4, 2)

    def look(lane: LaneFrame, playing: bool) -> None:
        questions.on_frame(replace(frame, playing=playing), lane)

    def asked() -> list[Any]:
        return [then for question, then, _ in clerk.asked if isinstance(question, FindSwings)]

    look(running, playing=True)
    look(replace(running, status="converged", iteration=61), playing=False)
    asked()[0](found)
    assert said == []
    # One that ended without rest is looked at once more: what was seen on the way may not be so any more.
    questions.reset()
    questions._looked_at = 0.0
    look(running, playing=True)
    look(replace(running, status="iteration limit", iteration=62), playing=False)
    assert len(asked()) == 2
    asked()[1](found)
    assert len(asked()) == 3


def test_a_student_raises_the_coupling_of_a_ring_sees_it_fail_and_follows_the_advice(converge: Converge) -> None:
    workspace, form = converge.workspace, converge.workspace.controls.graph
    form.source.setCurrentIndex(form.source.findData("ring"))
    form.source.activated.emit(form.source.currentIndex())
    converge.settle()
    assert converge.studio.frame.lanes[0].status == "converged"
    slider = form.strengths.row("coupling").slider
    assert slider is not None
    slider.setValue(slider.maximum())
    converge.settle()
    assert converge.graph.strengths["coupling"] == 2.0
    assert converge.studio.frame.lanes[0].status == "iteration limit"
    converge.studio.until(workspace.advice.buttons[0].isVisible)
    assert "10" in workspace.advice.text
    assert converge.canvas.picture.period is not None
    workspace.advice.buttons[0].click()
    converge.settle()
    assert converge.studio.frame.lanes[0].status == "converged"
    assert converge.studio.frame.lanes[0].parameters["damping"] == 0.5
    assert not workspace.advice.buttons[0].isVisible()
    assert converge.canvas.picture.period is None
    converge.show(Undo())
    assert converge.studio.frame.lanes[0].parameters["damping"] == 0


def test_the_gauge_follows_the_slider_and_says_what_is_certain(converge: Converge) -> None:
    gauge = converge.workspace.controls.gauge
    converge.show(NewGraph("complete"), SetStrength("coupling", 0.02))
    converge.studio.until(lambda: GUARANTEED in gauge.verdict.text())
    assert gauge.shown is not None
    assert gauge.shown.sigma_max is not None
    assert gauge.shown.sigma_max < 1
    converge.studio.until(lambda: " to " in gauge.interval.text())
    converge.show(SetStrength("coupling", 1.0))
    converge.studio.until(lambda: NOT_GUARANTEED in gauge.verdict.text() and "none" in gauge.interval.text())


def test_the_gauge_says_in_a_sentence_why_there_is_no_matrix(converge: Converge, tmp_path: Path) -> None:
    path = tmp_path / "potts.uai"
    write_graph(path, FactorGraph.from_factors([3, 3], [((0, 1), np.eye(3))]))
    converge.studio.window.files.open(path)
    gauge = converge.workspace.controls.gauge
    converge.studio.until(lambda: "two states" in gauge.explanation.text())
    assert gauge.bars.isHidden()
    assert len(converge.workspace.palette.states) == 3
    assert converge.studio.frame.name == "potts.uai"


def test_a_clicked_edge_opens_its_messages_over_iterations(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}))
    converge.click(converge.middle(2))
    inspector = converge.workspace.inspecting.messages
    converge.studio.until(lambda: inspector.plots[0].isVisible() and len(inspector.plots[0].iterations) > 3)
    assert inspector.plots[0].title == "3 → 2"
    assert inspector.plots[0].values.shape[1] == 2
    assert "Edge 2 – 3" in inspector.heading.text()
    row = inspector.form.row("coupling").slider
    assert row is not None
    row.setValue(row.maximum())
    converge.settle()
    assert converge.graph.couplings is not None
    assert converge.graph.couplings[2] == pytest.approx(10)
    converge.workspace.dock_toggled.emit("messages")
    assert converge.workspace.inspecting.factor is None


def test_an_edge_of_an_algorithm_on_regions_points_to_the_regions(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}), SetAlgorithm(0, "renn", {"embedding": 8}))
    converge.click(converge.middle(2))
    inspector = converge.workspace.inspecting.messages
    converge.studio.until(lambda: "Ctrl+Shift+R" in inspector.heading.text())
    assert not inspector.plots[0].isVisible()
    converge.workspace.dock_toggled.emit("messages")


def test_the_map_is_computed_and_a_click_goes_there(converge: Converge) -> None:
    converge.show(NewGraph("ring"))
    converge.workspace.dock_toggled.emit(MAP)
    panel = converge.workspace.overviews.sigma
    converge.studio.qtbot.waitUntil(lambda: panel.map.found is not None, timeout=120_000)
    assert panel.map.point == (1.0, 0.5)
    converge.qtbot.mouseClick(panel.map, Left, pos=panel.map.place(0.5, 1.0).toPoint())
    converge.settle()
    assert converge.graph.strengths["coupling"] == pytest.approx(1.0, abs=0.03)
    assert converge.studio.frame.lanes[0].parameters["alpha"] == pytest.approx(0.5, abs=0.02)
    converge.studio.until(lambda: panel.map.point[0] == converge.studio.frame.lanes[0].parameters["alpha"])
    converge.workspace.dock_toggled.emit(MAP)
    converge.show(NewGraph("tree"))  # gives the job up


def test_a_bound_is_never_rounded_to_the_other_side_of_one() -> None:
    assert number(0.99996) == "0.999960"
    assert number(1.00004) == "1.000"
    assert number(None) == "–"
