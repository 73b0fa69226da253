"""Matrices as pictures: potentials between states, messages by direction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from mrfstudio.ui.canvas.layers import ARROWS, direction_names
from mrfstudio.ui.canvas.overlays import LayerStyle, residual
from mrfstudio.ui.plots.content import Content, Note, PlotPicture, PlotShapes, Range, frames
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import Colours, rgb
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.legend import bar_colours


class MapPlot(Plot):
    """A picture without axes: rows count downwards, cells are squares.

    Wheel, + and - zoom both ways alike, drag and arrows pan; nothing beyond the edge ever comes into sight.
    """

    def __init__(self, content: Content, parent: QWidget | None = None) -> None:
        super().__init__(content, None, parent)
        self.axes, self.inverted, self.same_scale = (False, False), True, True

    def twin(self) -> MapPlot:
        other = MapPlot(self.content)
        other.look_like(self)
        other.clicked.connect(self.clicked)
        return other

    def margins(self) -> tuple[int, int, int, int]:
        if any(self.axes):
            return super().margins()
        return 0, self.heading_height() if self.content.title else 0, 0, 0

    def zoom(self, factor: float, at: QPointF, *, across: bool = True, up: bool = False) -> None:
        """Keep `factor` of what is in sight around a point, both ways: cells stay squares."""
        super().zoom(factor, at, across=True, up=True)
        self._stay_inside()

    def pan(self, by: QPointF) -> None:
        if self.zoomed:
            super().pan(by)
            self._stay_inside()

    def _stay_inside(self) -> None:
        """All of it again where more than all would be in sight, else the nearest part that has no edge in it."""
        if self.zoom_x is None or self.zoom_y is None:
            return
        x, y = _inside(self.zoom_x, self.whole_x()), _inside(self.zoom_y, self.whole_y())
        self.zoom_x, self.zoom_y = (x, y) if x is not None and y is not None else (None, None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.angleDelta().y() < 0 and not self.zoomed:
            event.ignore()  # all of it is in sight: the panel around it scrolls
        else:
            super().wheelEvent(event)

    def set_picture(self, picture: PlotPicture | None) -> None:
        """Show another map; the same part of it where it has the same shape."""
        shape = None if self.content.picture is None else self.content.picture.values.shape
        self.content.picture = picture
        if picture is not None and picture.values.shape != shape:
            self.zoom_x = self.zoom_y = None
            self._dress()
        self.content.tell()


class HeatMap(MapPlot):
    """One matrix with a title. Hovering a cell names it; `picked` tells which was clicked."""

    picked = Signal(int, int)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(Content(title), parent)
        self.matrix: np.ndarray | None = None
        self.clicked.connect(self._clicked)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_matrix(
        self,
        matrix: np.ndarray | None,
        ends: tuple[float, float] = (0.0, 1.0),
        colours: str = "sequential",
        describe: Callable[[int, int, float], str] | None = None,
    ) -> None:
        """Show (rows, columns) numbers; `ends` are the values at both ends of the colour map."""
        self.matrix = matrix
        if matrix is None or not matrix.size:
            self.set_picture(None)
            return
        self.set_picture(matrix_picture(matrix, ends, colours, describe))

    def mark_row(self, row: int | None) -> None:
        """Point at one row."""
        known = row is not None and self.matrix is not None and row < len(self.matrix)
        if known and row is not None and self.matrix is not None:
            wide = float(self.matrix.shape[1])
            x, y = np.array([0, wide, 0, wide]), np.array([row, row, row + 1, row + 1], dtype=float)
            self.content.shapes = (PlotShapes(x, y, lambda colours: QColor(colours.highlight), 2.0),)
        else:
            self.content.shapes = ()
        self.content.tell()

    def _cell(self, x: float, y: float) -> tuple[int, int] | None:
        if self.matrix is None or not self.matrix.size:
            return None
        rows, columns = self.matrix.shape
        inside = 0 <= x <= columns and 0 <= y <= rows
        return (min(int(y), rows - 1), min(int(x), columns - 1)) if inside else None

    def _clicked(self, x: float, y: float) -> None:
        """Here, or in the large twin."""
        cell = self._cell(x, y)
        if cell is not None:
            self.picked.emit(*cell)

    def sizeHint(self) -> QSize:
        return QSize(px(self, 120), px(self, 120) + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 72), px(self, 72) + self.fontMetrics().height())

    def heightForWidth(self, width: int) -> int:
        return width + self.heading_height()


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
            small.chosen.connect(self._clicked)
        self.choose(None)

    def _clicked(self, direction: int | None) -> None:
        self.choose(direction)
        self.chosen.emit(direction)


class SmallMap(MapPlot):
    """The residual of one direction."""

    chosen = Signal(object)

    def __init__(self, direction: int | None, title: str) -> None:
        super().__init__(Content())
        self.direction, self.title = direction, title
        self._chosen = False
        self._shape = (1, 1)
        self.setAccessibleName(f"Residual, {title}")
        self.clicked.connect(lambda *_: self.chosen.emit(self.direction))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self.direction)
        else:
            super().keyPressEvent(event)

    def set_residual(self, changes: np.ndarray | None) -> None:
        if changes is None:
            self.set_picture(None)
            return
        chosen = self.direction
        if changes.ndim == 3:
            changes = changes.max(axis=0) if chosen is None or chosen >= len(changes) else changes[chosen]
        rows, columns = self._shape = changes.shape
        self.content.notes = [Note(self.title, 0.0, 0.0, (0.0, 0.0))]
        self._frame()
        self.set_picture(PlotPicture(changes, (0.0, columns), (0.0, rows), _heat))

    def set_chosen(self, chosen: bool) -> None:
        self._chosen = chosen
        self._frame()
        self.content.tell()

    def _frame(self) -> None:
        """A frame, thick around the one that is chosen."""
        rows, columns = self._shape
        chosen = self._chosen

        def paint(colours: Colours) -> QColor:
            return QColor(colours.accent if chosen else colours.outline)

        self.content.shapes = (frames([((0, columns), (0, rows))], paint, 6.0 if chosen else 1.5),)

    def sizeHint(self) -> QSize:
        return QSize(px(self, 72), px(self, 72))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 48), px(self, 48))


def _inside(span: Range, whole: Range) -> Range | None:
    """A range moved into another; None where it is as wide."""
    (low, high), (first, last) = span, whole
    if high - low >= (last - first) * (1 - 1e-9):
        return None
    shift = max(first - low, 0.0) + min(last - high, 0.0)
    return low + shift, high + shift


def _heat(values: np.ndarray, colours: Colours) -> np.ndarray:
    """(rows, columns) residuals as (rows, columns, 3) uint8."""
    return on_paper(residual(values, LayerStyle(dark=colours.name == "dark")), colours)


def matrix_picture(
    matrix: np.ndarray,
    ends: tuple[float, float],
    colours: str,
    describe: Callable[[int, int, float], str] | None = None,
) -> PlotPicture:
    """(rows, columns) numbers as a map; `ends` are the values at both ends of the colour map."""
    rows, columns = matrix.shape

    def colour(values: np.ndarray, theme: Colours) -> np.ndarray:
        low, high = ends
        part = np.clip((np.nan_to_num(values) - low) / max(high - low, 1e-12), 0, 1)
        table = bar_colours(colours, theme)
        return table[np.round(part * (len(table) - 1)).astype(np.intp)]

    return PlotPicture(matrix, (0.0, columns), (0.0, rows), colour, describe=describe)


def on_paper(pixels: np.ndarray, colours: Colours) -> np.ndarray:
    """Premultiplied colours (h, w) uint32 → (h, w, 3) uint8 as they look on paper."""
    alpha, *parts = ((pixels >> shift) & 255 for shift in (24, 16, 8, 0))
    paper = rgb(colours.paper)
    return np.stack(
        [part + ground * (255 - alpha) // 255 for part, ground in zip(parts, paper, strict=True)], -1
    ).astype(np.uint8)
