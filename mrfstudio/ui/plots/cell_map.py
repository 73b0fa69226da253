"""A small table as a map: cells with their numbers, names of rows at the left and of columns below."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.content import Content, PlotPicture, PlotShapes, frames
from mrfstudio.ui.plots.heat_map import MapPlot
from mrfstudio.ui.style.colours import Colours

Cell = tuple[int, int]
ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


class CellMap(MapPlot):
    """Cells fill the place that there is. A click or the arrows choose one: `picked` has its row and column."""

    picked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Content(), parent)
        self.axes, self.same_scale = (True, True), False
        self.values = np.zeros((1, 1))
        self.chosen: Cell | None = None
        self.clicked.connect(self._clicked)

    def show_cells(
        self,
        values: np.ndarray,
        rows: Sequence[str],
        columns: Sequence[str],
        colour: Callable[[np.ndarray, Colours], np.ndarray],
    ) -> None:
        """Show (rows, columns) numbers with their names; `colour` makes (rows, columns, 3) uint8 of them."""
        high, wide = values.shape
        self.values = values
        self.content.rows, self.content.columns = rows, columns
        if self.chosen is not None and (self.chosen[0] >= high or self.chosen[1] >= wide):
            self.chosen = None
        self.content.shapes = self._mark()

        def describe(row: int, column: int, value: float) -> str:
            named = ", ".join(name for name in (rows[row], columns[column]) if name)
            return f"{named}: <b>{value:.8g}</b>"

        picture = PlotPicture(values, (0.0, wide), (0.0, high), colour, describe=describe, numbers=lambda v: f"{v:.3g}")
        self.set_picture(picture)

    def choose(self, row: int, column: int) -> None:
        """Mark a cell and say so."""
        self.chosen = (row, column)
        self.content.shapes = self._mark()
        self.content.tell()
        self.picked.emit(row, column)

    def _mark(self) -> tuple[PlotShapes, ...]:
        if self.chosen is None:
            return ()
        row, column = self.chosen
        return (frames([((column, column + 1), (row, row + 1))], lambda colours: QColor(colours.highlight), 3.0),)

    def _clicked(self, x: float, y: float) -> None:
        """Here, or in the large twin."""
        rows, columns = self.values.shape
        if 0 <= x <= columns and 0 <= y <= rows:
            self.choose(min(int(y), rows - 1), min(int(x), columns - 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        way = ARROWS.get(Qt.Key(event.key()))
        if way is None:
            super().keyPressEvent(event)
            return
        row, column = self.chosen or (0, 0)
        low, high = (size - 1 for size in self.values.shape)
        self.choose(min(max(row + way[0], 0), low), min(max(column + way[1], 0), high))
