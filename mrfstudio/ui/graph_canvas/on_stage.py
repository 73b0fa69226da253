"""A graph for a hall: large nodes, thick lines, and the message along every edge as an arrow with its value."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.graph_canvas.input import GraphCanvas
from mrfstudio.ui.graph_canvas.lines import Shown
from mrfstudio.ui.graph_canvas.picture import NAMED, GraphPicture
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.graph_colours import state_colour

PART = 0.36
"""Radius of a node, in distances between neighbours."""
CROWDED = 0.47
"""The same where nodes stand so close that their numbers would be too small."""
DIGIT = 0.7
"""Width of a digit with the room around it, in heights of letters."""
LARGEST = 72.0
"""Pixels of radius: beyond it a node only takes the room of messages."""
STAGE_LETTERS = 14.5
"""Design pixels of the values of messages: as high as the other letters of a stage."""
SQUARE = 0.36
"""Side of a factor's square, in radii of a node."""
LETTERS_IN_NODE = 0.85
"""Height of a node's number, in radii."""
ROOM = 6.4
"""Half of it, in heights of letters, is what nodes leave of an edge for its messages…"""
ROOM_LEAST = 1.6
"""…and they are written where there is at least so much."""
PLACES = (0.7, 0.5, 0.85, 0.3, 0.1)
"""Where along its arrow a number is written, the best first."""


class StagePicture(GraphPicture):
    """Nodes as large as their messages leave room for: numbers are read from the last row."""

    _lengths: tuple[np.ndarray, float] | None = None
    growth: float = 1.0
    """How many times as large letters are as the stage needs them, for a person who likes large ones."""

    @property
    def letters(self) -> float:
        """Pixels of the smallest letters that a hall can read."""
        return STAGE_LETTERS * self.unit / self.growth

    def radius(self, scale: float) -> float:
        """Large letters never make a node smaller: values of messages grow where that leaves them room."""
        letters = self.letters
        crowded = min(CROWDED * scale, self.growth * letters / LETTERS_IN_NODE)  # rather no gaps than no numbers
        largest = min(max(PART * scale, crowded, 2.0), self.growth * LARGEST)
        free = self._between * scale - ROOM * letters / 2  # what messages leave of an edge
        return min(largest, max(free / 2, self.growth * letters / LETTERS_IN_NODE))

    @property
    def _between(self) -> float:
        """How long most edges are, or longer."""
        graph = self.graph
        if graph is None or not len(graph.edges):
            return math.inf
        if self._lengths is None or self._lengths[0] is not graph.positions:
            ends = graph.positions[graph.edges]
            self._lengths = graph.positions, float(np.quantile(np.hypot(*(ends[:, 1] - ends[:, 0]).T), 0.25))
        return self._lengths[1]

    def has_numbers(self, radius: float) -> bool:
        """Smaller letters than those of the stage would not be read: a node has no number where they do not fit."""
        graph = self.graph
        if graph is None or graph.names:
            return radius >= NAMED
        digits = len(str(max(graph.labels, default=0)))
        return 2 * radius >= max(digits * DIGIT, 1.0) * self.letters

    def number_letters(self, radius: float) -> int:
        return round(max(radius * LETTERS_IN_NODE, self.letters))

    def side(self, scale: float) -> float:
        return max(4.0, SQUARE * self.radius(scale))  # arrows pass beside it

    def value_letters(self, radius: float) -> int:
        return round(self.letters)

    def roomy(self, scale: float) -> bool:
        """Whether there is room between nodes for values in letters that have grown."""
        return self._between * scale - 2 * self.radius(scale) >= ROOM * self.letters * self.growth / 2


class StageGraph(GraphCanvas):
    """Shows a graph; a click gives evidence, as in the window."""

    def __init__(self, lane: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.picture: StagePicture = StagePicture()
        self.lane = lane
        self.messages: np.ndarray | None = None
        """(edges, 2, states): to the first and to the second node of each edge."""

    def grow(self, growth: float) -> None:
        """The font is so many times as large as a hall needs it."""
        self.picture.growth = growth
        self.update()

    def fitting(self) -> Transform:
        """The whole graph, as large as it goes."""
        left, top, width, height = self.picture.box()
        scale = 0.96 * min(self.width() / max(width, 0.1), self.height() / max(height, 0.1))
        x, y = (self.width() - width * scale) / 2, (self.height() - height * scale) / 2
        return Transform(scale, round(x - left * scale), round(y - top * scale))

    def set_frame(self, frame: Frame) -> None:
        shown = next((each for each in frame.lanes if each.lane == self.lane), None)
        self.messages = None if shown is None else shown.pictures.get("messages")
        super().set_frame(frame)
        graph = self.graph
        pairs = graph is not None and self.messages is not None and len(self.messages) == graph.factors
        # Where factors join more than two variables, or states differ, each message says its likeliest state.
        self.picture.options = Shown(arrows=not pairs, values=not pairs)

    def _paint_note(self, painter: QPainter) -> None:
        self._paint_messages(painter)
        super()._paint_note(painter)  # above them

    def _paint_messages(self, painter: QPainter) -> None:
        graph, found = self.graph, self.messages
        if graph is None or found is None or len(found) != len(graph.edges):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        places = graph.positions.astype(float) * self.transform.scale + (self.transform.left, self.transform.top)
        font, scale = QFont(self.font()), self.transform.scale
        if self.picture.growth > 1 and not self.picture.roomy(scale):
            font.setPixelSize(round(font.pixelSize() / self.picture.growth))
        painter.setFont(font)
        radius, tall = self.picture.radius(scale), painter.fontMetrics().height()
        starts = graph.edges.ravel()
        ways = 2 * scale * (self.picture.geometry.ends[: len(starts)] - graph.positions[starts])  # as lines go
        taken: list[QRectF] = []
        for link in np.argsort(np.hypot(*ways.T).round(), kind="stable").tolist():  # long ones give way
            values = found[link // 2, 1 - link % 2]
            self._message(painter, places[starts[link]], ways[link], values, radius, tall, places, taken)
        painter.restore()

    def _message(
        self,
        painter: QPainter,
        start: np.ndarray,
        way: np.ndarray,
        values: np.ndarray,
        radius: float,
        tall: float,
        nodes: np.ndarray,
        taken: list[QRectF],
    ) -> None:
        """One arrow beside the line, from a node on its way, with the probability of the last state."""
        long = float(np.hypot(*way))
        if long - 2 * radius < ROOM_LEAST * tall or not np.isfinite(values).all():
            return
        along, beside = way / long, np.array([-way[1], way[0]]) / long
        away = beside * tall * 0.42
        a, b = start + along * (radius + 4) + away, start + along * (long / 2 - 2) + away
        states = len(values)
        colour = QColor(*state_colour(int(np.argmax(values)), states, colours_of(self)))
        painter.setPen(QPen(colour, max(3.0, tall * 0.1), c=Qt.PenCapStyle.RoundCap))
        painter.drawLine(QLineF(*a.tolist(), *b.tolist()))
        head = tall * 0.3
        tip = b + along * head
        wings = [b + beside * head * 0.6, b - beside * head * 0.6]
        painter.setBrush(colour)
        painter.drawPolygon(QPolygonF([QPointF(*point.tolist()) for point in (tip, *wings)]))
        boxes = (self._box(painter, (1 - part) * a + part * b, beside, values) for part in PLACES)
        free = (
            box for box in boxes if not any(box.intersects(other) for other in taken) and _clear(box, nodes, radius)
        )
        box = next(free, None)
        if box is not None:  # else it would hide a number that belongs there
            taken.append(box)
            self._value(painter, box, values)

    def _box(self, painter: QPainter, at: np.ndarray, beside: np.ndarray, values: np.ndarray) -> QRectF:
        """Where the number of an arrow is written, beside it: as far away as it needs in that direction."""
        metrics = painter.fontMetrics()
        text = _in_digits(values)
        wide, tall = metrics.horizontalAdvance(text) + 4, metrics.ascent()
        away = abs(beside[0]) * wide / 2 + abs(beside[1]) * tall / 2 + metrics.height() * 0.22
        x, y = (at + beside * away).tolist()
        return QRectF(x - wide / 2, y - tall / 2, wide, tall)

    def _value(self, painter: QPainter, box: QRectF, values: np.ndarray) -> None:
        ground = QColor(colours_of(self).paper)
        ground.setAlphaF(0.85)
        painter.fillRect(box, ground)
        painter.setPen(QColor(colours_of(self).text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, _in_digits(values))


def _in_digits(values: np.ndarray) -> str:
    """The probability of the last of two states, else the likeliest with its own."""
    return f"{values[-1]:.2f}" if len(values) == 2 else f"{int(np.argmax(values))}: {values.max():.2f}"


def _clear(box: QRectF, nodes: np.ndarray, radius: float) -> bool:
    """Whether a box lies outside of all nodes (n, 2), but for what a corner may take of one."""
    low, high = np.array([box.left(), box.top()]), np.array([box.right(), box.bottom()])
    apart = nodes - np.clip(nodes, low, high)
    return bool((np.hypot(*apart.T) >= 0.8 * radius).all())
