"""The canvas of graphs: what it shows, where it is, what is under the pointer. `graph_input.py` adds mouse and keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.answers import Swings
from mrfstudio.engine.commands import Command, MoveNode, SetEvidence
from mrfstudio.engine.frames import NO_HINT, Frame, GraphFrame, LaneFrame
from mrfstudio.ui.canvas.graph_picture import GraphPicture
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.canvas.transform import LARGEST, MARGIN, SMALLEST, Transform
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.drawing import Drawing
from mrfstudio.ui.panels.inspector import percent
from mrfstudio.ui.theme import px

EMPTY = "One moment: the first graph is on its way.\nYou can also open a .uai or .fg file."
NEAR_EDGE = 6.0  # pixels
LARGEST_FIT = 140.0  # pixels a unit: a graph of three nodes need not fill a wall
MOST_LISTED = 6  # states in the note beside the pointer


class GraphView(Surface):
    """Shows one lane of a frame; edits are drawn at once and given up when a frame shows them."""

    node_clicked = Signal(int)
    edge_clicked = Signal(int)

    largest = 2 * LARGEST

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.picture = GraphPicture()
        self.lane = 0
        self.empty_text = EMPTY
        self._pending: list[tuple[Command, int | None]] = []
        self._newest = self._applied = 0
        self._given: tuple[GraphFrame | None, np.ndarray, np.ndarray] = (None, np.zeros(0), np.zeros(0))
        self.setAccessibleName("Graph")
        self.setAccessibleDescription("Arrow keys go from node to node, Enter gives evidence, Backspace removes it.")
        self.setWhatsThis(
            "Every circle is a variable, coloured by its marginal. Each half of a line is the message that arrives at "
            "its end, coloured by how much it changed. Click a node to give it the chosen state, a line to see its "
            "messages. The wheel zooms, Space and drag moves."
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
            self.picture.hovered_edge = self.picture.hovered_node = None
            self.fit()
        self.watch_staleness()
        self.update()

    def _show_lane(self, lane: LaneFrame | None) -> None:
        pictures = {} if lane is None else lane.pictures
        self.picture.marginal = pictures.get("marginal")
        self.picture.residual = pictures.get("residual")
        self.picture.star_residual = pictures.get("star_residual")

    def set_swings(self, swings: Swings | None) -> None:
        """Mark the messages that oscillate; None marks none."""
        self.picture.period = None if swings is None or not swings.count else swings.period
        self.update()

    def set_values(self, colours: np.ndarray | None) -> None:
        """Other colours (n, 3) uint8 for the nodes, such as errors; None shows marginals again."""
        self.picture.values = colours
        self.update()

    def choose(self, node: int | None = None, edge: int | None = None) -> None:
        """Mark what an inspector shows."""
        self.picture.chosen_node, self.picture.chosen_edge = node, edge
        self.update()

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

    def fitting(self) -> Transform:
        left, top, width, height = self.picture.box()
        size = QSizeF(self.size())
        free = MARGIN * min(size.width(), size.height())
        scale = min((size.width() - 2 * free) / width, (size.height() - 2 * free) / height)
        scale = min(max(scale, SMALLEST), LARGEST_FIT)
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

    def edge_at(self, point: QPointF) -> int | None:
        """The edge under a point of the widget."""
        graph = self.graph
        if graph is None or not len(graph.edges):
            return None
        here = np.array(self.transform.to_image(point))
        starts = graph.positions[graph.edges.ravel()]
        ends = self.picture.half_ends().reshape(-1, 2)
        distance = _distances(here[None], starts, ends)[:, 0]
        nearest = int(distance.argmin())
        return nearest // 2 if distance[nearest] * self.transform.scale <= NEAR_EDGE else None

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        painter.fillRect(event.rect(), QColor(colours.paper))
        if self.graph is None:
            self.paint_empty(painter)
        else:
            self.picture.paint(painter, self.transform, (self.height(), self.width()), colours)
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
            lines = [f"Node {graph.labels[node]}, degree {int(graph.degrees[node])}"]
            if picture.marginal is not None and node < len(picture.marginal):
                shares = picture.marginal[node][: int(graph.states[node])]
                lines += [f"P({state}) = {percent(float(share))}" for state, share in enumerate(shares[:MOST_LISTED])]
                lines += [f"… {len(shares) - MOST_LISTED} more"] if len(shares) > MOST_LISTED else []
            if node < len(picture.hints) and picture.hints[node] != NO_HINT:
                hard = "" if picture.strength[node] >= 1 else f", strength {picture.strength[node]:.0%}"
                lines.append(f"evidence: state {picture.hints[node]}{hard}")
            return lines
        edge = picture.hovered_edge
        if edge is None or edge >= len(graph.edges):
            return []
        first, second = (graph.labels[end] for end in graph.edges[edge].tolist())
        lines = [f"Edge {first} – {second}"]
        if graph.couplings is not None:
            lines.append(f"coupling {graph.couplings[edge]:.3g}")
        if picture.residual is not None and edge < len(picture.residual):
            to_first, to_second = picture.residual[edge].tolist()
            lines += [f"change to {first}: {to_first:.1e}", f"change to {second}: {to_second:.1e}"]
        return lines

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

    def _note_place(self) -> QPointF | None:
        if self.pointer is not None:
            return self.pointer
        node, graph = self.picture.hovered_node, self.graph
        if node is None or graph is None or node >= graph.nodes:
            return None
        return self.transform.to_widget(*graph.positions[node].tolist())

    def drawing(self) -> Drawing:
        """The graph without marks of the pointer, for export: the whole of it, twice as fine as on the screen."""

        def paint(painter: QPainter) -> None:
            kept = self.picture.hovered_node, self.picture.hovered_edge
            self.picture.hovered_node = self.picture.hovered_edge = None
            self.picture.paint(painter, self.fitting(), (self.height(), self.width()), colours_of(self))
            self.picture.hovered_node, self.picture.hovered_edge = kept

        return Drawing(self.size(), paint, 2.0, colours_of(self).paper)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()


def _distances(points: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """From each line (k, 2) to (k, 2) to each point (n, 2), as (k, n)."""
    way = (ends - starts)[:, None]
    offset = points[None] - starts[:, None]
    length = np.maximum((way**2).sum(-1), 1e-12)
    part = np.clip((offset * way).sum(-1) / length, 0, 1)[..., None]
    return np.asarray(np.hypot(*np.moveaxis(offset - part * way, -1, 0)))
