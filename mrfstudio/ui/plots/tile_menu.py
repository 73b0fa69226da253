"""A tile of a gallery as a plot: the right button offers to enlarge, copy and save what it shows."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtWidgets import QListView

from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.theme import px

SIDE = 320
"""Design pixels of a tile that is copied or saved."""
LARGER = (2.5, 2.0, 1.5)


class TileMenu(QObject):
    """Gives the menu of a plot to every tile of a view. `plot_of` makes the plot of a tile."""

    def __init__(self, view: QListView, plot_of: Callable[[QModelIndex], Plot]) -> None:
        super().__init__(view)
        self._view, self._plot_of = view, plot_of
        self.plot: Plot | None = None
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self.open)
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._view.scheduleDelayedItemsLayout()  # tiles may have another size now, see `larger`
        return super().eventFilter(watched, event)

    def open(self, point: QPoint) -> None:
        """Of the tile under a point of the view; asked for by a key, that of the current tile."""
        index = self._view.indexAt(point)
        index = index if index.isValid() else self._view.currentIndex()
        if not index.isValid():
            return
        if self.plot is not None:
            self.plot.deleteLater()
        self.plot = plot = self._plot_of(index)
        plot.setParent(self._view)  # so that it has the window's pages and colours; it is not shown here
        plot.hide()
        plot.resize(px(self._view, SIDE), px(self._view, SIDE))
        plot.open_menu(self._view.viewport().mapToGlobal(point))


def larger(view: QListView, count: int, wide: float, high: float) -> float:
    """How many times as large tiles can be with all of them in sight, 1 to 2.5: a page has room for that."""
    room = view.viewport().size()
    for times in LARGER:
        columns = int(room.width() / (times * wide + 2 * view.spacing()))
        if columns and math.ceil(count / columns) * (times * high + 2 * view.spacing()) <= room.height():
            return times
    return 1.0
