"""Factors of any order in the window: squares, messages, one message taken apart, suspects, names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QScrollBar
from pytestqt.qtbot import QtBot

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.commands import SetAlgorithm, SetLimits, Undo
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.protocol.requests.converge import OpenGraph
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.converge.inspecting.how_panel import HowPanel
from mrfstudio.ui.workspaces.converge.inspecting.suspects_panel import WIDEST_NAME
from tests.ui.helpers.converge import Converge
from tests.ui.helpers.widgets import shown

BIF = """network n { }
variable Rain { type discrete [ 2 ] { no, yes }; }
variable Grass { type discrete [ 2 ] { no, yes }; }
probability ( Rain ) { table 0.8, 0.2; }
probability ( Grass | Rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
"""


def show(converge: Converge, graph: FactorGraph, name: str) -> None:
    converge.studio.window.files.replace_by(OpenGraph(graph, name))
    converge.studio.until(lambda: converge.studio.frame.name == name)
    converge.show(SetLimits(30, 1e-6))


def triples() -> FactorGraph:
    rng = np.random.default_rng(1)
    scopes = [tuple(int(v) for v in rng.choice(8, 3, replace=False)) for _ in range(14)]
    return FactorGraph.from_factors([3] * 8, [(scope, 4 * rng.normal(size=(3, 3, 3))) for scope in scopes])


def test_a_triple_is_clicked_explained_pinned_and_its_table_changed(converge: Converge) -> None:
    show(converge, triples(), "triples")
    inspecting, canvas = converge.workspace.inspecting, converge.canvas
    square = canvas.transform.to_widget(*canvas.picture.geometry.squares[3].tolist()).toPoint()
    converge.click(square)
    assert inspecting.factor == 3
    converge.studio.until(inspecting.messages.plots[2].isVisible)
    assert inspecting.messages.heading.text().startswith("<b>Factor ")
    converge.workspace.dock_toggled.emit("messages")
    inspecting.take_apart(3, 1)
    converge.settle()
    how = inspecting.how
    converge.studio.until(lambda: how._work is not None)
    assert "sent exactly this" in how.note.text()
    how.table.picked.emit((0, 1, 2))
    how.form.changed.emit("entry", 0.5, 7)
    converge.settle()
    converge.studio.until(lambda: how._work is not None and abs(how._work.table[0, 1, 2] - 0.5) < 1e-3)
    how.pin.click()
    converge.settle()
    assert converge.graph.pins == ((3, 1),)
    converge.studio.until(lambda: how.message.editable)
    how.message.changed.emit((0.7, 0.2, 0.1), 8)
    converge.settle()
    converge.studio.until(lambda: how._work is not None and how._work.sent is not None and how._work.sent[0] > 0.69)
    converge.show(Undo(), Undo())
    assert converge.graph.pins == ()
    how.terms[0][1].changed.emit((0.8, 0.1, 0.1), 9)
    converge.studio.until(lambda: "would be so" in how.note.text())
    assert how.table.tree.isVisible()
    converge.show(SetAlgorithm(0, "exact", {}))
    converge.studio.until(lambda: "sends no messages" in how.equation.text())
    assert how.table.isVisible()
    assert not how.pin.isVisible()
    converge.show(Undo())
    converge.studio.until(how.pin.isVisible)
    converge.workspace.dock_toggled.emit("how")


def test_a_panel_with_nothing_to_take_apart_has_no_bar_to_scroll(qtbot: QtBot) -> None:
    panel = shown(qtbot, HowPanel(), 320, 200)
    bars = panel.findChildren(QScrollBar)
    assert bars
    assert not any(bar.isVisible() for bar in bars)


def test_suspects_are_listed_found_by_name_and_shown(converge: Converge) -> None:
    show(converge, triples(), "triples")
    panel = converge.workspace.inspecting.suspects
    converge.workspace.dock_toggled.emit("suspects")
    converge.settle()
    converge.studio.until(lambda: panel.table.rowCount() == 42 + 14 + 8)
    panel.resize(280, 500)  # numbers do not leave names much of it
    names = [item.text() for row in range(64) if (item := panel.table.item(row, 0)) is not None]
    longest = max(map(panel.fontMetrics().horizontalAdvance, names))
    assert panel.table.columnWidth(0) >= min(longest, px(panel, WIDEST_NAME))
    panel.kind.setCurrentIndex(panel.kind.findData("message"))
    panel.kind.activated.emit(panel.kind.currentIndex())
    assert panel.table.rowCount() == 42
    panel.search.setText("→ 7")
    assert 0 < panel.table.rowCount() < 42
    before = converge.canvas.transform
    panel.table.selectRow(0)
    assert converge.canvas.transform != before
    assert converge.canvas.picture.chosen_factor is not None
    converge.studio.until(lambda: panel.loops[0].isVisibleTo(panel))
    panel.loops[0].click()
    assert len(converge.canvas.picture.lit) >= 2
    panel.try_all.click()
    converge.studio.until(panel.remedies[0].isVisible)
    assert "converges in" in panel.remedies[0].text()
    panel.search.clear()
    panel.kind.setCurrentIndex(0)
    converge.canvas.light(np.zeros(0, np.int64))
    converge.workspace.dock_toggled.emit("suspects")


def test_names_of_a_file_are_everywhere_and_evidence_files_open(converge: Converge, tmp_path: Path) -> None:
    path, evidence = tmp_path / "wet.bif", tmp_path / "wet.evid"
    path.write_text(BIF)
    evidence.write_text("1 1 1\n")
    converge.studio.window.files.open(path)
    converge.studio.until(lambda: converge.studio.frame.name == "wet.bif")
    converge.settle()
    assert converge.graph.names == ("Rain", "Grass")
    assert [button.text() for button in converge.workspace.palette.states] != []
    converge.qtbot.mouseMove(converge.canvas, converge.at(1))
    converge.canvas._point_at(converge.canvas.transform.to_widget(*converge.graph.positions[1].tolist()))
    assert converge.canvas.note()[0].startswith("Node Grass")
    assert any(line.startswith("P(yes)") for line in converge.canvas.note())
    converge.studio.window.files.open(evidence)
    converge.studio.until(lambda: converge.hints == [NO_HINT, 1])
    converge.settle()
    assert converge.studio.frame.lanes[0].pictures["marginal"][0][1] == pytest.approx(2 / 3, abs=1e-4)
    converge.show(Undo())
    assert converge.hints == [NO_HINT, NO_HINT]


def test_a_coupling_reads_the_same_beside_the_pointer_and_in_the_form(converge: Converge) -> None:
    from mrfstudio.engine.protocol.commands import NewGraph, SetStrength

    converge.show(NewGraph("ring", {"nodes": 6}), SetStrength("coupling", 2.0))
    converge.click(converge.middle(2))
    form = converge.workspace.inspecting.messages.form
    converge.studio.until(form.isVisible)
    converge.canvas._point_at(
        converge.canvas.transform.to_widget(*converge.canvas.picture.geometry.squares[2].tolist())
    )
    line = next(line for line in converge.canvas.note() if line.startswith("coupling"))
    assert float(line.split()[1]) == pytest.approx(form.values()["coupling"])
    converge.workspace.dock_toggled.emit("messages")


def test_lines_show_signs_arrows_values_and_frustration_on_demand(converge: Converge) -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0), (2, 3)], [1.0, 1.0, -1.0, -1.0], [0.1, 0, 0, 0])
    show(converge, graph, "triangle")
    lines = converge.workspace.controls.lines
    for switch in lines.switches.values():
        switch.setChecked(True)
    converge.settle()
    converge.studio.until(lambda: len(converge.canvas.picture.lit) == 3)
    converge.studio.until(lambda: converge.canvas.picture.said is not None)
    assert "frustrated" in lines.said.text()
    everything = converge.canvas.grab().toImage()
    for name, switch in lines.switches.items():
        switch.setChecked(name == "pairs")
    converge.settle()
    assert not len(converge.canvas.picture.lit)
    assert converge.canvas.grab().toImage() != everything
