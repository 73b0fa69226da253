"""The hidden units of a model: what each adds to the picture, how active it is, and whether it is held."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QLabel,
    QListView,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import UnitGallery
from mrfstudio.ui.plots.content import Content, PlotPicture
from mrfstudio.ui.plots.heat_map import MapPlot, matrix_picture
from mrfstudio.ui.plots.map_tile import MapTile
from mrfstudio.ui.plots.tile_menu import TileMenu, larger
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.tiles import TileView, paint_ground
from mrfstudio.ui.words.lighting import stands_for

ORDERS = ("most active first", "by number", "strongest first")
EMPTY = "Hidden units appear here: each has learned a pattern that it adds to the picture when it is on."
NONE = "This model has no hidden units."
TITLE = "{count} hidden units, {held}. Point at one to see what it adds; click to switch it on, off, or let it go."
Index = QModelIndex | QPersistentModelIndex
UNIT = Qt.ItemDataRole.UserRole
FREE = -1


class UnitPanel(QWidget):
    """A gallery of receptive fields. The order stays while somebody uses it or iterations run; bars follow at once."""

    hovered = Signal(object)
    """The unit pointed at, or None."""
    clamped = Signal(int, object)
    """A unit and what it is to be: 1 on, 0 off, None free."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = UnitModel(self)
        self.title = QLabel(EMPTY, wordWrap=True)
        self.title.setProperty("role", "muted")
        self.order = ChoiceBox(8)
        self.order.addItems(ORDERS)
        self.order.setAccessibleName("Order of the units")
        self.order.setToolTip("<b>Order</b><br>In which order the units are shown.")
        self.order.activated.connect(lambda _: self.sort())
        self.view = TileView("Hidden units")
        stands_for(self.view, "hidden", "coupling")
        self.view.set_tiles(self.model, UnitTile(self.view))
        self.menu = TileMenu(self.view, lambda index: unit_map(self.model.gallery, self.model.unit(index.row())))
        self.view.hovered.connect(lambda row: self.hovered.emit(None if row is None else self.model.unit(row)))
        self.view.clicked.connect(lambda index: self._cycle(index.row()))
        self.view.activated.connect(self._activated)
        self.view.released.connect(lambda row: self.clamped.emit(self.model.unit(row), None))
        column = QVBoxLayout(self)
        column.setContentsMargins(px(self, 8), px(self, 4), px(self, 8), px(self, 8))
        for widget in (self.title, self.order, self.view):
            column.addWidget(widget)
        self.set_gallery(None)

    @property
    def gallery(self) -> UnitGallery | None:
        return self.model.gallery

    def set_gallery(self, gallery: UnitGallery | None) -> None:
        """Another model's units; None while there are none."""
        self.model.set_gallery(gallery)
        self.view.setVisible(gallery is not None)
        self.order.setVisible(gallery is not None)
        self._describe()
        self.sort()

    def set_activity(self, active: np.ndarray, held: np.ndarray, settled: bool) -> None:
        """p(h = 1) and what is held, (hidden,) each; `settled` says that no iteration is due."""
        changed = self.model.set_activity(active, held)
        if changed:
            self._describe()
        if settled and not self.view.in_use and self.order.currentText() == ORDERS[0]:
            self.sort()

    def sort(self) -> None:
        """Put the units into the chosen order; those that are held come first."""
        model = self.model
        if model.gallery is None:
            return
        count = len(model.gallery.fields)
        if self.order.currentText() == ORDERS[0]:
            key = np.lexsort((np.arange(count), -model.active, model.held == FREE))
        elif self.order.currentText() == ORDERS[1]:
            key = np.arange(count)
        else:
            key = np.argsort(-np.abs(model.gallery.fields).sum((1, 2)), kind="stable")
        model.set_order(key.tolist())

    def _describe(self) -> None:
        gallery = self.model.gallery
        if gallery is None:
            self.title.setText(EMPTY)
            return
        if not len(gallery.fields):
            self.title.setText(NONE)
            return
        held = int((self.model.held != FREE).sum())
        words = "none held" if not held else f"{held} held"
        self.title.setText(TITLE.format(count=len(gallery.fields), held=words))

    def _cycle(self, row: int) -> None:
        """Free, on, off, free again."""
        unit = self.model.unit(row)
        following: dict[int, int | None] = {FREE: 1, 1: 0, 0: None}
        self.clamped.emit(unit, following[int(self.model.held[unit])])

    def _activated(self, index: QModelIndex) -> None:
        if not self.view.underMouse():  # a click has been heard already; this is the Enter key
            self._cycle(index.row())


class UnitModel(QAbstractListModel):
    """The units in the order they are shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.gallery: UnitGallery | None = None
        self.order: list[int] = []
        self.active = np.zeros(0, np.float32)
        self.held = np.zeros(0, np.int8)

    def unit(self, row: int) -> int:
        return self.order[row]

    def set_gallery(self, gallery: UnitGallery | None) -> None:
        self.beginResetModel()
        self.gallery = gallery
        count = 0 if gallery is None else len(gallery.fields)
        self.order = list(range(count))
        self.active, self.held = np.zeros(count, np.float32), np.full(count, FREE, np.int8)
        self.endResetModel()

    def set_order(self, order: list[int]) -> None:
        if order != self.order:
            self.layoutAboutToBeChanged.emit()
            self.order = order
            self.layoutChanged.emit()

    def set_activity(self, active: np.ndarray, held: np.ndarray) -> bool:
        """Take new numbers; whether other units are held now."""
        if self.gallery is None or not self.order or len(active) != len(self.active):
            return False
        changed = not np.array_equal(held, self.held)
        self.active, self.held = active, held
        self.dataChanged.emit(self.index(0), self.index(len(self.order) - 1))
        return changed

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.order)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or self.gallery is None:
            return None
        unit = self.order[index.row()]
        if role == UNIT:
            return unit
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            state = {FREE: "free", 0: "held off", 1: "held on"}[int(self.held[unit])]
            field = self.gallery.fields[unit]
            adds = f"adds {field.min():+.2g} to {field.max():+.2g} {self.gallery.unit}"
            return f"Unit {unit}: {adds}; on with probability {self.active[unit]:.0%}, {state}."
        return None


class UnitTile(MapTile):
    """Draws a receptive field, the unit's number, a bar for its activity, and a word where it is held."""

    def key(self, index: Index) -> tuple[int, int]:
        model: UnitModel = index.model()  # type: ignore[assignment]  # the panel's own model
        return id(model.gallery), model.unit(index.row())

    def picture(self, index: Index) -> PlotPicture:
        model: UnitModel = index.model()  # type: ignore[assignment]  # the panel's own model
        assert model.gallery is not None
        return unit_picture(model.gallery, model.unit(index.row()))

    def field(self, place: QRectF, index: Index) -> QRectF:
        tall, wide = _size(self._view, index)
        return QRectF(place.center().x() - wide / 2, place.top() + px(self._view, 6), wide, tall)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        tall, wide = _size(self._view, index)
        return QSize(wide + px(self._view, 12), tall + px(self._view, 18) + self._view.fontMetrics().height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model: UnitModel = index.model()  # type: ignore[assignment]  # the panel's own model
        unit, colours = model.unit(index.row()), colours_of(self._view)
        painter.save()
        paint_ground(painter, option, colours)
        place = QRectF(option.rect)
        field = self.field(place, index)
        self.paint_map(painter, field, index)
        held = int(model.held[unit])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.highlight if held != FREE else colours.outline), 2.5 if held != FREE else 1))
        painter.drawRect(field)
        self._paint_bar(painter, field, float(model.active[unit]), colours)
        words = str(unit) if held == FREE else f"{unit} {'on' if held else 'off'}"
        painter.setPen(QColor(colours.text if held == FREE else colours.highlight))
        below = QRectF(place.left(), field.bottom() + px(self._view, 7), place.width(), place.height())
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, words)
        painter.restore()

    def _paint_bar(self, painter: QPainter, field: QRectF, active: float, colours: Colours) -> None:
        track = QRectF(field.left(), field.bottom() + px(self._view, 3), field.width(), px(self._view, 4))
        painter.fillRect(track, QColor(colours.raised))
        track.setWidth(track.width() * min(max(active, 0.0), 1.0))
        painter.fillRect(track, QColor(colours.accent))


def _size(view: QListView, index: Index) -> tuple[int, int]:
    """Height and width of a field on the screen."""
    gallery: UnitGallery = index.model().gallery  # type: ignore[attr-defined]  # the panel's own model
    _, height, width = gallery.fields.shape
    tall = px(view, 56)
    words = px(view, 18) + view.fontMetrics().height()
    tall = round(tall * larger(view, len(gallery.fields), tall * width / height + px(view, 12), tall + words))
    return tall, round(tall * width / height)


def unit_map(gallery: UnitGallery | None, unit: int) -> MapPlot:
    """What a unit adds, as a plot that says its numbers."""
    plot = MapPlot(Content(f"Unit {unit}"))
    if gallery is not None:
        plot.set_picture(unit_picture(gallery, unit))
    return plot


def unit_picture(gallery: UnitGallery, unit: int) -> PlotPicture:
    """What a unit adds, in colours up to its own strongest: the pattern matters, strength is the order's."""
    field = gallery.fields[unit]
    largest = float(np.abs(field).max()) or 1.0

    def describe(row: int, column: int, value: float) -> str:
        return f"row {row}, column {column}: <b>{value:+.6g}</b> {gallery.unit}"

    return matrix_picture(field, (-largest, largest), "diverging", describe)
