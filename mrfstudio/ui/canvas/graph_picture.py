"""Draws a graph: lines and circles while they can be told apart, an image where they are too many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPen

from mrfstudio.engine.frames import NO_HINT, GraphFrame
from mrfstudio.ui.canvas.graph_look import change_levels, dark_text, level_colours, node_colours
from mrfstudio.ui.canvas.graph_raster import LatticeRaster, LineRaster, packed
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.colours import Colours, rgb

MOST_DRAWN = 2500
"""Nodes or half edges in sight beyond which an image is drawn instead."""
SMOOTH = 1000  # half edges that are drawn with soft borders; more would take longer than a frame
LARGEST_NODE, SMALLEST_NODE = 17.0, 2.0
NAMED = 11.0  # pixels of radius from which a node carries its number
DIMMED = 0.4


@dataclass(eq=False)
class GraphPicture:
    """What is shown of one lane; the widget fills it in and calls `paint`."""

    graph: GraphFrame | None = None
    marginal: np.ndarray | None = None
    residual: np.ndarray | None = None
    star_residual: np.ndarray | None = None
    hints: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    strength: np.ndarray = field(default_factory=lambda: np.ones(0, np.float32))
    period: np.ndarray | None = None
    """(m, 2): messages that oscillate."""
    values: np.ndarray | None = None
    """(n, 3) uint8: other colours of the nodes, such as errors."""
    stale: bool = False
    chosen_edge: int | None = None
    chosen_node: int | None = None
    hovered_node: int | None = None
    hovered_edge: int | None = None

    def __post_init__(self) -> None:
        self._raster: tuple[tuple, LatticeRaster | LineRaster] | None = None
        self._ends: tuple[GraphFrame, np.ndarray] | None = None

    # Geometry ---------------------------------------------------------------------------------------------------------

    def half_ends(self) -> np.ndarray:
        """Where each half edge ends, (m, 2, 2): halfway to the other node; across a torus, outwards."""
        graph = self.graph
        assert graph is not None
        if self._ends is None or self._ends[0] is not graph:
            first, second = graph.positions[graph.edges[:, 0]], graph.positions[graph.edges[:, 1]]
            way = second - first
            if graph.lattice is not None:
                far = np.abs(way) > 1.5
                way = np.where(far, -np.sign(way), way)
            self._ends = graph, np.stack([first + way / 2, second - way / 2], 1)
        return self._ends[1]

    def hubs(self) -> np.ndarray:
        """The middle of the variables of each larger factor, (factors, 2)."""
        graph = self.graph
        assert graph is not None
        if not len(graph.stars):
            return np.zeros((0, 2), np.float32)
        count = np.bincount(graph.stars[:, 0])
        sums = [np.bincount(graph.stars[:, 0], graph.positions[graph.stars[:, 1], axis]) for axis in (0, 1)]
        return np.stack(sums, 1) / count[:, None]

    @staticmethod
    def radius(scale: float) -> float:
        """Pixels of radius of a node at a scale."""
        return float(min(max(0.3 * scale, SMALLEST_NODE), LARGEST_NODE))

    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of everything, with half a unit around it."""
        if self.graph is None or not self.graph.nodes:
            return 0.0, 0.0, 1.0, 1.0
        low, high = self.graph.positions.min(0) - 0.5, self.graph.positions.max(0) + 0.5
        return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])

    # Painting ---------------------------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, transform: Transform, size: tuple[int, int], colours: Colours) -> None:
        """Draw everything into a widget of `size` (height, width)."""
        graph = self.graph
        if graph is None:
            return
        painter.setOpacity(DIMMED if self.stale else 1.0)
        places = self._on_screen(graph.positions, transform)
        inside = self._inside(places, size, margin=2 * transform.scale)
        halves = inside[graph.edges].any(1) if len(graph.edges) else np.zeros(0, np.bool_)
        many = max(int(inside.sum()), 2 * int(halves.sum())) > MOST_DRAWN
        fill = self._fill(graph, colours)
        if many and graph.lattice is not None and graph.source in ("grid", "torus"):
            self._paint_lattice(painter, transform, fill, colours)
        elif many:
            self._paint_raster(painter, transform, places, fill, size, colours)
        else:
            self._paint_lines(painter, transform, places, halves, colours)
            self._paint_edge_marks(painter, transform, places, colours)
            self._paint_nodes(painter, transform, places, inside, fill, colours)
        painter.setOpacity(1.0)
        if many:
            self._paint_edge_marks(painter, transform, places, colours)
        self._paint_node_marks(painter, transform, places, colours)

    def _on_screen(self, points: np.ndarray, transform: Transform) -> np.ndarray:
        return points.astype(np.float64) * transform.scale + (transform.left, transform.top)

    def _inside(self, places: np.ndarray, size: tuple[int, int], margin: float) -> np.ndarray:
        x, y = places[:, 0], places[:, 1]
        return np.asarray((x > -margin) & (x < size[1] + margin) & (y > -margin) & (y < size[0] + margin))

    def _fill(self, graph: GraphFrame, colours: Colours) -> np.ndarray:
        if self.values is not None and len(self.values) == graph.nodes:
            return self.values
        if self.marginal is None or len(self.marginal) != graph.nodes:
            return np.tile(np.array(rgb(colours.raised), np.uint8), (graph.nodes, 1))
        return node_colours(self.marginal, colours)

    def _levels(self, graph: GraphFrame) -> np.ndarray:
        if self.residual is None or len(self.residual) != len(graph.edges):
            return np.zeros((len(graph.edges), 2), np.uint8)
        return change_levels(self.residual)

    def _halves(self, graph: GraphFrame, colours: Colours, faint: bool = False) -> np.ndarray:
        """The colour of every message, (m, 2) packed; `faint` leaves out, as 0, what is calm."""
        table = packed(level_colours(colours))
        if faint:
            table[0] = 0
        return table[self._levels(graph)]

    @property
    def evidence(self) -> np.ndarray:
        """Which nodes have evidence, (n,) bool."""
        return np.asarray(self.hints != NO_HINT)

    def _paint_lattice(self, painter: QPainter, transform: Transform, fill: np.ndarray, colours: Colours) -> None:
        graph = self.graph
        assert graph is not None
        block = 5 if transform.scale >= 5 else 3 if transform.scale >= 3 else 1
        key = (graph.edges.ctypes.data, graph.lattice, block)
        if self._raster is None or self._raster[0] != key or not isinstance(self._raster[1], LatticeRaster):
            self._raster = key, LatticeRaster(graph, block)
        raster = self._raster[1]
        assert isinstance(raster, LatticeRaster)
        halves = self._halves(graph, colours, faint=block < 5)
        pixels = raster.image(packed(fill), halves, self.evidence, colours)
        height, width = pixels.shape
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)
        corner = transform.to_widget(0, 0)
        painter.drawImage(
            QRectF(corner.x(), corner.y(), raster.columns * transform.scale, raster.rows * transform.scale), image
        )

    def _paint_raster(
        self, painter: QPainter, transform: Transform, places: np.ndarray, fill: np.ndarray, size: tuple[int, int],
        colours: Colours,
    ) -> None:  # fmt: skip
        graph = self.graph
        assert graph is not None
        key = (graph.positions.ctypes.data, graph.edges.ctypes.data, transform, size)
        if self._raster is None or self._raster[0] != key or not isinstance(self._raster[1], LineRaster):
            ends = self._on_screen(self.half_ends().reshape(-1, 2), transform)
            made = LineRaster(places[graph.edges.ravel()], ends, places, self.radius(transform.scale), size)
            self._raster = key, made
        raster = self._raster[1]
        assert isinstance(raster, LineRaster)
        loud = self._levels(graph).ravel()
        pixels = raster.image(packed(fill), self._halves(graph, colours).ravel(), loud, colours)
        painter.drawImage(0, 0, QImage(pixels.data, size[1], size[0], 4 * size[1], QImage.Format.Format_RGB32))

    def _paint_lines(
        self, painter: QPainter, transform: Transform, places: np.ndarray, shown: np.ndarray, colours: Colours
    ) -> None:
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        table = [QColor(*each) for each in level_colours(colours).tolist()]
        width = max(1.2, min(0.05 * transform.scale, 3.5))
        numbers = np.flatnonzero(shown)
        ends = self._on_screen(self.half_ends()[numbers].reshape(-1, 2), transform)
        starts = places[graph.edges[numbers].ravel()]
        levels = self._levels(graph)[numbers].ravel()
        lines = [QLineF(*a, *b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(lines) <= SMOOTH)
        for level in np.unique(levels).tolist():
            painter.setPen(QPen(table[level], width * (1 + 0.8 * level / len(table)), c=Qt.PenCapStyle.FlatCap))
            painter.drawLines([lines[index] for index in np.flatnonzero(levels == level).tolist()])
        if self.period is not None and len(self.period) == len(graph.edges):
            swinging = np.flatnonzero(self.period[numbers].ravel() != 0).tolist()
            pen = QPen(QColor(colours.ink), width, c=Qt.PenCapStyle.FlatCap)
            pen.setDashPattern([1.2, 2.4])
            painter.setPen(pen)
            painter.drawLines([lines[index] for index in swinging])
        self._paint_stars(painter, transform, places, table, width, colours)

    def _paint_stars(
        self, painter: QPainter, transform: Transform, places: np.ndarray, table: list[QColor], width: float,
        colours: Colours,
    ) -> None:  # fmt: skip
        graph = self.graph
        assert graph is not None
        if not len(graph.stars):
            return
        hubs = self._on_screen(self.hubs(), transform)
        known = self.star_residual is not None and len(self.star_residual) == len(graph.stars)
        levels = change_levels(self.star_residual) if known and self.star_residual is not None else None
        for number, (hub, node) in enumerate(graph.stars.tolist()):
            painter.setPen(QPen(table[0 if levels is None else int(levels[number])], width))
            painter.drawLine(QLineF(*hubs[hub].tolist(), *places[node].tolist()))
        side = max(4.0, 0.7 * self.radius(transform.scale))
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.setBrush(QColor(colours.raised))
        for x, y in hubs.tolist():
            painter.drawRect(QRectF(x - side / 2, y - side / 2, side, side))

    def _paint_nodes(
        self, painter: QPainter, transform: Transform, places: np.ndarray, inside: np.ndarray, fill: np.ndarray,
        colours: Colours,
    ) -> None:  # fmt: skip
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius, given = self.radius(transform.scale), self.evidence
        named = radius >= NAMED
        dark = dark_text(fill)
        font = QFont(painter.font())
        font.setPixelSize(max(8, round(radius * 0.85)))
        painter.setFont(font)
        outline, ink = QColor(colours.outline), QColor(colours.ink)
        for node in np.flatnonzero(inside).tolist():
            x, y = places[node].tolist()
            painter.setBrush(QColor(*fill[node].tolist()))
            square = QRectF(x - radius, y - radius, 2 * radius, 2 * radius)
            if len(given) and given[node]:
                hard = self.strength[node] >= 1
                style = Qt.PenStyle.SolidLine if hard else Qt.PenStyle.DashLine
                painter.setPen(QPen(ink, max(1.5, radius * 0.2), style))
                painter.drawRect(square.adjusted(1, 1, -1, -1))
            else:
                painter.setPen(QPen(outline, max(1.0, radius * 0.08)))
                painter.drawEllipse(square)
            if named:
                painter.setPen(QColor("#14171a") if dark[node] else QColor("#ffffff"))
                painter.drawText(square, Qt.AlignmentFlag.AlignCenter, str(graph.labels[node]))

    def _paint_edge_marks(self, painter: QPainter, transform: Transform, places: np.ndarray, colours: Colours) -> None:
        """Thick lines along what is pointed at and what is chosen."""
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ends = self.half_ends()
        for edge, colour, width in ((self.hovered_edge, colours.text, 2.0), (self.chosen_edge, colours.accent, 4.0)):
            if edge is not None and edge < len(graph.edges):
                painter.setPen(QPen(QColor(colour), width, c=Qt.PenCapStyle.RoundCap))
                for side in (0, 1):
                    start = places[graph.edges[edge, side]].tolist()
                    painter.drawLine(QLineF(*start, *self._on_screen(ends[edge, side], transform).tolist()))

    def _paint_node_marks(self, painter: QPainter, transform: Transform, places: np.ndarray, colours: Colours) -> None:
        """Rings around what is pointed at and what is chosen."""
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = self.radius(transform.scale) + 3
        for node, colour, width in ((self.hovered_node, colours.text, 1.5), (self.chosen_node, colours.accent, 3.0)):
            if node is not None and node < graph.nodes:
                painter.setPen(QPen(QColor(colour), width))
                painter.drawEllipse(QPointF(*places[node].tolist()), radius, radius)
