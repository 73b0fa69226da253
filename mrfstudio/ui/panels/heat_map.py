"""Matrices as pictures: potentials between states, messages by direction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from mrfstudio.ui.canvas.layers import ARROWS, direction_names
from mrfstudio.ui.canvas.overlays import Look, as_image, residual
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.panels.legend import bar_colours
from mrfstudio.ui.theme import px

Describe = Callable[[int, int, float], str]


class HeatMap(QWidget):
    """One matrix with a title. Hovering a cell names it; `picked` tells which was clicked."""

    picked = Signal(int, int)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.matrix: np.ndarray | None = None
        self.marked_row: int | None = None
        self._ends = (0.0, 1.0)
        self._map = "sequential"
        self._describe: Describe = lambda row, column, value: f"row {row}, column {column}: {value:.3g}"
        self._pixels: np.ndarray | None = None
        self.setMouseTracking(True)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(title)

    def set_matrix(
        self,
        matrix: np.ndarray | None,
        ends: tuple[float, float] = (0.0, 1.0),
        colours: str = "sequential",
        describe: Describe | None = None,
    ) -> None:
        """Show (rows, columns) numbers; `ends` are the values at both ends of the colour map."""
        self.matrix, self._ends, self._map = matrix, ends, colours
        self._describe = describe or self._describe
        self._pixels = None
        self.update()

    def mark_row(self, row: int | None) -> None:
        """Point at one row."""
        self.marked_row = row
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 120), px(self, 120) + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 72), px(self, 72) + self.fontMetrics().height())

    def heightForWidth(self, width: int) -> int:
        return width + self.fontMetrics().height() + px(self, 2)

    def area(self) -> QRectF:
        """Where the matrix is drawn: cells are squares."""
        line = self.fontMetrics().height() + px(self, 2)
        room = QRectF(0, line, self.width(), self.height() - line)
        if self.matrix is None or not self.matrix.size:
            return room
        rows, columns = self.matrix.shape
        cell = max(min(room.width() / columns, room.height() / rows), 0.1)
        return QRectF(0, line, cell * columns, cell * rows)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        painter.setPen(QColor(colours.text))
        title = metrics.elidedText(self.title, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QPointF(0, metrics.ascent()), title)
        area = self.area()
        if self.matrix is None or not self.matrix.size:
            painter.fillRect(area, QColor(colours.surface))
            return
        image = self._image()
        painter.drawImage(area, image)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.drawRect(area)
        if self.marked_row is not None and self.marked_row < len(self.matrix):
            cell = area.height() / len(self.matrix)
            top = area.top() + self.marked_row * cell
            painter.setPen(QPen(QColor(colours.highlight), 2))
            painter.drawLines([QLineF(area.left(), y, area.right(), y) for y in (top - 1, top + cell + 1)])

    def _image(self) -> QImage:
        if self._pixels is None and self.matrix is not None:
            low, high = self._ends
            part = np.clip((np.nan_to_num(self.matrix) - low) / max(high - low, 1e-12), 0, 1)
            table = bar_colours(self._map, colours_of(self))
            self._pixels = np.ascontiguousarray(table[np.round(part * (len(table) - 1)).astype(np.intp)])
        pixels = self._pixels
        assert pixels is not None
        height, width, _ = pixels.shape
        return QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)

    def cell_at(self, point: QPointF) -> tuple[int, int] | None:
        """Row and column under a point."""
        area = self.area()
        if self.matrix is None or not self.matrix.size or not area.contains(point):
            return None
        rows, columns = self.matrix.shape
        row = int((point.y() - area.top()) / area.height() * rows)
        column = int((point.x() - area.left()) / area.width() * columns)
        return min(row, rows - 1), min(column, columns - 1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if cell is not None and self.matrix is not None:
            self.setToolTip(self._describe(*cell, float(self.matrix[cell])))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if cell is not None:
            self.picked.emit(*cell)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._pixels = None
            self.update()
        elif event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


# Where the small map of each direction stands: as the direction points, with the sum in the middle.
PLACES = {
    "up-left": (0, 0),
    "up": (0, 1),
    "up-right": (0, 2),
    "left": (1, 0),
    "right": (1, 2),
    "down-left": (2, 0),
    "down": (2, 1),
    "down-right": (2, 2),
}


class DirectionMaps(QWidget):
    """The residual of each direction around the largest of all. A click chooses what the canvas shows."""

    chosen = Signal(object)
    """A direction's number, or None for the largest of all."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.maps: dict[int | None, SmallMap] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(px(self, 4))
        self.setAccessibleName("Residual by direction")
        self._build(8)

    def set_residual(self, residual: np.ndarray | None) -> None:
        """(directions, h, w) changes of messages, None before the first iteration."""
        if residual is not None and residual.ndim == 3 and len(residual) != len(self.maps) - 1:
            self._build(len(residual))
        for small in self.maps.values():
            small.set_residual(residual)

    def choose(self, direction: int | None) -> None:
        """Mark the direction that the canvas shows."""
        for index, small in self.maps.items():
            small.set_chosen(index == direction)

    def _build(self, count: int) -> None:
        for small in self.maps.values():
            self._grid.removeWidget(small)
            small.hide()
            small.deleteLater()
        self.maps = {None: SmallMap(None, "largest")}
        self._grid.addWidget(self.maps[None], 1, 1)
        for index, name in enumerate(direction_names(count)):
            self.maps[index] = SmallMap(index, ARROWS[name])
            self.maps[index].setToolTip(f"Messages travelling {name}. Click to show them on the canvas.")
            self._grid.addWidget(self.maps[index], *PLACES[name])
        for small in self.maps.values():
            small.clicked.connect(self._clicked)
        self.choose(None)

    def _clicked(self, direction: int | None) -> None:
        self.choose(direction)
        self.chosen.emit(direction)


class SmallMap(QWidget):
    """The residual of one direction."""

    clicked = Signal(object)

    def __init__(self, direction: int | None, title: str) -> None:
        super().__init__()
        self.direction, self.title = direction, title
        self._residual: np.ndarray | None = None
        self._chosen = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(f"Residual, {title}")

    def set_residual(self, residual: np.ndarray | None) -> None:
        self._residual = residual
        self.update()

    def set_chosen(self, chosen: bool) -> None:
        self._chosen = chosen
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 72), px(self, 72))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 48), px(self, 48))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        side = min(self.width(), self.height())
        square = QRectF((self.width() - side) / 2, (self.height() - side) / 2, side, side).adjusted(1, 1, -1, -1)
        if self._residual is None:
            painter.fillRect(square, QColor(colours.surface))
        else:
            look = Look(dark=colours.name == "dark", direction=self.direction)
            pixels = np.ascontiguousarray(residual(self._residual, look))
            painter.drawImage(square, as_image(pixels))
        painter.setPen(QPen(QColor(colours.accent if self._chosen else colours.outline), 3 if self._chosen else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(square)
        plate = QRectF(square.left() + 2, square.top() + 2, painter.fontMetrics().horizontalAdvance(self.title) + 6, 0)
        plate.setHeight(painter.fontMetrics().height())
        painter.fillRect(plate, QColor(colours.surface))
        painter.setPen(QColor(colours.text))
        painter.drawText(plate, Qt.AlignmentFlag.AlignCenter, self.title)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.clicked.emit(self.direction)
