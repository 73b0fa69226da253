"""A glow behind the parts of a graph that a symbol of an equation stands for, in the symbol's colour."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from mrfstudio.ui.graph_canvas.lines import Lines
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.words.symbols import symbol_colours


def paint_messages(painter: QPainter, lines: Lines, width: float, colours: Colours) -> None:
    """Along every half of a line: a message runs there each way."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = QColor(symbol_colours(colours)["message"])
    painter.setPen(QPen(colour, 3 * width + 5, c=Qt.PenCapStyle.RoundCap))
    painter.drawLines([QLineF(*a, *b) for a, b in zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)])


def paint_couplings(painter: QPainter, squares: np.ndarray, side: float, colours: Colours) -> None:
    """Around the squares (factors, 2) of factors."""
    _discs(painter, squares, 1.3 * side + 3, QColor(symbol_colours(colours)["coupling"]))


def paint_nodes(painter: QPainter, places: np.ndarray, radius: float, symbol: str, colours: Colours) -> None:
    """Around nodes (k, 2)."""
    _discs(painter, places, radius + 6, QColor(symbol_colours(colours)[symbol]))


def _discs(painter: QPainter, places: np.ndarray, radius: float, colour: QColor) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    for x, y in places.tolist():
        painter.drawEllipse(QPointF(x, y), radius, radius)
