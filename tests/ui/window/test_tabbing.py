"""The order of Tab is that of the layouts, and looking at them leaves nothing behind."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLayout, QLayoutItem, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import Shiboken

from mrfstudio.ui.window.tabbing import in_order


def _layout_items() -> list[QLayoutItem]:
    every = Shiboken.getAllValidWrappers()
    return [each for each in every if isinstance(each, QLayoutItem) and not isinstance(each, QLayout)]


def test_tab_follows_layouts_inside_layouts(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column, row, grid = QVBoxLayout(window), QHBoxLayout(), QGridLayout()
    last, *others = (QPushButton(name, window) for name in "edcba")  # made in another order than they are seen
    d, c, b, a = others
    column.addWidget(a)
    column.addLayout(row)
    row.addWidget(b)
    row.addLayout(grid)
    grid.addWidget(c, 0, 0)
    grid.addWidget(d, 0, 1)
    column.addWidget(last)
    window.show()
    assert [each.text() for each in in_order(window)] == ["a", "b", "c", "d", "e"]


def test_the_items_of_layouts_are_left_to_qt(qtbot: QtBot) -> None:
    """Qt deletes one with its widget and does not tell Python; what Python kept would then point anywhere."""
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(QPushButton("a"))
    window.show()
    assert len(list(in_order(window))) == 1
    assert not _layout_items()
