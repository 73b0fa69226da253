"""A table of any order as a heat-map of two of its axes, with a tree of slices for the further ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.plots.cell_map import CellMap
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.converge.inspecting.slice_tree import Axis, Path, SliceTree, shade

MOST_CELLS = 64
"""Rows from which on the map grows no higher: they become thinner."""


class TableMap(QWidget):
    """Rows are the first axis, columns the last; the tree chooses states of the axes between."""

    picked = Signal(object)
    """The place of the chosen entry, a number for each axis."""

    def __init__(self, followed: TableMap | None = None, parent: QWidget | None = None) -> None:
        """One that is `followed` chooses the slice for both; this one then has no tree of its own."""
        super().__init__(parent)
        self.grid, self.tree, self.which = TableGrid(), SliceTree(), QLabel(wordWrap=True)
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


class TableGrid(CellMap):
    """Cells with their numbers, darker where they are larger; as high as its rows need."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setWhatsThis("Entries of the table, the largest 1. Click one to change it; a double click enlarges it.")

    def show_slice(self, values: np.ndarray, rows: Axis, columns: Axis, largest: float) -> None:
        grown = values.shape != self.values.shape

        def colour(cells: np.ndarray, theme: Colours) -> np.ndarray:
            return shade(cells / largest if largest > 0 else np.zeros_like(cells), theme)

        self.setAccessibleName(f"Table of {rows[0]} and {columns[0]}" if columns[0] else f"Table of {rows[0]}")
        self.show_cells(values, _named(*rows), _named(*columns), colour)
        if grown:
            self.setFixedHeight(self.sizeHint().height())

    def sizeHint(self) -> QSize:
        _, top, _, bottom = self.margins()
        cell = self.fontMetrics().height() + px(self, 4)
        return QSize(px(self, 200), min(len(self.values), MOST_CELLS) * cell + top + bottom)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.setFixedHeight(self.sizeHint().height())


def _named(name: str, states: tuple[str, ...]) -> tuple[str, ...]:
    """The names of states, the first with that of the variable."""
    return (f"{name} {states[0]}".strip(), *states[1:])
