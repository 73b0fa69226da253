"""Draws a graph: lines, squares and circles while they can be told apart, an image where they are too many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPen

from mrfstudio.engine.protocol.frames import NO_HINT, GraphFrame
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.graph_canvas.geometry import Geometry
from mrfstudio.ui.graph_canvas.glow import paint_couplings, paint_messages, paint_nodes
from mrfstudio.ui.graph_canvas.lines import Lines, Shown, paint_squares
from mrfstudio.ui.graph_canvas.raster import DARKER, RIMMED, LatticeRaster, LineRaster, packed
from mrfstudio.ui.style.colours import Colours, rgb
from mrfstudio.ui.style.graph_colours import change_levels, dark_text, level_colours, node_colours

NODES = ("belief", "evidence", "hidden")  # symbols of an equation that stand for nodes
MOST_DRAWN = 2500
"""Nodes or links in sight beyond which an image is drawn instead."""
LARGEST_NODE, SMALLEST_NODE = 17.0, 2.0
MOST_ROOM = 0.44
"""Part of the way to a neighbour that a node takes at most."""
NAMED = 11.0  # pixels of radius from which a node carries its number
DIMMED = 0.4


@dataclass(eq=False)
class GraphPicture:
    """What is shown of one lane; the widget fills it in and calls `paint`."""

    graph: GraphFrame | None = None
    marginal: np.ndarray | None = None
    change: np.ndarray | None = None
    """(links,): how much the message to the variable of each link changed."""
    said: np.ndarray | None = None
    """(links, 2): the likeliest state that each of these messages says, and how likely it is."""
    period: np.ndarray | None = None
    """(links,): messages that oscillate."""
    hints: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    strength: np.ndarray = field(default_factory=lambda: np.ones(0, np.float32))
    values: np.ndarray | None = None
    """(n, 3) uint8: other colours of the nodes, such as errors."""
    lit: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Factors that are pointed out, such as those of frustrated cycles."""
    options: Shown = field(default_factory=Shown)
    stale: bool = False
    chosen_factor: int | None = None
    chosen_node: int | None = None
    lit_nodes: tuple[int, ...] = ()
    """Variables of the region that is pointed at elsewhere."""
    symbol: str = ""
    """What an equation is pointed at: messages, couplings, or nodes with beliefs, evidence, nothing seen of them."""
    hovered_node: int | None = None
    hovered_factor: int | None = None
    hovered_link: int | None = None
    unit: float = 1.0
    """Pixels of a design pixel: nodes, lines and letters grow with the text of the window."""

    def __post_init__(self) -> None:
        self._raster: tuple[tuple, LatticeRaster | LineRaster] | None = None
        self._image: tuple[tuple, Transform, np.ndarray] | None = None
        self.moving = False
        """Whether the view moves just now: a large graph is then the last image, moved along."""
        self._geometry: Geometry | None = None
        self.drawn_as_image = False
        """Whether the last painting was an image: squares and stripes are not in it."""

    # Geometry ---------------------------------------------------------------------------------------------------------

    @property
    def geometry(self) -> Geometry:
        """Where lines and squares are."""
        assert self.graph is not None
        if self._geometry is None or self._geometry.graph is not self.graph:
            self._geometry = Geometry(self.graph)
        return self._geometry

    def radius(self, scale: float) -> float:
        """Pixels of radius of a node at a scale: larger with larger text, as far as neighbours leave room."""
        return float(min(max(self.room(scale), SMALLEST_NODE), LARGEST_NODE * self.unit))

    def room(self, scale: float) -> float:
        """Pixels of radius that a node may have among its neighbours."""
        return min(0.3 * self.unit, MOST_ROOM) * scale

    def has_numbers(self, radius: float) -> bool:
        """Whether nodes of this radius carry their numbers or names."""
        return radius >= NAMED

    def number_letters(self, radius: float) -> int:
        """Pixels of the letters of a node's number."""
        return max(8, round(radius * 0.85))

    def value_letters(self, radius: float) -> int:
        """Pixels of the letters of a message's value."""
        return round(max(8.0, min(11.0, 0.62 * radius / self.unit)) * self.unit)

    def side(self, scale: float) -> float:
        """Pixels of a side of a factor's square."""
        return max(4.0, 0.85 * self.radius(scale))

    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of everything, with half a unit around it."""
        if self.graph is None or not self.graph.nodes:
            return 0.0, 0.0, 1.0, 1.0
        points = self.graph.positions
        if len(self.graph.stars):
            points = np.concatenate([points, self.geometry.squares])
        low, high = points.min(0) - 0.5, points.max(0) + 0.5
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
        shown = inside[self.geometry.starts]
        many = self.drawn_as_image = max(int(inside.sum()), int(shown.sum())) > MOST_DRAWN
        fill = self._fill(graph, colours)
        if many and self.geometry.is_lattice:
            self._paint_lattice(painter, transform, fill, colours)
        elif many:
            self._paint_raster(painter, transform, places, fill, size, colours)
        else:
            self._paint_lines(painter, transform, places, shown, colours)
            self._paint_factor_marks(painter, transform, places, colours)
            if self.symbol in NODES:
                lit = self._lit_nodes(len(inside), self.symbol) & inside
                paint_nodes(painter, places[lit], self.radius(transform.scale), self.symbol, colours)
            self._paint_nodes(painter, transform, places, inside, fill, colours)
        painter.setOpacity(1.0)
        if many:
            self._paint_factor_marks(painter, transform, places, colours)
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

    def _levels(self) -> np.ndarray:
        """How loud the message of each link is, (links,) uint8."""
        count = len(self.geometry.starts)
        if self.change is None or len(self.change) != count:
            return np.zeros(count, np.uint8)
        return change_levels(self.change)

    def _strengths(self, graph: GraphFrame) -> np.ndarray:
        """The strength of each link's factor, (links,)."""
        if len(graph.strength) != graph.factors:
            return np.zeros(len(self.geometry.starts), np.float32)
        return graph.strength[self.geometry.owners]

    def lights(self, symbol: str) -> bool:
        """Whether there is something to be seen for a symbol of an equation."""
        graph = self.graph
        if graph is None or self.drawn_as_image:
            return False
        if symbol in NODES:
            return bool(self._lit_nodes(graph.nodes, symbol).any())
        return symbol in ("message", "coupling") and graph.factors > 0

    def _lit_nodes(self, count: int, symbol: str) -> np.ndarray:
        """(n,) bool: those that a symbol stands for."""
        given = self.evidence if len(self.hints) == count else np.zeros(count, bool)
        return {"evidence": given, "hidden": ~given}.get(symbol, np.ones(count, bool))

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
        table = packed(level_colours(colours))
        if block < 5:
            table[0] = 0  # what is calm is left out
        halves = table[self._levels().reshape(-1, 2)]
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
        graph, geometry = self.graph, self.geometry
        assert graph is not None
        what = (graph.positions.ctypes.data, graph.edges.ctypes.data, graph.stars.ctypes.data, size)
        if self.moving and self._image is not None and self._image[0] == what:
            self._move_image(painter, self._image[1], transform, self._image[2])
            return
        key = (*what, transform)
        if self._raster is None or self._raster[0] != key or not isinstance(self._raster[1], LineRaster):
            ends, radius = self._on_screen(geometry.ends, transform), self.room(transform.scale)
            made = LineRaster(places[geometry.starts], ends, places, radius, size, self._strengths(graph))
            self._raster = key, made
        raster = self._raster[1]
        assert isinstance(raster, LineRaster)
        loud = self._levels()
        if self.room(transform.scale) < RIMMED:
            fill = np.rint((1 - DARKER) * fill + DARKER * np.array(rgb(colours.outline))).astype(np.uint8)
        given = self.evidence if len(self.hints) == graph.nodes else None
        pixels = raster.image(packed(fill), packed(level_colours(colours))[loud], loud, colours, given)
        painter.drawImage(0, 0, QImage(pixels.data, size[1], size[0], 4 * size[1], QImage.Format.Format_RGB32))
        self._image = what, transform, pixels

    @staticmethod
    def _move_image(painter: QPainter, then: Transform, now: Transform, pixels: np.ndarray) -> None:
        """Draw an image (h, w) of another view where it belongs in this one."""
        height, width = pixels.shape
        grown = now.scale / then.scale
        place = QRectF(now.left - then.left * grown, now.top - then.top * grown, width * grown, height * grown)
        painter.drawImage(place, QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32))

    @property
    def left_out(self) -> tuple[int, int] | None:
        """How many of how many lines an image shows, where it leaves some out."""
        raster = None if self._raster is None or not self.drawn_as_image else self._raster[1]
        if not isinstance(raster, LineRaster) or raster.kept.all():
            return None
        return int(raster.kept.sum()), len(raster.kept)

    def _paint_lines(
        self, painter: QPainter, transform: Transform, places: np.ndarray, shown: np.ndarray, colours: Colours
    ) -> None:
        graph, geometry, options = self.graph, self.geometry, self.options
        assert graph is not None
        numbers = np.flatnonzero(shown)
        squares = self._on_screen(geometry.squares, transform)
        sign = graph.sign if len(graph.sign) == graph.factors else np.zeros(graph.factors, np.int8)
        swings = np.zeros(len(numbers), np.bool_)
        if self.period is not None and len(self.period) == len(geometry.starts):
            swings = self.period[numbers] != 0
        lines = Lines(
            numbers,
            places[geometry.starts[numbers]],
            self._on_screen(geometry.ends[numbers], transform),
            self._levels()[numbers],
            swings,
            self._strengths(graph)[numbers],
            sign[geometry.owners[numbers]],
        )
        width = max(1.2, min(0.05 * transform.scale, 3.0)) * self.unit
        self._paint_lit(painter, lines, width, colours)
        if self.symbol == "message":
            paint_messages(painter, lines, width, colours)
        elif self.symbol == "coupling":
            paint_couplings(painter, squares, self.side(transform.scale), colours)
        lines.paint(painter, width, options.signs, colours)
        wanted = np.unique(geometry.owners[numbers])
        if not options.pairs:
            wanted = wanted[wanted >= len(graph.edges)]
        paint_squares(painter, graph, squares, wanted, self.side(transform.scale), colours)
        radius = self.radius(transform.scale)
        if options.arrows:
            lines.paint_arrows(painter, radius, colours)
        if options.values and self.said is not None:
            words = self._words if graph.names else None
            lines.paint_values(painter, self.said, radius, self.value_letters(radius), colours, words)

    def _words(self, link: int, state: int) -> tuple[str, str]:
        """The name of the node of a link, and of one of its states."""
        assert self.graph is not None
        node = int(self.geometry.starts[link])
        return self.graph.name(node), self.graph.state_name(node, state)

    def _paint_lit(self, painter: QPainter, lines: Lines, width: float, colours: Colours) -> None:
        """A glow behind the lines of factors that are pointed out."""
        if not len(self.lit):
            return
        chosen = np.flatnonzero(np.isin(self.geometry.owners[lines.numbers], self.lit)).tolist()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours.highlight), 3 * width + 4, c=Qt.PenCapStyle.RoundCap))
        painter.drawLines([QLineF(*lines.starts[i].tolist(), *lines.ends[i].tolist()) for i in chosen])

    def _paint_nodes(
        self, painter: QPainter, transform: Transform, places: np.ndarray, inside: np.ndarray, fill: np.ndarray,
        colours: Colours,
    ) -> None:  # fmt: skip
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius, given = self.radius(transform.scale), self.evidence
        named = self.has_numbers(radius)
        dark = dark_text(fill)
        font = QFont(painter.font())
        font.setPixelSize(self.number_letters(radius))
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
            if named and not graph.names:
                painter.setPen(QColor("#14171a") if dark[node] else QColor("#ffffff"))
                painter.drawText(square, Qt.AlignmentFlag.AlignCenter, str(graph.labels[node]))
        if named and graph.names:
            self._paint_names(painter, places, inside, radius, colours)

    def _paint_names(
        self, painter: QPainter, places: np.ndarray, inside: np.ndarray, radius: float, colours: Colours
    ) -> None:
        """Names below their nodes, on a ground that keeps lines out of the letters."""
        assert self.graph is not None
        metrics = painter.fontMetrics()
        for node in np.flatnonzero(inside).tolist():
            text = metrics.elidedText(self.graph.names[node], Qt.TextElideMode.ElideRight, round(8 * radius))
            x, y = places[node].tolist()
            box = QRectF(0, y + radius + 1, metrics.horizontalAdvance(text) + 4, metrics.height())
            box.moveLeft(x - box.width() / 2)
            ground = QColor(colours.paper)
            ground.setAlphaF(0.8)
            painter.fillRect(box, ground)
            painter.setPen(QColor(colours.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_factor_marks(
        self, painter: QPainter, transform: Transform, places: np.ndarray, colours: Colours
    ) -> None:
        """Thick lines along what is pointed at and what is chosen, and a frame around its square."""
        graph, geometry = self.graph, self.geometry
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        side = self.side(transform.scale) + 5
        marks = ((self.hovered_factor, colours.text, 2.0), (self.chosen_factor, colours.accent, 4.0))
        for factor, colour, width in marks:
            if factor is None or factor >= graph.factors:
                continue
            painter.setPen(QPen(QColor(colour), width, c=Qt.PenCapStyle.RoundCap))
            for link in np.flatnonzero(geometry.owners == factor).tolist():
                start = places[geometry.starts[link]].tolist()
                painter.drawLine(QLineF(*start, *self._on_screen(geometry.ends[link], transform).tolist()))
            x, y = self._on_screen(geometry.squares[factor], transform).tolist()
            painter.setPen(QPen(QColor(colour), min(width, 2.5)))
            painter.drawRect(QRectF(x - side / 2, y - side / 2, side, side))

    def _paint_node_marks(self, painter: QPainter, transform: Transform, places: np.ndarray, colours: Colours) -> None:
        """Rings around what is pointed at and what is chosen."""
        graph = self.graph
        assert graph is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = self.radius(transform.scale) + 3
        lit = [(node, colours.highlight, 4.0) for node in self.lit_nodes]
        marks = (*lit, (self.hovered_node, colours.text, 1.5), (self.chosen_node, colours.accent, 3.0))
        for node, colour, width in marks:
            if node is not None and node < graph.nodes:
                painter.setPen(QPen(QColor(colour), width))
                painter.drawEllipse(QPointF(*places[node].tolist()), radius, radius)
