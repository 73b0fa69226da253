"""Boxes of numbers, and the scale of their sliders."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.catalogue import Field
from mrfstudio.ui.widgets.number_box import NumberBox, Scale
from mrfstudio.ui.window.shell import MessageBar
from tests.ui.helpers.widgets import ENTRY, emitted, shown


def test_a_box_has_a_word_for_a_zero_that_is_no_number(qtbot: QtBot) -> None:
    editor = NumberBox(Field("iterations", "integer", 0, "Stop after.", low=0, high=99, zero="as lane A"))
    shown(qtbot, editor, 120, 30)
    edits = emitted(editor.edited)
    assert editor.lineEdit().text() == "as lane A"
    editor.stepBy(2)
    assert editor.lineEdit().text() == "2"
    editor.selectAll()
    QTest.keyClicks(editor, "0")
    assert edits[-1] == 0
    editor.clearFocus()
    editor.set_value(0)
    assert editor.lineEdit().text() == "as lane A"
    editor.stepBy(1)
    editor.selectAll()
    QTest.keyClicks(editor, "as lane A")
    assert edits[-1] == 0


def test_a_logarithmic_slider_gives_each_decade_the_same_room() -> None:
    scale = Scale(next(field for field in ENTRY.fields if field.name == "tolerance"))
    rooms = np.diff([scale.position(10.0**power) for power in (-5, -4, -3, -2, -1)])
    assert rooms.max() - rooms.min() <= 1
    assert rooms.min() > 50


def test_undo_and_redo_belong_to_the_window_while_a_number_is_typed(qtbot: QtBot) -> None:
    editor = NumberBox(Field("iterations", "integer", 3, "Stop after.", low=0, high=99))
    shown(qtbot, editor, 120, 30)
    control = Qt.KeyboardModifier.ControlModifier
    for key, kept in ((Qt.Key.Key_Z, False), (Qt.Key.Key_A, True)):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, control)
        event.ignore()
        QApplication.sendEvent(editor, event)
        assert event.isAccepted() is kept  # what is not taken here becomes the window's shortcut


def test_a_message_shows_markup_in_the_name_of_a_file_as_text(qtbot: QtBot) -> None:
    over = QWidget()
    bar = MessageBar(over)
    shown(qtbot, over, 400, 200)
    bar.show_message("Opened <b>x</b>.png.")
    assert bar.text.textFormat() is Qt.TextFormat.PlainText
    assert bar.text.text() == "Opened <b>x</b>.png."
