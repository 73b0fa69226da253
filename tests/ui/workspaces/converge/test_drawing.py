"""Hands on a graph: evidence on nodes, nodes and edges by mouse and keys."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Qt

from mrfstudio.engine.protocol.commands import NewGraph, SetEvidence, Undo
from mrfstudio.engine.protocol.frames import NO_HINT
from tests.ui.helpers.converge import Converge, Left, Right


def test_a_click_gives_evidence_the_right_button_takes_it_back_and_undo_too(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}))
    converge.key(Qt.Key.Key_0)
    converge.click(converge.at(2))
    assert converge.hints[2] == 0
    assert converge.studio.frame.lanes[0].pictures["marginal"][2].tolist() == [1.0, 0.0]
    converge.key(Qt.Key.Key_1)
    converge.click(converge.at(4))
    assert converge.hints == [NO_HINT, NO_HINT, 0, NO_HINT, 1, NO_HINT]
    converge.click(converge.at(2), Right)
    assert converge.hints[2] == NO_HINT
    converge.show(Undo(), Undo())
    assert converge.hints == [NO_HINT, NO_HINT, 0, NO_HINT, NO_HINT, NO_HINT]


def test_evidence_is_painted_over_a_grid_in_one_step_of_undo_and_drawn_at_once(converge: Converge) -> None:
    converge.canvas.set_radius(1.1)
    converge.qtbot.mousePress(converge.canvas, Left, pos=converge.at(22))
    assert (converge.canvas.picture.hints[[22, 12, 32, 21, 23]] == 1).all()  # before the engine has answered
    converge.qtbot.mouseMove(converge.canvas, converge.at(27))
    converge.qtbot.mouseRelease(converge.canvas, Left, pos=converge.at(27))
    converge.settle()
    assert sum(hint == 1 for hint in converge.hints) == 6 * 3 + 2
    converge.show(Undo())
    assert set(converge.hints) == {NO_HINT}


def test_nodes_are_added_joined_moved_and_deleted_by_hand(converge: Converge) -> None:
    converge.show(NewGraph("drawn"))
    canvas = converge.canvas
    converge.key(Qt.Key.Key_D)
    assert canvas.tool == "draw"
    converge.click(converge.at(0) + QPoint(120, 40))
    assert converge.graph.nodes == 2
    converge.drag(converge.at(0), converge.at(1))
    assert converge.graph.edges.tolist() == [[0, 1]]
    converge.drag(converge.at(1), converge.at(1) + QPoint(-60, 90))  # to nowhere: a new node, joined
    assert converge.graph.edges.tolist() == [[0, 1], [1, 2]]
    converge.key(Qt.Key.Key_V)
    before = converge.graph.positions[2].copy()
    converge.drag(converge.at(2), converge.at(2) + QPoint(-50, 0))
    assert converge.graph.positions[2, 0] < before[0]
    converge.show(Undo())
    assert np.allclose(converge.graph.positions[2], before)
    converge.key(Qt.Key.Key_D)
    converge.click(converge.middle(0), Right)
    assert converge.graph.edges.tolist() == [[1, 2]]
    converge.click(converge.at(0), Right)
    assert converge.graph.nodes == 2
    converge.show(Undo(), Undo())
    assert converge.graph.edges.tolist() == [[0, 1], [1, 2]]


def test_pointing_at_a_node_shows_its_marginal_and_degree_and_alt_inspects_it(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}), SetEvidence((3,), 1))
    converge.qtbot.mouseMove(converge.canvas, converge.at(3))
    lines = converge.canvas.note()
    assert lines[0] == "Node 3, degree 2"
    assert "P(1) = 100.0%" in lines
    assert "evidence: state 1" in lines
    converge.click(converge.at(5), alt=True)
    assert converge.workspace.inspecting.node == 5
    assert "Node 5, degree 2" in converge.workspace.controls.inspector.heading.text()
    assert converge.hints[5] == NO_HINT


def test_the_keyboard_goes_from_node_to_node_and_gives_evidence(converge: Converge) -> None:
    converge.show(NewGraph("grid", {"rows": 3, "columns": 3}))
    converge.canvas.setFocus()
    converge.canvas._point_at(None)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        converge.key(key)
    converge.settle()
    assert [node for node, hint in enumerate(converge.hints) if hint == 1] == [4]
    converge.key(Qt.Key.Key_Backspace)
    converge.settle()
    assert set(converge.hints) == {NO_HINT}
