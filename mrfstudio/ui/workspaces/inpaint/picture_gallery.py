"""Pictures of data sets to inpaint: a page of small pictures; arrow keys and clicks open them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import PictureGallery, PictureSource
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, grey
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.tiles import TileView, paint_ground

EMPTY = "Pictures to fill in appear here: of data sets of the size that the model takes, and drawn by the model."
Index = QModelIndex | QPersistentModelIndex


class GalleryPanel(QWidget):
    """Emits the picture that is chosen, and which page it wants."""

    chosen = Signal(int)
    """The row of a picture on the shown page."""
    wanted = Signal(str, int)
    """A data set and a page of it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gallery: PictureGallery | None = None
        self.model = GalleryModel(self)
        self.source = ChoiceBox(10)
        self.source.setAccessibleName("Data set")
        self.source.setToolTip("<b>Data set</b><br>Where the pictures come from. Generated ones need no download.")
        self.back = _page_button("‹", "Earlier pictures", "The page before.")
        self.on = _page_button("›", "Further pictures", "The next page.")
        self.numbers = QLabel()
        self.numbers.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.note = QLabel(EMPTY, wordWrap=True)
        self.note.setProperty("role", "muted")
        self.view = TileView("Pictures")
        self.view.set_tiles(self.model, PictureTile(self.view))
        self.view.setToolTip("Click a picture, or go through them with the arrow keys; the mask stays.")
        self._build()
        self.source.activated.connect(lambda _: self._ask(0))
        self.back.clicked.connect(lambda: self.turn(-1))
        self.on.clicked.connect(lambda: self.turn(1))
        self.view.selectionModel().currentChanged.connect(self._current)
        self.set_sources(())

    def _build(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.back)
        row.addWidget(self.numbers, 1)
        row.addWidget(self.on)
        column = QVBoxLayout(self)
        column.setContentsMargins(px(self, 8), px(self, 4), px(self, 8), px(self, 8))
        column.addWidget(self.source)
        column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(self.view, 1)

    def set_sources(self, sources: Sequence[PictureSource]) -> None:
        """The data sets that fit the model; the first one that is there is asked for."""
        self.source.clear()
        for source in sources:
            self.source.addItem(source.title, source.name)
            index = self.source.count() - 1
            self.source.setItemData(index, source.missing or source.summary, Qt.ItemDataRole.ToolTipRole)
            item = self.source.model().item(index)  # type: ignore[attr-defined]  # a QComboBox has a standard model
            item.setEnabled(not source.missing)
        usable = any(not source.missing for source in sources)
        missing = next((source.missing for source in sources), "")
        self.note.setText(EMPTY if not sources else missing)
        self.note.setVisible(not usable)
        for widget in (self.source, self.back, self.on):
            widget.setEnabled(usable)
        self.set_gallery(None)
        if usable:
            self._ask(0)

    def set_gallery(self, gallery: PictureGallery | None) -> None:
        """Show a page."""
        self.gallery = gallery
        self.model.set_pictures(None if gallery is None else gallery.pictures)
        self.numbers.setText("" if gallery is None else numbered(gallery))
        if gallery is not None:
            self.back.setEnabled(gallery.page > 0)
            last = gallery.total is not None and gallery.numbers[-1] + 1 >= gallery.total
            self.on.setEnabled(not last)

    def turn(self, by: int) -> None:
        """Ask for another page."""
        if self.gallery is not None and self.gallery.page + by >= 0:
            self._ask(self.gallery.page + by)

    def step(self, by: int) -> None:
        """The next picture, or the one before."""
        rows = self.model.rowCount()
        if not rows:
            return
        now = self.view.currentIndex().row()
        row = now + by if now >= 0 else 0
        self.view.setCurrentIndex(self.model.index(min(max(row, 0), rows - 1)))

    def mark(self, row: int | None) -> None:
        """Show which picture is open, so that the next one is the one after it."""
        if row is not None:
            with QSignalBlocker(self.view.selectionModel()):
                self.view.setCurrentIndex(self.model.index(row))
            self.view.viewport().update()

    def _ask(self, page: int) -> None:
        name = self.source.currentData()
        if name:
            self.wanted.emit(name, page)

    def _current(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(index.row())


class GalleryModel(QAbstractListModel):
    """The pictures of a page."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pictures = np.zeros((0, 1, 1), np.uint8)

    def set_pictures(self, pictures: np.ndarray | None) -> None:
        self.beginResetModel()
        self.pictures = np.zeros((0, 1, 1), np.uint8) if pictures is None else pictures
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.pictures)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if index.isValid() and role == Qt.ItemDataRole.AccessibleTextRole:
            return f"Picture {index.row() + 1}"
        return None


class PictureTile(QStyledItemDelegate):
    """Draws one picture with square pixels."""

    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        height, width = _shape(index)
        tall = px(self._view, 62)
        return QSize(round(tall * width / height) + px(self._view, 10), tall + px(self._view, 10))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        paint_ground(painter, option, colours_of(self._view))
        margin = px(self._view, 5)
        place = QRectF(option.rect).adjusted(margin, margin, -margin, -margin)
        picture = index.model().pictures[index.row()]  # type: ignore[attr-defined]  # the panel's own model
        pixels = np.ascontiguousarray(grey(picture, LayerStyle()), np.uint32)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
        painter.drawImage(place, as_image(pixels))
        painter.restore()


def numbered(gallery: PictureGallery) -> str:
    """Which pictures of a data set these are."""
    if not gallery.numbers:
        return ""
    shown = f"{gallery.numbers[0] + 1}–{gallery.numbers[-1] + 1}"
    return shown if gallery.total is None else f"{shown} of {gallery.total}"


def _shape(index: Index) -> tuple[int, int]:
    pictures: np.ndarray = index.model().pictures  # type: ignore[attr-defined]  # the panel's own model
    return pictures.shape[1], pictures.shape[2]


def _page_button(text: str, name: str, help: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setAccessibleName(name)
    button.setToolTip(f"<b>{name}</b><br>{help}")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
    return button
