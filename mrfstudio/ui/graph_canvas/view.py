"""The canvas of graphs: what it shows, where it is, what is under the pointer. `graph_input.py` adds mouse and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import Swings
from mrfstudio.engine.protocol.commands import Command, MoveNode, SetEvidence
from mrfstudio.engine.protocol.frames import NO_HINT, Frame, GraphFrame, LaneFrame
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.canvas.transform import LARGEST, MARGIN, SMALLEST, Transform
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.graph_canvas.lines import Shown
from mrfstudio.ui.graph_canvas.notes import factor_note
from mrfstudio.ui.graph_canvas.picture import GraphPicture
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px, unit_of
from mrfstudio.ui.style.words import percent

EMPTY = "One moment: the first graph is on its way.\nYou can also open a .uai, .fg or .bif file."
NEAR_EDGE = 6.0  # pixels
STILL = 120  # milliseconds without a move after which a large graph is drawn anew
LARGEST_FIT = 140.0  # pixels a unit: a graph of three nodes need not fill a wall
MOST_LISTED = 6  # states in the note beside the pointer
BEHIND = (960, 720)  # pixels of a picture of what has no room on the screen
READABLE = 70.0  # pixels a unit at which names, squares and values can be read


class GraphView(Surface):
    """Shows one lane of a frame; edits are drawn at once and given up when a frame shows them."""

    node_clicked = Signal(int)
    factor_clicked = Signal(int)

    largest = 2 * LARGEST

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.picture = GraphPicture(unit=unit_of(self.font()))
        self.lane = 0
        self.empty_text = EMPTY
        self._pending: list[tuple[Command, int | None]] = []
        self._newest = self._applied = 0
        self._still = QTimer(self, interval=STILL, singleShot=True)
        self._still.timeout.connect(self._stand_still)
        self._given: tuple[GraphFrame | None, np.ndarray, np.ndarray] = (None, np.zeros(0), np.zeros(0))
        self.setAccessibleName("Graph")
        self.setAccessibleDescription("Arrow keys go from node to node, Enter gives evidence, Backspace removes it.")
        self.setWhatsThis(
            "Every circle is a variable, coloured by its marginal; every square is a factor. A line between them is "
            "the message that arrives at the circle, coloured by how much it changed, wide where its factor is strong. "
            "Click a node to give it the chosen state, a line or a square to see its messages. The wheel zooms, Space "
            "and drag moves."
        )

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> GraphFrame | None:
        return self.picture.graph

    def set_frame(self, frame: Frame) -> None:
        """Show the newest numbers of the chosen lane."""
        graph, before = frame.graph, self._given[0]
        self._applied = max(self._applied, frame.applied)
        self._pending = [(c, n) for c, n in self._pending if n is None or n > frame.applied]
        if graph is None:
            return
        hints = frame.layers["hints"].ravel()[: graph.nodes]
        self._given = graph, hints, frame.layers["hints_strength"].ravel()[: graph.nodes]
        self._draw_pending()
        lane = next((each for each in frame.lanes if each.lane == self.lane), None)
        self._show_lane(lane if lane is not None else frame.lanes[0] if frame.lanes else None)
        if before is None or graph.nodes != before.nodes or graph.source != before.source:
            self.picture.hovered_factor = self.picture.hovered_link = self.picture.hovered_node = None
            if before is None or not _by_hand(before, graph):
                self.fit()
        self.watch_staleness()
        self.update()

    def _show_lane(self, lane: LaneFrame | None) -> None:
        pictures = {} if lane is None else lane.pictures
        self.picture.marginal = pictures.get("marginal")
        self.picture.said = pictures.get("said")
        edges, stars = pictures.get("residual"), pictures.get("star_residual")
        self.picture.change = None if edges is None or stars is None else np.concatenate([edges.ravel(), stars])

    def set_swings(self, swings: Swings | None) -> None:
        """Mark the messages that oscillate; None marks none."""
        self.picture.period = None if swings is None or not swings.count else swings.period
        self.update()

    def set_values(self, colours: np.ndarray | None) -> None:
        """Other colours (n, 3) uint8 for the nodes, such as errors; None shows marginals again."""
        self.picture.values = colours
        self.update()

    def choose(self, node: int | None = None, factor: int | None = None) -> None:
        """Mark what an inspector shows."""
        self.picture.chosen_node, self.picture.chosen_factor = node, factor
        self.update()

    def set_options(self, options: Shown) -> None:
        """What is seen of factors and messages."""
        self.picture.options = options
        self.update()

    def light(self, factors: np.ndarray) -> None:
        """Point some factors out, (k,); none takes the light away."""
        self.picture.lit = factors
        self.update()

    def zoom_to(self, nodes: list[int]) -> None:
        """Bring some nodes and what is around them into the middle, large enough to read."""
        graph = self.graph
        if graph is None or not nodes:
            return
        points = graph.positions[[node for node in nodes if node < graph.nodes]]
        low, high = points.min(0) - 1.5, points.max(0) + 1.5
        scale = min(self.width() / (high[0] - low[0]), self.height() / (high[1] - low[1]), READABLE)
        self.fitted = False
        middle = (low + high) / 2 * scale
        self.set_transform(Transform(float(scale), self.width() / 2 - middle[0], self.height() / 2 - middle[1]))

    def light_nodes(self, nodes: Sequence[int]) -> None:
        """Rings around the variables of what is pointed at elsewhere, such as a region."""
        self.picture.lit_nodes = tuple(nodes)
        self.update()

    def light_symbol(self, symbol: str) -> bool:
        if self.picture.symbol != symbol:
            self.picture.symbol = symbol
            self.update()
        return self.picture.lights(symbol)

    def posted(self, command: Command, number: int) -> None:
        """A command got its number: what is shown is stale until a frame has applied it."""
        self._newest = max(self._newest, number)
        self._pending = [(c, number if c is command else n) for c, n in self._pending]
        self.watch_staleness()

    def send(self, command: Command) -> None:
        """Draw a command at once, then emit it."""
        if isinstance(command, SetEvidence | MoveNode):
            if isinstance(command, MoveNode):  # only where it is now counts
                self._pending = [(c, n) for c, n in self._pending if not isinstance(c, MoveNode) or n is not None]
            self._pending.append((command, None))
            self._draw_pending()
            self.update()
        self.command.emit(command)

    def _draw_pending(self) -> None:
        graph, hints, strength = self._given
        self.picture.graph, self.picture.hints, self.picture.strength = graph, hints, strength
        if graph is None or not self._pending:
            return
        hints, strength, positions = hints.copy(), strength.copy(), graph.positions
        for command, _ in self._pending:
            if isinstance(command, SetEvidence):
                nodes = [node for node in command.nodes if node < graph.nodes]
                hints[nodes] = NO_HINT if command.state == -1 else command.state
                strength[nodes] = 1.0 if command.state == -1 else command.strength
            elif isinstance(command, MoveNode) and command.node < graph.nodes:
                positions = positions.copy()
                positions[command.node] = (command.x, command.y)
        self.picture.hints, self.picture.strength = hints, strength
        if positions is not graph.positions:
            self.picture.graph = replace(graph, positions=positions)

    def behind(self) -> bool:
        return self._applied < self._newest

    def show_dimmed(self, dimmed: bool) -> None:
        self.picture.stale = dimmed
        self.update()

    # View -------------------------------------------------------------------------------------------------------------

    def set_transform(self, transform: Transform) -> None:
        before = self.transform
        super().set_transform(transform)
        if self.picture.drawn_as_image and self.transform != before:
            self.picture.moving = True
            self._still.start()

    def _stand_still(self) -> None:
        self.picture.moving = False
        self.update()

    def fitting(self) -> Transform:
        left, top, width, height = self.picture.box()
        size = QSizeF(self.size())
        free = MARGIN * min(size.width(), size.height())
        scale = min((size.width() - 2 * free) / width, (size.height() - 2 * free) / height)
        scale = min(max(scale, SMALLEST), LARGEST_FIT * self.picture.unit)
        if scale >= 5 and self.graph is not None and self.graph.lattice is not None:
            scale = float(int(scale))  # equal blocks look calmer than blocks that differ by a pixel
        x = (size.width() - width * scale) / 2 - left * scale
        y = (size.height() - height * scale) / 2 - top * scale
        return Transform(scale, round(x), round(y))

    def kept_in_sight(self, transform: Transform) -> Transform:
        left, top, width, height = self.picture.box()
        shift = transform.moved(left * transform.scale, top * transform.scale)
        kept = shift.kept_in_sight((round(height), round(width)), QSizeF(self.size()))
        return kept.moved(-left * transform.scale, -top * transform.scale)

    def node_at(self, point: QPointF, reach: float = 0.0) -> int | None:
        """The node under a point of the widget, or within `reach` units of it."""
        graph = self.graph
        if graph is None or not graph.nodes:
            return None
        x, y = self.transform.to_image(point)
        distance = np.hypot(graph.positions[:, 0] - x, graph.positions[:, 1] - y)
        nearest = int(distance.argmin())
        least = (self.picture.radius(self.transform.scale) + 2) / self.transform.scale
        return nearest if distance[nearest] <= max(reach, least) else None

    def nodes_near(self, start: QPointF, end: QPointF, reach: float) -> np.ndarray:
        """The nodes within `reach` units of a line between two points of the widget."""
        graph = self.graph
        if graph is None:
            return np.zeros(0, np.int64)
        a, b = np.array(self.transform.to_image(start)), np.array(self.transform.to_image(end))
        return np.flatnonzero(_distances(graph.positions, a[None], b[None])[0] <= reach)

    def factor_at(self, point: QPointF) -> tuple[int, int | None] | None:
        """The factor under a point of the widget, and the link of it where the point is on a line."""
        graph = self.graph
        if graph is None or not graph.factors:
            return None
        here, geometry = np.array(self.transform.to_image(point)), self.picture.geometry
        away = np.abs(geometry.squares - here).max(1)
        nearest = int(away.argmin())
        side = self.picture.side(self.transform.scale) * (1.0 if nearest >= len(graph.edges) else 0.7)
        hidden = nearest < len(graph.edges) and not self.picture.options.pairs
        if away[nearest] * self.transform.scale <= side / 2 + 2 and not hidden:
            return nearest, None
        distance = _distances(here[None], graph.positions[geometry.starts], geometry.ends)[:, 0]
        link = int(distance.argmin())
        return (graph.factor_of(link), link) if distance[link] * self.transform.scale <= NEAR_EDGE else None

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        painter.fillRect(event.rect(), QColor(colours.paper))
        if self.graph is None:
            self.paint_empty(painter)
        else:
            self.picture.paint(painter, self.transform, (self.height(), self.width()), colours)
            self._paint_left_out(painter)
            self.paint_tool(painter)
            self._paint_note(painter)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.focus), 2) if self.hasFocus() else QPen(QColor(colours.border), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def paint_tool(self, painter: QPainter) -> None:
        """What the tool in hand shows; see `graph_input.py`."""

    def note(self) -> list[str]:
        """What is under the pointer or the keyboard's cursor, a line each."""
        graph, picture = self.graph, self.picture
        if graph is None:
            return []
        node = picture.hovered_node
        if node is not None and node < graph.nodes:
            lines = [f"Node {graph.name(node)}, degree {int(graph.degrees[node])}"]
            if picture.marginal is not None and node < len(picture.marginal):
                shares = picture.marginal[node][: int(graph.states[node])]
                lines += [
                    f"P({graph.state_name(node, state)}) = {percent(float(share))}"
                    for state, share in enumerate(shares[:MOST_LISTED])
                ]
                lines += [f"… {len(shares) - MOST_LISTED} more"] if len(shares) > MOST_LISTED else []
            if node < len(picture.hints) and picture.hints[node] != NO_HINT:
                hard = "" if picture.strength[node] >= 1 else f", strength {picture.strength[node]:.0%}"
                said = int(picture.hints[node])
                known = graph.state_names and said < len(graph.state_names[node])
                lines.append(f"evidence: {graph.state_names[node][said] if known else f'state {said}'}{hard}")
            return lines
        factor = picture.hovered_factor
        return [] if factor is None or factor >= graph.factors else factor_note(picture, factor)

    def _paint_note(self, painter: QPainter) -> None:
        lines = self.note()
        place = self._note_place()
        if not lines or place is None:
            return
        colours, metrics = colours_of(self), self.fontMetrics()
        painter.setFont(self.font())
        padding = px(self, 6)
        width = max(metrics.horizontalAdvance(line) for line in lines) + 2 * padding
        height = metrics.height() * len(lines) + 2 * padding
        x = place.x() + px(self, 18)
        x = x if x + width < self.width() else place.x() - px(self, 18) - width
        y = min(max(place.y() + px(self, 10), 2), self.height() - height - 2)
        box = QRectF(x, y, width, height)
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.setBrush(QColor(colours.surface))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(QColor(colours.text))
        painter.drawText(box.adjusted(padding, padding, 0, 0), Qt.AlignmentFlag.AlignLeft, "\n".join(lines))

    def _paint_left_out(self, painter: QPainter) -> None:
        left_out = self.picture.left_out
        if left_out is None:
            return
        text = (
            f"{left_out[0]:,} of {left_out[1]:,} lines, the strongest, and those that change most; zoom in to see all."
        )
        painter.setFont(self.font())
        metrics, padding = self.fontMetrics(), px(self, 5)
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.width() - 4 * padding)
        box = QRectF(padding, self.height() - metrics.height() - 3 * padding, 0, metrics.height() + 2 * padding)
        box.setWidth(metrics.horizontalAdvance(text) + 2 * padding)
        painter.fillRect(box, QColor(colours_of(self).surface))
        painter.setPen(QColor(colours_of(self).muted))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _note_place(self) -> QPointF | None:
        if self.pointer is not None:
            return self.pointer
        node, graph = self.picture.hovered_node, self.graph
        if node is None or graph is None or node >= graph.nodes:
            return None
        return self.transform.to_widget(*graph.positions[node].tolist())

    def drawing(self) -> Drawing:
        """The graph without marks of the pointer, for export: the whole of it, twice as fine as on the screen."""
        if self.size().isEmpty():  # it was never seen, or lies behind a page that took all the room
            self.resize(*BEHIND)

        def paint(painter: QPainter) -> None:
            kept = self.picture.hovered_node, self.picture.hovered_factor
            self.picture.hovered_node = self.picture.hovered_factor = None
            self.picture.paint(painter, self.fitting(), (self.height(), self.width()), colours_of(self))
            self.picture.hovered_node, self.picture.hovered_factor = kept

        return Drawing(self.size(), paint, 2.0, colours_of(self).paper)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        elif event.type() == QEvent.Type.FontChange and hasattr(self, "picture"):
            self.picture.unit = unit_of(self.font())
            self.update()


def _by_hand(before: GraphFrame, now: GraphFrame) -> bool:
    """Whether somebody who draws made one graph of the other: the view must stay under the hand."""
    return now.source == "drawn" and abs(now.nodes - before.nodes) <= 1 and min(now.nodes, before.nodes) > 0


def _distances(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """From each line (k, 2) to (k, 2) to each point (n, 2), as (k, n)."""
    way = (ends - starts)[:, None]
    offset = points[None] - starts[:, None]
    length = np.maximum((way**2).sum(-1), 1e-12)
    part = np.clip((offset * way).sum(-1) / length, 0, 1)[..., None]
    return np.asarray(np.hypot(*np.moveaxis(offset - part * way, -1, 0)))
