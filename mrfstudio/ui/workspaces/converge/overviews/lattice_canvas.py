"""A lattice: a column for each letter, a row for each hidden state, cells as dark as the state is probable.

Lines between neighbouring columns are as dark as the belief in the two states together. A click forbids a state in a
column, another one allows it again.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.content import Content, PlotPicture, PlotShapes, frames
from mrfstudio.ui.plots.heat_map import MapPlot
from mrfstudio.ui.style.colours import Colours, faded, rgb
from mrfstudio.ui.style.theme import px

FAINTEST = 0.03
"""Beliefs of pairs below this have no line: hundreds of them would be a grey veil."""
SHADES = 8
"""How many strengths lines have."""
FINE = 32
"""Pixels of a cell each way; between columns there is room for lines."""
ACROSS, UP = (8, 24), (4, 28)
"""From where to where in it the square of a cell lies."""
Cell = tuple[int, int]


class LatticeCanvas(MapPlot):
    """Draws what it is given. `toggled` has the column and the state that was clicked."""

    toggled = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Content("", "", "", "column", "state"), parent)
        self.content.empty = "Type a text: a column for each letter."
        self.axes, self.same_scale = (True, True), False
        self.letters: tuple[str, ...] = ()
        self.states = 0
        self.marginals: np.ndarray | None = None
        self.steps: np.ndarray | None = None
        self.forbidden: Collection[Cell] = ()
        self.chosen: Cell = (0, 0)
        self.setAccessibleName("Lattice")
        self.setWhatsThis(
            "A column for each letter and a row for each hidden state. Dark cells are probable states, lines are "
            "steps between them. Click a cell, or press Space on it, to forbid it; once more allows it again."
        )
        self.clicked.connect(self._toggle)

    def set_text(self, columns: tuple[str, ...], states: int) -> None:
        self.letters, self.states, self.marginals, self.steps = columns, states, None, None
        self.chosen = (min(self.chosen[0], max(len(columns) - 1, 0)), min(self.chosen[1], max(states - 1, 0)))
        self.setMinimumWidth(px(self, 16) * max(len(columns), 1) + px(self, 70))
        self.setMinimumHeight(self.fontMetrics().height() + px(self, 14) + px(self, 19) * max(states, 1))
        self._show()

    def set_beliefs(self, marginals: np.ndarray | None, steps: np.ndarray | None) -> None:
        """(columns, states) and (columns - 1, states, states)."""
        self.marginals, self.steps = marginals, steps
        self._show()

    def set_forbidden(self, forbidden: Collection[Cell]) -> None:
        self.forbidden = forbidden
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 190))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 110))

    def area(self) -> QRectF:
        """Few cells do not fill a large place; where there are none, there is room for words."""
        room = super().area()
        if not self.letters or not self.states:
            return room
        wide, high = px(self, 64) * max(len(self.letters), 1), px(self, 40) * max(self.states, 1)
        return QRectF(room.left(), room.top(), min(room.width(), wide), min(room.height(), high))

    # Content ----------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        content, wide, high = self.content, len(self.letters), self.states
        content.columns = tuple("␣" if letter == " " else letter for letter in self.letters)
        content.rows = tuple(map(str, range(high)))
        content.shapes = ()
        if not wide or not high:
            self.set_picture(None)
            return
        known = self.marginals is not None and self.marginals.shape == (wide, high)
        beliefs = self.marginals.T if known and self.marginals is not None else np.zeros((high, wide))
        content.shapes = [*self._lines(), *self._crosses(), *self._mark()]
        self.set_picture(PlotPicture(beliefs, (0.0, wide), (0.0, high), cell_pixels, self._say))

    def _say(self, row: int, column: int, _: float) -> str:
        return self.words(column, row)

    def _lines(self) -> list[PlotShapes]:
        """Steps between neighbouring columns, thicker and darker for more."""
        if self.steps is None or len(self.steps) != len(self.letters) - 1:
            return []
        column, early, late = np.nonzero(self.steps > FAINTEST)
        belief = self.steps[column, early, late]
        shade = np.minimum((belief * SHADES).astype(int), SHADES - 1)
        x = np.stack([column + ACROSS[1] / FINE, column + 1 + ACROSS[0] / FINE], 1)
        y = np.stack([early + 0.5, late + 0.5], 1)
        return [_steps(x[shade == each], y[shade == each], (each + 0.5) / SHADES) for each in np.unique(shade)]

    def _crosses(self) -> list[PlotShapes]:
        if not self.forbidden:
            return []
        corners = [spot(column, state) for column, state in self.forbidden]
        x = [(left, right, right, left) for (left, right), _ in corners]
        y = [(low, high, low, high) for _, (low, high) in corners]
        bad = PlotShapes(np.array(x).ravel(), np.array(y).ravel(), lambda colours: QColor(colours.bad), 2.0)
        return [bad]

    def _mark(self) -> list[PlotShapes]:
        return [frames([spot(*self.chosen)], lambda colours: QColor(colours.focus), 2.0)] if self.hasFocus() else []

    def words(self, column: int, state: int) -> str:
        """What a cell says."""
        said = f"State {state} under {self.letters[column]!r}"
        if (column, state) in self.forbidden:
            return f"{said} is forbidden: click to allow it."
        if self.marginals is None or self.marginals.shape != (len(self.letters), self.states):
            return said
        return f"{said}: probability {self.marginals[column, state]:.6g}. Click to forbid it."

    # Hands ------------------------------------------------------------------------------------------------------------

    def _toggle(self, x: float, y: float) -> None:
        """Here, or in the large twin."""
        if 0 <= x < len(self.letters) and 0 <= y < self.states:
            self.chosen = (int(x), int(y))
            self.toggled.emit(*self.chosen)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.on_click(event.position())  # takes the first click back
        super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, -1),
            Qt.Key.Key_Down: (0, 1),
        }
        move = moves.get(Qt.Key(event.key()))
        if move is not None and self.letters:
            column = int(np.clip(self.chosen[0] + move[0], 0, len(self.letters) - 1))
            self.chosen = column, int(np.clip(self.chosen[1] + move[1], 0, self.states - 1))
            self._show()
        elif event.key() == Qt.Key.Key_Space and self.letters:
            self.toggled.emit(*self.chosen)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show()


def spot(column: int, state: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the square of a cell lies, across and down."""
    (left, right), (top, bottom) = ((first / FINE, last / FINE) for first, last in (ACROSS, UP))
    return (column + left, column + right), (state + top, state + bottom)


def cell_pixels(beliefs: np.ndarray, colours: Colours) -> np.ndarray:
    """(states, columns) beliefs → squares with an outline on the ground, (FINE states, FINE columns, 3) uint8."""
    ground, paper, ink = (np.array(rgb(each), np.float64) for each in (colours.surface, colours.paper, colours.accent))
    filled = paper + (ink - paper) * beliefs[..., None]
    (left, right), (top, bottom) = ACROSS, UP
    tile = np.broadcast_to(ground, (*beliefs.shape, FINE, FINE, 3)).copy()
    tile[:, :, top:bottom, left:right] = rgb(colours.outline)
    tile[:, :, top + 1 : bottom - 1, left + 1 : right - 1] = filled[:, :, None, None]
    high, wide = beliefs.shape
    return tile.transpose(0, 2, 1, 3, 4).reshape(high * FINE, wide * FINE, 3).round().astype(np.uint8)


def _steps(x: np.ndarray, y: np.ndarray, belief: float) -> PlotShapes:
    return PlotShapes(
        x.ravel(), y.ravel(), lambda colours: faded(colours.accent, 0.15 + 0.85 * belief), 0.6 + 3.4 * belief
    )
