"""A table of three and more axes as a tree of slices: a level for each further axis, a small map beside every slice."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTreeWidget, QTreeWidgetItem, QWidget

from mrfstudio.ui.plots.content import PlotPicture
from mrfstudio.ui.style.colours import Colours, colours_of, rgb
from mrfstudio.ui.style.theme import px

Axis = tuple[str, tuple[str, ...]]
"""The name of a variable, and those of its states."""
Path = tuple[int, ...]
"""The states of the first of the sliced axes."""
PATH = Qt.ItemDataRole.UserRole
MOST_LINES = 8
MOST_PIXELS = 64  # of a side of a small map


class SliceTree(QTreeWidget):
    """Slices of a table (k_1, …, k_r) by its axes 2 … r - 1; branches are made when they are opened."""

    chosen = Signal(object)
    """The states of all sliced axes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table = np.zeros((1, 1, 1))
        self._axes: tuple[Axis, ...] = ()
        self.setColumnCount(3)
        self.setHeaderLabels(["Slice", "Map", "Largest"])
        self.setToolTip(
            "Slices of the table, one for each state of the variables between. The small map shows its entries, "
            "darker where they are larger; of a branch the largest below it."
        )
        self.setAccessibleName("Slices of the table")
        self.setUniformRowHeights(True)
        self.setIndentation(px(self, 14))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.itemExpanded.connect(self._open)
        self.itemExpanded.connect(lambda _: self._fit())
        self.itemCollapsed.connect(lambda _: self._fit())
        self.currentItemChanged.connect(self._choose)

    def show_table(self, table: np.ndarray, axes: tuple[Axis, ...]) -> None:
        """Show a table of at least three axes; the same axes keep what is open and chosen."""
        self._table = table
        if axes == self._axes:
            for item in self._items():
                self._fill(item)
            return
        self._axes = axes
        self.setIconSize(self._map_size())
        self.blockSignals(True)
        self.clear()
        self.addTopLevelItems(self._branches(()))
        self.blockSignals(False)
        self.choose(tuple(int(place) for place in np.unravel_index(int(table.argmax()), table.shape))[1:-1])
        self._fit()

    def choose(self, path: Path) -> None:
        """Open the branches above a slice and choose it."""
        item: QTreeWidgetItem | None = self.topLevelItem(path[0])
        for state in path[1:]:
            assert item is not None
            item.setExpanded(True)
            item = item.child(state)
        assert item is not None
        self.setCurrentItem(item)

    @property
    def path(self) -> Path:
        """The states of the slice that is shown; below a branch, of the one with the largest entry."""
        item = self.currentItem()
        path: Path = (0,) if item is None else item.data(0, PATH)
        below = self._below(path)
        if below.ndim == 2:
            return path
        largest = np.unravel_index(int(below.argmax()), below.shape)
        return path + tuple(int(place) for place in largest[1:-1])

    def _below(self, path: Path) -> np.ndarray:
        """The entries of a slice, (k_1, further axes, k_r)."""
        places: tuple[Any, ...] = (slice(None), *path)
        return np.asarray(self._table[places])

    def _branches(self, path: Path) -> list[QTreeWidgetItem]:
        made = []
        for state in range(len(self._axes[1 + len(path)][1])):
            item = QTreeWidgetItem()
            item.setData(0, PATH, (*path, state))
            if len(path) + 1 < len(self._axes) - 2:
                item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
            self._fill(item)
            made.append(item)
        return made

    def _fill(self, item: QTreeWidgetItem) -> None:
        path: Path = item.data(0, PATH)
        name, states = self._axes[len(path)]
        below = self._below(path)
        flat = below.max(tuple(range(1, below.ndim - 1))) if below.ndim > 2 else below
        largest = float(flat.max())
        item.setText(0, f"{name} = {states[path[-1]]}")
        item.setText(2, f"{largest:.3g}" if largest > 0 else "forbidden")
        item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        top = float(self._table.max())
        item.setData(1, Qt.ItemDataRole.DecorationRole, self._small_map(flat / top if top > 0 else flat))

    def _small_map(self, parts: np.ndarray) -> QPixmap:
        from mrfstudio.ui.plots.drawing.stamp import MapStamp

        shown = parts[:MOST_PIXELS, :MOST_PIXELS]
        picture = PlotPicture(shown, (0.0, shown.shape[1]), (0.0, shown.shape[0]), shade)
        pixmap = QPixmap(self.iconSize())
        painter = QPainter(pixmap)
        MapStamp(picture, colours_of(self)).paint(painter, QRectF(pixmap.rect()))
        painter.setPen(QPen(QColor(colours_of(self).outline), 1))
        painter.drawRect(pixmap.rect().adjusted(0, 0, -1, -1))
        painter.end()
        return pixmap

    def _items(self) -> list[QTreeWidgetItem]:
        found, waiting = [], [self.topLevelItem(row) for row in range(self.topLevelItemCount())]
        while waiting:
            item = waiting.pop()
            if item is not None:
                found.append(item)
                waiting += [item.child(row) for row in range(item.childCount())]
        return found

    def _open(self, item: QTreeWidgetItem) -> None:
        if not item.childCount():
            item.addChildren(self._branches(item.data(0, PATH)))

    def _choose(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(self.path)

    def _map_size(self) -> QSize:
        return QSize(px(self, 48), self.fontMetrics().height())

    def _fit(self) -> None:
        """As high as what is open, up to some lines."""
        lines = sum((above := item.parent()) is None or above.isExpanded() for item in self._items())
        inside = min(lines, MOST_LINES) * max(self.sizeHintForRow(0), 1)
        self.setFixedHeight(inside + self.header().sizeHint().height() + 2 * self.frameWidth() + px(self, 2))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and self._axes:
            self.setIconSize(self._map_size())
            self._fit()
            for item in self._items():
                self._fill(item)


def shade(parts: np.ndarray, colours: Colours) -> np.ndarray:
    """Colours (…, 3) uint8 of entries as parts of the largest, 0 … 1: the root, so that small ones are seen too."""
    calm, strong = np.array(rgb(colours.surface)), np.array(rgb(colours.accent))
    return np.rint(calm + (strong - calm) * np.sqrt(parts)[..., None]).astype(np.uint8)
