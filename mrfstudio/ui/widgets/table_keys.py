"""What a table does with the mouse, by keyboard: sort by a column, and leave with Tab."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTableView

from mrfstudio.ui.style.keys import keyed

KEYS = {"Alt+Up": Qt.SortOrder.AscendingOrder, "Alt+Down": Qt.SortOrder.DescendingOrder}
HELP = keyed("Click a heading to sort by it; with the keyboard go to the column, then Alt+Up or Alt+Down.")


def table_keys(view: QTableView) -> None:
    """Let a sortable table sort by the column of its current cell; Tab leaves the table."""
    view.setTabKeyNavigation(False)
    for keys, order in KEYS.items():
        shortcut = QShortcut(QKeySequence(keys), view, partial(_sort, view, order))
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
    if not view.toolTip():
        view.setToolTip(HELP)
    view.setAccessibleDescription(HELP)


def _sort(view: QTableView, order: Qt.SortOrder) -> None:
    view.sortByColumn(max(view.currentIndex().column(), 0), order)
