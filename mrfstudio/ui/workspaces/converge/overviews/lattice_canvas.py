"""A lattice: a column for each letter, a row for each hidden state, cells as dark as the state is probable.

Lines between neighbouring columns are as dark as the belief in the two states together. A click forbids a state in a
column, another one allows it again.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import px

FAINTEST = 0.03
"""Beliefs of pairs below this have no line: hundreds of them would be a grey veil."""


class LatticeCanvas(QWidget):
    """Draws what it is given. `toggled` has the column and the state that was clicked."""

    toggled = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns: tuple[str, ...] = ()
        self.states = 0
        self.marginals: np.ndarray | None = None
        self.steps: np.ndarray | None = None
        self.forbidden: Collection[tuple[int, int]] = ()
        self.chosen = (0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Lattice")
        self.setWhatsThis(
            "A column for each letter and a row for each hidden state. Dark cells are probable states, lines are "
            "steps between them. Click a cell, or press Space on it, to forbid it; once more allows it again."
        )

    def set_text(self, columns: tuple[str, ...], states: int) -> None:
        self.columns, self.states, self.marginals, self.steps = columns, states, None, None
        self.chosen = (min(self.chosen[0], max(len(columns) - 1, 0)), min(self.chosen[1], max(states - 1, 0)))
        self.setMinimumWidth(px(self, 16) * max(len(columns), 1) + px(self, 40))
        self.setMinimumHeight(self.fontMetrics().height() + px(self, 14) + px(self, 19) * max(states, 1))
        self.update()

    def set_beliefs(self, marginals: np.ndarray | None, steps: np.ndarray | None) -> None:
        """(columns, states) and (columns - 1, states, states)."""
        self.marginals, self.steps = marginals, steps
        self.update()

    def set_forbidden(self, forbidden: Collection[tuple[int, int]]) -> None:
        self.forbidden = forbidden
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 190))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 110))

    # Geometry ---------------------------------------------------------------------------------------------------------

    def cell(self, column: int, state: int) -> QRectF:
        """Where a cell is drawn; between columns there is room for lines."""
        line, left = self.fontMetrics().height(), px(self, 28)
        top = line + px(self, 8)
        wide = min((self.width() - left - px(self, 6)) / max(len(self.columns), 1), px(self, 64))
        tall = min((self.height() - top - px(self, 6)) / max(self.states, 1), px(self, 40))
        side = max(min(0.55 * wide, 0.8 * tall), 3.0)
        centre = QPointF(left + (column + 0.5) * wide, top + (state + 0.5) * tall)
        return QRectF(centre.x() - side / 2, centre.y() - side / 2, side, side)

    def cell_at(self, position: QPointF) -> tuple[int, int] | None:
        slack = px(self, 3)
        for column in range(len(self.columns)):
            for state in range(self.states):
                if self.cell(column, state).adjusted(-slack, -slack, slack, slack).contains(position):
                    return column, state
        return None

    # Drawing ----------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = colours_of(self)
        if not self.columns:
            painter.setPen(QColor(colours.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "Type a text: a column for each letter.")
            return
        self._paint_names(painter)
        self._paint_steps(painter)
        for column in range(len(self.columns)):
            for state in range(self.states):
                self._paint_cell(painter, column, state)

    def _paint_names(self, painter: QPainter) -> None:
        colours, font = colours_of(self), QFont(self.font())
        painter.setPen(QColor(colours.text))
        font.setBold(True)
        painter.setFont(font)
        for column, word in enumerate(self.columns):
            cell = self.cell(column, 0)
            room = QRectF(cell.center().x() - px(self, 40), px(self, 2), px(self, 80), self.fontMetrics().height())
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, "␣" if word == " " else word)
        painter.setFont(self.font())
        painter.setPen(QColor(colours.muted))
        for state in range(self.states):
            cell = self.cell(0, state)
            room = QRectF(0, cell.top(), px(self, 24), cell.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(state))

    def _paint_steps(self, painter: QPainter) -> None:
        if self.steps is None or len(self.steps) != len(self.columns) - 1:
            return
        colour = colours_of(self).accent
        for column, early, late in np.argwhere(self.steps > FAINTEST):
            belief = float(self.steps[column, early, late])
            start, end = self.cell(int(column), int(early)), self.cell(int(column) + 1, int(late))
            painter.setPen(QPen(faded(colour, 0.15 + 0.85 * belief), px(self, 1) * (0.6 + 3.4 * belief)))
            painter.drawLine(QPointF(start.right(), start.center().y()), QPointF(end.left(), end.center().y()))

    def _paint_cell(self, painter: QPainter, column: int, state: int) -> None:
        colours, cell = colours_of(self), self.cell(column, state)
        known = self.marginals is not None and self.marginals.shape == (len(self.columns), self.states)
        belief = float(self.marginals[column, state]) if known and self.marginals is not None else 0.0
        painter.setBrush(QColor(colours.paper))
        chosen = self.hasFocus() and self.chosen == (column, state)
        painter.setPen(QPen(QColor(colours.focus if chosen else colours.outline), 2.0 if chosen else 0.8))
        painter.drawRoundedRect(cell, 2, 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(faded(colours.accent, belief))
        painter.drawRoundedRect(cell.adjusted(0.8, 0.8, -0.8, -0.8), 2, 2)
        if (column, state) in self.forbidden:
            painter.setPen(QPen(QColor(colours.bad), px(self, 2)))
            painter.drawLine(cell.topLeft(), cell.bottomRight())
            painter.drawLine(cell.topRight(), cell.bottomLeft())

    # Hands ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self.cell_at(event.position())
        if found is not None:
            self.chosen = found
            self.toggled.emit(*found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, -1),
            Qt.Key.Key_Down: (0, 1),
        }
        move = moves.get(Qt.Key(event.key()))
        if move is not None and self.columns:
            column = int(np.clip(self.chosen[0] + move[0], 0, len(self.columns) - 1))
            self.chosen = column, int(np.clip(self.chosen[1] + move[1], 0, self.states - 1))
            self.update()
        elif event.key() == Qt.Key.Key_Space and self.columns:
            self.toggled.emit(*self.chosen)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            found = self.cell_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if found is None else self.words(*found), self)
            return True
        return super().event(event)

    def words(self, column: int, state: int) -> str:
        """What a cell says."""
        said = f"State {state} under {self.columns[column]!r}"
        if (column, state) in self.forbidden:
            return f"{said} is forbidden: click to allow it."
        if self.marginals is None or self.marginals.shape != (len(self.columns), self.states):
            return said
        return f"{said}: probability {self.marginals[column, state]:.3f}. Click to forbid it."
