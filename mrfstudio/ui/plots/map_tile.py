"""Tiles of a list with a map in each: pointing at a cell says its value, as in any plot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from mrfstudio.ui.plots.content import PlotPicture
from mrfstudio.ui.style.colours import colours_of

if TYPE_CHECKING:
    from mrfstudio.ui.plots.drawing.stamp import MapStamp

MOST = 4000
"""Maps that are kept ready."""
Index = QModelIndex | QPersistentModelIndex
TOOL_TIP = Qt.ItemDataRole.ToolTipRole


class MapTile(QStyledItemDelegate):
    """Draws the map of a tile; a subclass draws the rest of it."""

    def __init__(self, view: QListView) -> None:
        super().__init__(view)
        self._view = view
        self._stamps: dict[Hashable, tuple[PlotPicture, MapStamp]] = {}

    @abstractmethod
    def key(self, index: Index) -> Hashable:
        """The same for the same map."""

    @abstractmethod
    def picture(self, index: Index) -> PlotPicture:
        """The map of a tile."""

    @abstractmethod
    def field(self, place: QRectF, index: Index) -> QRectF:
        """Where the map stands in a tile."""

    def paint_map(self, painter: QPainter, field: QRectF, index: Index) -> None:
        from mrfstudio.ui.plots.drawing.stamp import MapStamp

        colours = colours_of(self._view)
        key = (self.key(index), colours.name)
        if key not in self._stamps:
            if len(self._stamps) >= MOST:
                self._stamps.clear()
            picture = self.picture(index)
            self._stamps[key] = picture, MapStamp(picture, colours)
        self._stamps[key][1].paint(painter, field)

    def words_at(self, point: QPointF, place: QRectF, index: Index) -> str:
        """The exact value under a point of a tile; empty beside the map."""
        field = self.field(place, index)
        if not field.contains(point):
            return ""
        picture = self.picture(index)
        if picture.describe is None:
            return ""
        rows, columns = picture.values.shape[:2]
        row = min(int((point.y() - field.top()) / field.height() * rows), rows - 1)
        column = min(int((point.x() - field.left()) / field.width() * columns), columns - 1)
        value = picture.values[row, column]
        return picture.describe(row, column, float(value) if value.ndim == 0 else float("nan"))

    def helpEvent(self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index) -> bool:
        """What the tile says, and the value that is pointed at."""
        if event.type() != QEvent.Type.ToolTip or not index.isValid():
            return super().helpEvent(event, view, option, index)
        place = option.rect
        said = [self.words_at(QPointF(event.pos()), QRectF(place), index), index.data(TOOL_TIP) or ""]
        QToolTip.showText(event.globalPos(), "<br>".join(filter(None, said)), view, place)
        return True
