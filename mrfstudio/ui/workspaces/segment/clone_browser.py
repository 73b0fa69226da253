"""What each clone has learned: the average patch around the pixels that chose it, and how often it is chosen."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QLabel, QListView, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.ui.plots.tile_menu import TileMenu
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.words.lighting import stands_for
from mrfstudio.ui.workspaces.segment.clone_tile import CLONE, CloneTile, clone_map

ORDERS = ("most used first", "by number", "by side of IN")
SIDES = ("right", "above right", "above", "above left", "left", "below left", "below", "below right")
EMPTY = (
    "The gallery is measured once for each model. It shows what each clone of CONTOUR has learned to expect around it."
)


class CloneBrowser(QWidget):
    """A gallery of the clones in use; those never chosen are listed below."""

    hovered = Signal(object)
    """The clone under the pointer or the keyboard's focus, or None."""
    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gallery: CloneGallery | None = None
        self.model = CloneModel(self)
        self.title = QLabel()
        self.title.setWordWrap(True)
        self.order = ChoiceBox(8)
        self.order.addItems(ORDERS)
        self.order.setAccessibleName("Order of the clones")
        self.order.setToolTip("<b>Order</b><br>In which order the clones are shown.")
        self.order.activated.connect(lambda _: self._sort())
        self.view = self._view()
        self.menu = TileMenu(self.view, lambda index: clone_map(self.model.gallery, index.data(CLONE)))
        stands_for(self.view, "hidden")
        self.unused = QLabel()
        self.unused.setWordWrap(True)
        self.unused.setProperty("role", "muted")
        self.unused.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self)
        column.setContentsMargins(px(self, 8), px(self, 4), px(self, 8), px(self, 8))
        # Two rows: beside the box the sentence would break after every word in a narrow dock.
        column.addWidget(self.title)
        column.addWidget(self.order)
        column.addWidget(self.view, 1)
        column.addWidget(self.unused)
        self.set_gallery(None)

    def set_gallery(self, gallery: CloneGallery | None) -> None:
        """Show the clones of a model; None while there is nothing to show."""
        self.gallery = gallery
        self.view.setVisible(gallery is not None)
        self.order.setVisible(gallery is not None)
        self.unused.setVisible(gallery is not None)
        if gallery is None:
            self.title.setText(EMPTY)
            self.model.set_clones(None, [])
            return
        count, idle = len(gallery.use), unused_clones(gallery)
        self.title.setText(f"{count - len(idle)} of {count} clones in use on {gallery.images} figures")
        self.unused.setText(f"Unused: {', '.join(map(str, idle))}" if idle else "Every clone is used.")
        self._sort()

    def set_progress(self, done: int, total: int) -> None:
        """Say how far the measuring is."""
        if self.gallery is None:
            self.title.setText(f"Measuring the clones: {done} of {total} figures.")

    def point_at(self, clone: int | None) -> None:
        """Show a clone that is pointed at elsewhere; nothing is emitted."""
        index = self.model.index_of(clone)
        selection = self.view.selectionModel()
        if index is None:
            selection.clearSelection()
            return
        self.view.scrollTo(index)
        selection.select(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def _view(self) -> QListView:
        view = QListView()
        view.setModel(self.model)
        view.setItemDelegate(CloneTile(view))
        view.setViewMode(QListView.ViewMode.IconMode)
        view.setResizeMode(QListView.ResizeMode.Adjust)
        view.setMovement(QListView.Movement.Static)
        view.setUniformItemSizes(True)
        view.setSpacing(px(self, 3))
        view.setMouseTracking(True)
        view.setAccessibleName("Clones")
        view.entered.connect(lambda index: self.hovered.emit(index.data(CLONE)))
        view.viewportEntered.connect(lambda: self.hovered.emit(None))
        view.clicked.connect(lambda index: self.chosen.emit(index.data(CLONE)))
        view.activated.connect(lambda index: self.chosen.emit(index.data(CLONE)))
        view.selectionModel().currentChanged.connect(lambda index: self.hovered.emit(index.data(CLONE)))
        view.viewport().installEventFilter(self)
        return view

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        return super().eventFilter(watched, event)

    def _sort(self) -> None:
        if self.gallery is None:
            return
        idle = set(unused_clones(self.gallery))
        used = [clone for clone in range(len(self.gallery.use)) if clone not in idle]
        if self.order.currentText() == ORDERS[0]:
            used.sort(key=lambda clone: -float(self.gallery.use[clone]) if self.gallery else 0.0)
        elif self.order.currentText() == ORDERS[2]:
            angles = np.nan_to_num(self.gallery.ownership, nan=9.0)  # those without a side come last
            used.sort(key=lambda clone: float(angles[clone]))
        self.model.set_clones(self.gallery, used)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.gallery is not None:
            self.view.doItemsLayout()


class CloneModel(QAbstractListModel):
    """The clones in the order they are shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.gallery: CloneGallery | None = None
        self.clones: list[int] = []

    def set_clones(self, gallery: CloneGallery | None, clones: list[int]) -> None:
        self.beginResetModel()
        self.gallery, self.clones = gallery, clones
        self.endResetModel()

    def index_of(self, clone: int | None) -> QModelIndex | None:
        return self.index(self.clones.index(clone)) if clone in self.clones else None

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        return len(self.clones)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or self.gallery is None:
            return None
        clone = self.clones[index.row()]
        if role == CLONE:
            return clone
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return described(self.gallery, clone)
        return None


def unused_clones(gallery: CloneGallery) -> list[int]:
    """The numbers of the clones that no pixel chose."""
    return np.flatnonzero(gallery.use <= 0).tolist()


def described(gallery: CloneGallery, clone: int) -> str:
    """One clone in words."""
    use, angle = float(gallery.use[clone]), float(gallery.ownership[clone])
    side = "does not lean to a side" if math.isnan(angle) else f"expects IN {SIDES[round(angle / (math.pi / 4)) % 8]}"
    return f"Clone {clone}: chosen by {use:.1%} of the contour pixels, {side}."
