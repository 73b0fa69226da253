"""A choice in a panel that scrolls."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.ui.widgets.choice_box import ChoiceBox


def test_a_wheel_that_scrolls_a_panel_chooses_nothing(qtbot: QtBot) -> None:
    box = ChoiceBox(6)
    qtbot.addWidget(box)
    box.addItems(["scribbles", "photo-landscape", "Other…"])
    place = QPointF(box.rect().center())
    event = QWheelEvent(
        place,
        box.mapToGlobal(place),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, event)
    assert box.currentText() == "scribbles"
    assert not event.isAccepted()  # what is around it scrolls
    assert box.focusPolicy() == Qt.FocusPolicy.StrongFocus  # else the wheel would give it the focus first
