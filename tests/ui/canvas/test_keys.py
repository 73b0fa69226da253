"""The canvas by keys: tools, labels, and painting without a mouse."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Command, PaintRectangle, Step
from mrfstudio.ui.canvas import SEGMENT_TARGETS, Canvas
from mrfstudio.ui.style.colours import LIGHT, rgb
from tests.ui.helpers.canvas import at, shown
from tests.ui.helpers.pictures import beliefs, frame, given, lane, ring


@pytest.mark.parametrize(
    ("key", "tool"), [("b", "brush"), ("e", "eraser"), ("r", "rectangle"), ("f", "fill"), ("i", "inspect")]
)
def test_letters_choose_tools(canvas: Canvas, key: str, tool: str) -> None:
    canvas.choose_tool("fill" if tool != "fill" else "brush")
    QTest.keyClicks(canvas, key)
    assert canvas.tools.tool == tool


def test_digits_choose_labels_and_brackets_the_brush(canvas: Canvas) -> None:
    QTest.keyClicks(canvas, "3")
    assert canvas.tools.target is SEGMENT_TARGETS[2]
    QTest.keyClicks(canvas, "9")  # there is no ninth label
    assert canvas.tools.target is SEGMENT_TARGETS[2]
    radius = canvas.tools.radius
    QTest.keyClicks(canvas, "]]")
    assert canvas.tools.radius == radius + 1
    QTest.keyClicks(canvas, "[[[[")
    assert canvas.tools.radius == 0.5


def test_space_tapped_plays_and_dots_step(canvas: Canvas, sent: list[Command], qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.play_pause):
        QTest.keyClick(canvas, Qt.Key.Key_Space)
    QTest.keyClicks(canvas, ".,")
    assert sent == [Step(1), Step(-1)]


def test_o_held_shows_what_was_observed_alone(canvas: Canvas) -> None:
    layers = given()
    observed = layers["observed"].copy()
    observed[2, 2] = 0
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring())}), layers={**layers, "observed": observed}))
    usual = shown(canvas)
    QTest.keyPress(canvas, Qt.Key.Key_O)
    original = shown(canvas)
    QTest.keyRelease(canvas, Qt.Key.Key_O)
    assert (original[8, 8] == rgb(LIGHT.paper)).all()
    assert (original[2, 2] == rgb(LIGHT.ink)).all()
    assert (usual[8, 8] != rgb(LIGHT.paper)).any()
    np.testing.assert_array_equal(shown(canvas), usual)


def test_keys_that_are_held_are_let_go_with_the_focus(canvas: Canvas) -> None:
    QTest.keyPress(canvas, Qt.Key.Key_O)
    QTest.keyPress(canvas, Qt.Key.Key_Space)
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusOut))
    assert not canvas.scene.original_only
    assert canvas.cursor().shape() == Qt.CursorShape.CrossCursor


def test_single_keys_act_only_with_focus_and_tab_moves_on(qtbot: QtBot) -> None:
    window, canvas, button = QWidget(), Canvas(), QPushButton("Next")
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(canvas)
    column.addWidget(button)
    window.show()
    window.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    QTest.keyClick(canvas, Qt.Key.Key_Tab)
    assert button.hasFocus()
    QTest.keyClicks(button, "e")
    assert canvas.tools.tool == "brush"


def test_a_shortcut_of_the_window_does_not_take_the_canvas_keys(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    canvas = Canvas(window)
    taken: list[str] = []
    from PySide6.QtGui import QShortcut

    QShortcut("Space", window, lambda: taken.append("space"))
    window.show()
    window.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    with qtbot.waitSignal(canvas.play_pause):
        QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert taken == []


def test_one_can_paint_with_the_keyboard_alone(canvas: Canvas, sent: list[Command]) -> None:
    QTest.keyClick(canvas, Qt.Key.Key_Left)  # shows the cursor, in the middle
    assert canvas.cursor_pixel == (8, 7)
    QTest.keyPress(canvas, Qt.Key.Key_Return)
    for _ in range(3):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyRelease(canvas, Qt.Key.Key_Return)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert np.argwhere(observed == 0).tolist() == [[8, 7], [8, 8], [8, 9], [8, 10]]
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    QTest.keyClick(canvas, Qt.Key.Key_Backspace)
    assert observed is not None
    erased = canvas.scene.layer("observed")
    assert erased is not None
    assert erased[8, 10] == 1
    assert len({command.stroke for command in sent}) == 2


def test_a_rectangle_with_the_keyboard_takes_two_enters(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("rectangle")
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert sent == []
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert sent == [PaintRectangle("observed", 0, (8, 7, 2, 2), outline=True)]


def test_the_keyboard_cursor_stays_in_the_picture_and_in_view(canvas: Canvas) -> None:
    canvas.zoom(6)
    for _ in range(4):
        QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.cursor_pixel is not None
    row, column = canvas.cursor_pixel
    assert column == 15
    assert canvas.rect().contains(at(canvas, row, column))


def test_every_control_of_the_canvas_has_an_accessible_name(canvas: Canvas) -> None:
    assert canvas.accessibleName()
    assert "Enter" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert "row 9, column 8" in canvas.accessibleDescription()
