"""A table of any order as a heat-map of two of its axes, with a tree of slices for the further ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.graph_colours import dark_text
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.slice_tree import Axis, Path, SliceTree, shade

MOST_CELLS = 64  # of one side
ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


class TableMap(QWidget):
    """Rows are the first axis, columns the last; the tree chooses states of the axes between."""

    picked = Signal(object)
    """The place of the chosen entry, a number for each axis."""

    def __init__(self, followed: TableMap | None = None, parent: QWidget | None = None) -> None:
        """One that is `followed` chooses the slice for both; this one then has no tree of its own."""
        super().__init__(parent)
        self.grid, self.tree, self.which = _Grid(), SliceTree(), QLabel(wordWrap=True)
        self._followed = followed
        self._between: Path = ()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.tree, self.which, self.grid):
            column.addWidget(widget)
        self.tree.hide()
        self.grid.picked.connect(lambda row, col: self.picked.emit(self._place(row, col)))
        (self if followed is None else followed).tree.chosen.connect(self._slice)
        self._table = np.zeros((1, 1))
        self._axes: tuple[Axis, ...] = ()

    def show_table(self, table: np.ndarray, axes: tuple[Axis, ...]) -> None:
        """Show values (k_1, …, k_r) of at least 0; `axes` are the names of variables and of their states."""
        self._table, self._axes = table, axes
        many = len(axes) > 2
        tree = self.tree if self._followed is None else self._followed.tree
        if many and self._followed is None:
            tree.show_table(table, axes)
        self.tree.setVisible(many and self._followed is None)
        self.which.setVisible(many)
        self._slice(tree.path if many else ())

    def _slice(self, between: Path) -> None:
        """Show another slice, by the states of the axes between."""
        if len(between) != max(len(self._axes) - 2, 0):
            return  # of a table that comes in a moment
        self._between = between
        named = zip(self._axes[1:-1], between, strict=True)
        self.which.setText(", ".join(f"{name} = {states[state]}" for (name, states), state in named))
        places: tuple[Any, ...] = (slice(None), *between)
        rows = self._axes[0]
        columns = self._axes[-1] if len(self._axes) > 1 else ("", ("",))
        self.grid.show_slice(np.atleast_2d(self._table[places].T).T, rows, columns, float(self._table.max()))

    def _place(self, row: int, column: int) -> tuple[int, ...]:
        return (row, *self._between, column) if len(self._axes) > 1 else (row,)


class _Grid(QWidget):
    """Cells with their numbers, darker where they are larger."""

    picked = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.values = np.zeros((1, 1))
        self.rows: Axis = ("", ("",))
        self.columns: Axis = ("", ("",))
        self.largest = 1.0
        self.chosen: tuple[int, int] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("Entries of the table, the largest 1. Click one to change it.")

    def show_slice(self, values: np.ndarray, rows: Axis, columns: Axis, largest: float) -> None:
        grown = values.shape != self.values.shape
        self.values, self.rows, self.columns, self.largest = values, rows, columns, largest
        if self.chosen is not None and (self.chosen[0] >= values.shape[0] or self.chosen[1] >= values.shape[1]):
            self.chosen = None
        self.setAccessibleName(f"Table of {rows[0]} and {columns[0]}")
        if grown:
            self.setFixedHeight(self.sizeHint().height())
        self.update()

    def _line(self) -> int:
        return self.fontMetrics().height() + px(self, 4)

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), (min(len(self.values), MOST_CELLS) + 1) * self._line())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())

    def _left(self) -> float:
        metrics = self.fontMetrics()
        widest = max(metrics.horizontalAdvance(name) for name in (self.rows[0], *self.rows[1][:MOST_CELLS]))
        return min(widest + px(self, 6), self.width() * 0.35)

    def _cell(self, row: int, column: int) -> QRectF:
        left, count = self._left(), min(self.values.shape[1], MOST_CELLS)
        wide = (self.width() - left) / max(count, 1)
        return QRectF(left + column * wide, (row + 1) * self._line(), wide, self._line())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours, metrics = QPainter(self), colours_of(self), self.fontMetrics()
        rows, columns = (min(size, MOST_CELLS) for size in self.values.shape)
        painter.setPen(QColor(colours.muted))
        head = QRectF(0, 0, self._left() - px(self, 4), self._line())
        name = metrics.elidedText(self.rows[0], Qt.TextElideMode.ElideRight, int(head.width()))
        painter.drawText(head, Qt.AlignmentFlag.AlignVCenter, name)
        for column in range(columns):
            box = self._cell(-1, column)
            text = f"{self.columns[0]} {self.columns[1][column]}".strip() if column == 0 else self.columns[1][column]
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        for row in range(rows):
            box = QRectF(0, self._cell(row, 0).top(), self._left() - px(self, 4), self._line())
            text = metrics.elidedText(self.rows[1][row], Qt.TextElideMode.ElideRight, int(box.width()))
            painter.setPen(QColor(colours.muted))
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
            for column in range(columns):
                self._paint_cell(painter, row, column)

    def _paint_cell(self, painter: QPainter, row: int, column: int) -> None:
        colours, box, value = colours_of(self), self._cell(row, column), float(self.values[row, column])
        part = value / self.largest if self.largest > 0 else 0.0
        fill = shade(np.asarray(part), colours)
        painter.fillRect(box, QColor(*fill.tolist()))
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.drawRect(box)
        text = f"{value:.3g}"
        if painter.fontMetrics().horizontalAdvance(text) < box.width():
            painter.setPen(QColor("#14171a") if dark_text(fill[None])[0] else QColor("#ffffff"))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        if self.chosen == (row, column):
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.drawRect(box.adjusted(1, 1, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for row in range(min(self.values.shape[0], MOST_CELLS)):
            for column in range(min(self.values.shape[1], MOST_CELLS)):
                if self._cell(row, column).contains(event.position()):
                    self._choose(row, column)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        way = ARROWS.get(Qt.Key(event.key()))
        if way is None:
            super().keyPressEvent(event)
            return
        row, column = self.chosen or (0, 0)
        low, high = (min(size, MOST_CELLS) - 1 for size in self.values.shape)
        self._choose(min(max(row + way[0], 0), low), min(max(column + way[1], 0), high))

    def _choose(self, row: int, column: int) -> None:
        self.chosen = (row, column)
        self.picked.emit(row, column)
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.setFixedHeight(self.sizeHint().height())
            self.update()
