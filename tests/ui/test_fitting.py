"""Nothing is cut off at any size of text: choices and advice end in dots, panels follow the text both ways."""

from __future__ import annotations

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.ui.panels.choice_box import ChoiceBox
from mrfstudio.ui.shell import Scrolled
from mrfstudio.ui.theme import Width, unit_of


def scaled(widget: QWidget, factor: float) -> None:
    font = QFont(widget.font())
    font.setPointSizeF(font.pointSizeF() * factor)
    widget.setFont(font)
    for _ in range(5):
        QApplication.processEvents()


def test_a_choice_without_room_ends_in_dots_and_stays_the_choice(qtbot: QtBot) -> None:
    box = ChoiceBox(6)
    qtbot.addWidget(box)
    box.addItem("Tree-reweighted belief propagation")
    box.resize(box.minimumSizeHint())
    assert box.shown_text().endswith("…")
    assert box.currentText() == "Tree-reweighted belief propagation"
    box.resize(2 * box.fontMetrics().horizontalAdvance(box.currentText()), box.height())
    assert box.shown_text() == box.currentText()


def test_a_choice_does_not_widen_its_panel(qtbot: QtBot) -> None:
    box = ChoiceBox(6)
    qtbot.addWidget(box)
    before = box.minimumSizeHint().width()
    box.addItem("a name much longer than six letters")
    assert box.minimumSizeHint().width() == before


def test_a_panel_grows_with_the_text_but_slower_and_shrinks_again(qtbot: QtBot) -> None:
    panel = QWidget()
    qtbot.addWidget(panel)
    Width(panel, 200)
    before, unit = panel.minimumWidth(), unit_of(panel.font())
    scaled(panel, 2.0)
    assert before < panel.minimumWidth() < 200 * unit_of(panel.font())
    scaled(panel, 0.5)
    assert panel.minimumWidth() == before
    assert unit_of(panel.font()) == unit


def test_what_scrolls_keeps_room_for_its_bar_and_shrinks_with_the_text(qtbot: QtBot) -> None:
    inside = QWidget()
    column = QVBoxLayout(inside)
    for _ in range(20):
        column.addWidget(QLabel("a tool with a name"))
    scrolled = Scrolled(inside, always=False)
    qtbot.addWidget(scrolled)
    scrolled.resize(10, 100)
    scrolled.show()
    qtbot.waitUntil(lambda: scrolled.verticalScrollBar().isVisible())
    scaled(scrolled, 1.0)
    scrolled.resize(10, 100)
    before = scrolled.minimumWidth()
    assert scrolled.viewport().width() >= inside.minimumSizeHint().width()
    scaled(scrolled, 2.0)
    assert scrolled.minimumWidth() > 1.5 * before
    scaled(scrolled, 0.5)
    assert scrolled.minimumWidth() == before
