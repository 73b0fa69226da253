"""Galleries of small pictures: a list of tiles that wraps, with hover, click and keys."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px


class TileView(QListView):
    """Says which row is pointed at, chosen or let go of; `None` when the pointer leaves."""

    hovered = Signal(object)
    released = Signal(int)
    """Delete or Backspace on a row."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMovement(QListView.Movement.Static)
        self.setUniformItemSizes(True)
        self.setSpacing(px(self, 2))
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # or tiles wrap again when it comes
        self.setAccessibleName(name)
        self.entered.connect(lambda index: self.hovered.emit(index.row()))
        self.viewportEntered.connect(lambda: self.hovered.emit(None))

    def set_tiles(self, model: QAbstractListModel, delegate: QStyledItemDelegate) -> None:
        self.setModel(model)
        self.setItemDelegate(delegate)
        self.selectionModel().currentChanged.connect(lambda index: self.hovered.emit(index.row()))
        self.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.currentIndex().isValid():
            self.released.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    @property
    def in_use(self) -> bool:
        """Whether somebody points into it or moves in it with keys: then its order must stay."""
        return self.underMouse() or self.hasFocus()


def paint_ground(painter: QPainter, option: QStyleOptionViewItem, colours: Colours) -> bool:
    """The frame of a tile that is chosen or pointed at; whether it is chosen."""
    state, place = option.state, QRectF(option.rect)
    chosen = bool(state & QStyle.StateFlag.State_Selected)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if chosen or state & QStyle.StateFlag.State_MouseOver:
        painter.setPen(QPen(QColor(colours.accent if chosen else colours.border), 2 if chosen else 1))
        painter.setBrush(QColor(colours.accent_soft if chosen else colours.raised))
        painter.drawRoundedRect(place.adjusted(1, 1, -1, -1), 4, 4)
    return chosen
