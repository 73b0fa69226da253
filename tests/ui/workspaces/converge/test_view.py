"""The Converge workspace in the real window on the real engine: graphs, lanes, files and sessions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from mrfstudio.cli import main
from mrfstudio.engine.files.graphs.graph import read_graph, write_graph
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.commands import NewGraph, Restart, SetEvidence, SetStrength
from mrfstudio.engine.protocol.requests.converge import ExportGraph, OpenGraph
from mrfstudio.engine.protocol.requests.studio import OpenSession
from tests.places import SESSIONS
from tests.ui.helpers.converge import Converge


def test_converge_is_in_the_rail_and_begins_with_a_graph_that_runs(converge: Converge) -> None:
    assert converge.studio.window.workspace.title == "Converge"
    assert converge.graph.nodes == 100
    assert converge.studio.frame.lanes[0].status == "converged"
    converge.studio.until(lambda: converge.workspace.controls.gauge.shown is not None)


def test_a_change_restarts_where_that_is_chosen_and_goes_on_where_not(converge: Converge) -> None:
    form = converge.workspace.controls.graph
    converge.show(SetStrength("coupling", 0.4))
    went_on = converge.studio.frame.iteration
    assert went_on > converge.studio.frame.lanes[0].base > 0
    form.change.setCurrentIndex(1)
    converge.show(SetStrength("coupling", 0.5))
    assert converge.studio.frame.lanes[0].base == 0


def test_a_graph_of_a_file_has_no_next_example_and_says_so(converge: Converge, tmp_path: Path) -> None:
    path = tmp_path / "alone.uai"
    write_graph(path, FactorGraph.from_factors([2, 2], [((0, 1), [[0.0, 1.0], [1.0, 0.0]])]))
    converge.studio.window.files.open(path)
    converge.studio.until(lambda: converge.studio.frame.name == "alone.uai")
    converge.settle()
    converge.studio.do("next_example")
    assert "no next example of this graph" in converge.studio.messages[-1]


def test_lanes_are_added_chosen_and_removed(converge: Converge) -> None:
    controls = converge.workspace.controls
    converge.show(NewGraph("ring", {"nodes": 6}))
    controls.lanes.algorithm.setCurrentIndex(controls.lanes.algorithm.findData("bp"))
    controls.lanes.add.click()
    converge.settle()
    assert [lane.algorithm for lane in converge.studio.frame.lanes] == ["alpha-bp", "bp"]
    controls.lanes.rows[1].sides[0].click()
    converge.settle()
    assert converge.workspace.lane == 1
    assert controls.algorithm.algorithm.currentData() == "bp"
    assert "B:" in converge.studio.window.badge.text
    controls.lanes.rows[1].remove.click()
    converge.settle()
    assert converge.workspace.lane == 0
    assert len(converge.studio.frame.lanes) == 1


def test_a_graph_too_large_for_a_lane_is_refused_with_the_nearest_that_can(converge: Converge) -> None:
    controls = converge.workspace.controls
    converge.show(NewGraph("ring"))
    controls.algorithm.algorithm.setCurrentIndex(controls.algorithm.algorithm.findData("exact"))
    controls.algorithm.algorithm.activated.emit(controls.algorithm.algorithm.currentIndex())
    converge.settle()
    converge.show(NewGraph("grid", {"rows": 80, "columns": 80}))
    assert any("use bp" in message for message in converge.studio.messages)
    assert converge.graph.source == "ring"


def copied_command(converge: Converge) -> str:
    """What "Copy as command" puts on the clipboard, when it is there: it may take a second question."""
    QApplication.clipboard().clear()
    converge.workspace.files.copy_command()
    converge.studio.until(lambda: QApplication.clipboard().text().startswith("mrfstudio"))
    return QApplication.clipboard().text()


def test_files_open_here_are_scaled_and_exported(converge: Converge, tmp_path: Path) -> None:
    path = tmp_path / "pair.uai"
    write_graph(path, FactorGraph.ising([(0, 1)], [0.5], [0.1, 0.0]))
    converge.studio.window.files.open(path)
    converge.studio.until(lambda: converge.studio.frame.name == "pair.uai")
    converge.settle()
    assert converge.workspace.controls.graph.source.currentText() == "pair.uai"
    copied = copied_command(converge)
    assert copied.startswith(f"mrfstudio infer {path} --algorithm alpha-bp --alpha 1.0")
    converge.show(SetStrength("coupling", 2.0))
    out = tmp_path / "out.fg"
    answered: list[object] = []
    converge.studio.controller.ask(ExportGraph(str(out)), answered.append)
    converge.studio.until(lambda: bool(answered))
    assert float(read_graph(out).groups[0].tables[0, 0, 0]) == pytest.approx(1.0)


def test_the_copied_command_prints_what_the_window_shows(
    converge: Converge, capsys: pytest.CaptureFixture[str]
) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}), SetStrength("coupling", 0.8), SetEvidence((1,), 1), Restart())
    converge.studio.until(lambda: converge.studio.frame.lanes[0].status == "converged")
    program, *line = shlex.split(copied_command(converge))
    assert program == "mrfstudio"
    assert main([*line, "--json", "-"]) == 0
    shown = converge.studio.frame.lanes[0]
    assert json.loads(capsys.readouterr().out)["iterations"] == shown.iteration - shown.base


def test_a_session_with_a_drawn_graph_is_saved_and_opened_again(converge: Converge, tmp_path: Path) -> None:
    converge.show(NewGraph("ring", {"nodes": 7}), SetEvidence((2,), 1))
    path = tmp_path / "ring.mrfs"
    saved: list[object] = []
    converge.studio.window.files.save_to(path, lambda: saved.append(1))
    converge.studio.until(lambda: bool(saved))
    converge.show(NewGraph("tree"))
    converge.studio.controller.ask(OpenSession(str(path)), lambda _: converge.workspace.on_opened())
    converge.studio.until(lambda: converge.graph.nodes == 7)
    assert converge.hints[2] == 1
    converge.workspace.start()


def test_view_opens_a_graph_of_a_notebook_here_laid_out_as_asked(converge: Converge) -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 3)], [0.2, 0.3, 0.1], [0.1, 0, 0, 0])
    converge.studio.window.files.replace_by(OpenGraph(graph, "mine", (2, 2)))
    converge.studio.until(lambda: converge.studio.frame.name == "mine")
    assert converge.graph.positions.tolist() == [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5]]
    said = converge.workspace.controls.graph.summary
    converge.studio.until(lambda: said.text().startswith("mine: 4 variables"))
    assert "file" not in said.text()


def test_a_session_of_the_first_version_opens_with_evidence_and_a_name(converge: Converge) -> None:
    stored = SESSIONS / "version-1-graph.mrfs"
    converge.studio.window.files.open(stored)
    converge.studio.until(lambda: converge.graph.nodes == 30 and converge.graph.source == "file")
    converge.settle()
    assert converge.workspace.controls.graph.source.currentText() == "from a file"
    assert converge.hints[7:10] == [1, 1, 1]
    assert converge.graph.lattice == (5, 6)
