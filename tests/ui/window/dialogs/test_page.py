"""A page opens for the control that is asked about, follows links and goes back, and lights the canvas."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication

from mrfstudio.ui.graph_canvas.view import GraphView
from mrfstudio.ui.widgets.parameter_form import FieldRow
from mrfstudio.ui.window.dialogs.page import PageDialog
from mrfstudio.ui.words.lighting import Pointed
from tests.ui.helpers.studio import Studio


def opened(studio: Studio) -> PageDialog:
    page = studio.window.help.page
    assert page is not None
    studio.qtbot.waitUntil(lambda: page.view.text().startswith("# "), timeout=30_000)
    return page


def test_what_is_this_on_a_parameter_opens_its_page(studio: Studio) -> None:
    studio.window.choose_workspace("graph")
    studio.settle()
    rows = studio.window.workspace.controls.findChildren(FieldRow)
    row = next(each for each in rows if each.field.name == "damping")
    studio.window.help.whats_this()
    event = QHelpEvent(QHelpEvent.Type.WhatsThis, QPoint(2, 2), row.editor.mapToGlobal(QPoint(2, 2)))
    QApplication.sendEvent(row.editor, event)
    page = opened(studio)
    assert page.topic == "parameter/damping"
    assert any(block.equation is not None for block in page.view.words.blocks)
    page.follow("algorithm/bp")
    studio.qtbot.waitUntil(lambda: page.view.text().startswith("# Belief propagation"), timeout=30_000)
    canvas = studio.window.workspace.canvas
    assert isinstance(canvas, GraphView)
    page.view.symbol_hovered.emit(Pointed("message"))
    assert canvas.picture.symbol == "message"
    studio.qtbot.mouseClick(page.back, Qt.MouseButton.LeftButton)
    studio.qtbot.waitUntil(lambda: page.view.text().startswith("# Damping"), timeout=30_000)
    assert not page.back.isEnabled()
    page.reject()
    assert studio.window.help.page is None
    assert canvas.picture.symbol == ""


def test_the_keyboard_alone_opens_the_page_of_the_algorithm(studio: Studio) -> None:
    studio.do("read_page")
    page = opened(studio)
    assert page.topic == f"algorithm/{studio.frame.lanes[0].algorithm}"
    page.reject()
