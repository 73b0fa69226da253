"""The lines and squares of a graph: a line is the message that arrives at its node, a square is a factor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.graph_colours import LEVELS, level_colours, sign_colour

Words = Callable[[int, int], tuple[str, str]]
SMOOTH = 1000  # lines that are drawn with soft borders; more would take longer than a frame
WIDTHS = 4  # steps of strength; a pen for each
VALUED = 3.1  # heights of letters that a line must be long for a number on it


@dataclass(frozen=True)
class Shown:
    """What a person chose to see of factors and messages."""

    pairs: bool = True
    """The squares of factors of two variables; those of larger ones always are."""
    signs: bool = False
    """Lines are coloured by what their factor wants, not by how much their message changed."""
    arrows: bool = False
    values: bool = False
    frustrated: bool = False


@dataclass(frozen=True, eq=False)
class Lines:
    """The links in sight, on the screen: numbers (k,), from starts (k, 2) to ends (k, 2); levels and swings (k,)."""

    numbers: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    levels: np.ndarray
    swings: np.ndarray
    strength: np.ndarray
    sign: np.ndarray

    def paint(self, painter: QPainter, width: float, signs: bool, colours: Colours) -> None:
        """One pen for each colour and width. Strength is width."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(self.numbers) <= SMOOTH)
        lines = [QLineF(*a, *b) for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]
        wide = width_steps(self.strength)
        colour = self.sign.astype(np.int64) + 1 if signs else self.levels.astype(np.int64)
        for both in np.unique(colour * WIDTHS + wide).tolist():
            which, step = divmod(both, WIDTHS)
            chosen = np.flatnonzero((colour == which) & (wide == step)).tolist()
            thick = width * (0.5 + 0.45 * step)
            if signs:
                pen = QPen(QColor(*sign_colour(which - 1, colours)), thick)
            else:
                pen = QPen(QColor(*level_colours(colours)[which].tolist()), thick * (1 + 0.5 * which / LEVELS))
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            painter.setPen(pen)
            painter.drawLines([lines[index] for index in chosen])
        swinging = np.flatnonzero(self.swings).tolist()
        if swinging:
            pen = QPen(QColor(colours.ink), max(1.2, width), c=Qt.PenCapStyle.FlatCap)
            pen.setDashPattern([1.2, 2.4])
            painter.setPen(pen)
            painter.drawLines([lines[index] for index in swinging])

    def paint_arrows(self, painter: QPainter, radius: float, colours: Colours) -> None:
        """A head at each node: the message that arrives there."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        table = [QColor(*each) for each in level_colours(colours).tolist()]
        size = max(4.0, 0.5 * radius)
        for start, end, level in zip(self.starts, self.ends, self.levels.tolist(), strict=True):
            way = end - start
            length = float(np.hypot(*way))
            if length < radius + size:
                continue
            along = way / length
            tip, aside = start + along * (radius + 1.5), np.array([-along[1], along[0]])
            base = tip + along * size
            corners = (tip, base + aside * size / 2, base - aside * size / 2)
            painter.setBrush(table[level] if level else QColor(colours.outline))
            painter.drawPolygon(QPolygonF([QPointF(*corner.tolist()) for corner in corners]))

    def paint_values(
        self,
        painter: QPainter,
        said: np.ndarray,
        radius: float,
        letters: int,
        colours: Colours,
        words: Words | None = None,
    ) -> None:
        """Beside each node what the message says: its likeliest state and how likely that is; `said` (links, 2).

        `words` has the name of a link's node, empty where none is written below it, and that of one of its states.
        """
        font = QFont(painter.font())
        font.setPixelSize(letters)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        room = np.array([radius + 1, radius + 1])
        taken = np.concatenate([self.starts - room, self.starts + room], 1)
        if words is not None:
            wide = np.array(
                [metrics.horizontalAdvance(words(number, 0)[0]) / 2 + 4 for number in self.numbers.tolist()]
            )
            top, foot = np.full(len(wide), radius), np.full(len(wide), radius + 1.6 * letters)
            low, high = (self.starts + np.stack([side, edge], 1) for side, edge in ((-wide, top), (wide, foot)))
            taken = np.concatenate([taken, np.concatenate([low, high], 1)])
        for number, start, end in zip(self.numbers.tolist(), self.starts, self.ends, strict=True):
            way = end - start
            length = float(np.hypot(*way))
            if number >= len(said) or length < VALUED * letters or not math.isfinite(said[number, 1]):
                continue
            state = str(int(said[number, 0])) if words is None else words(number, int(said[number, 0]))[1]
            text = f"{metrics.elidedText(state, Qt.TextElideMode.ElideRight, 6 * letters)}: {said[number, 1]:.2f}"
            half = np.array([metrics.horizontalAdvance(text) / 2 + 2, metrics.height() / 2])
            # Just clear of the node, and nowhere at all where another node or number stands.
            away = min((half + radius + 2) / np.maximum(np.abs(way) / length, 1e-9))
            middle = start + way * min(0.9, away / length)
            low, high = middle - half, middle + half
            if ((taken[:, :2] < high) & (taken[:, 2:] > low)).all(1).any():
                continue
            taken = np.concatenate([taken, [[*low, *high]]])
            box = QRectF(QPointF(*low.tolist()), QPointF(*high.tolist()))
            painter.fillRect(box, QColor(colours.paper))
            painter.setPen(QColor(colours.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def width_steps(strength: np.ndarray) -> np.ndarray:
    """0 … WIDTHS - 1: the width of a line of some strength, (k,) int64. From a coupling of 2 on lines look the same."""
    return np.minimum(np.tanh(strength) * WIDTHS, WIDTHS - 1).astype(np.int64)


def paint_squares(
    painter: QPainter, graph: GraphFrame, places: np.ndarray, chosen: np.ndarray, side: float, colours: Colours
) -> None:
    """The squares of some factors (k,) at places (factors, 2) on the screen, filled by what they want."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(chosen) <= SMOOTH)
    pairs = len(graph.edges)
    known = len(graph.sign) == graph.factors
    painter.setPen(QPen(QColor(colours.text), 1))
    for factor in chosen.tolist():
        x, y = places[factor].tolist()
        size = side if factor >= pairs else 0.7 * side
        sign = int(graph.sign[factor]) if known else 0
        painter.setBrush(QColor(*sign_colour(sign, colours)))
        painter.drawRect(QRectF(x - size / 2, y - size / 2, size, size))
