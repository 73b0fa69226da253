"""Mouse, wheel and keys of the canvas of graphs, as on the other canvas where the gesture is the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.commands import AddNode, Connect, DeleteParts, MoveNode, SetEvidence
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.ui.canvas.surface import ENTER, NOTCH
from mrfstudio.ui.graph_canvas.view import GraphView
from mrfstudio.ui.style.colours import colours_of

Key = Qt.Key
SMALLEST_RADIUS, LARGEST_RADIUS = 0.5, 64.0
CLICK = 4.0  # pixels: less is no drag


@dataclass(frozen=True)
class GraphTool:
    """What a tool button shows."""

    name: str
    title: str
    key: str
    icon: str
    help: str


GRAPH_TOOLS = (
    GraphTool(
        "evidence",
        "Evidence",
        "B",
        "brush",
        "Click a node, or paint over many, to say that they are in the chosen state. The right button takes it back.",
    ),
    GraphTool("move", "Move", "V", "hand", "Drag nodes to other places; drag the background to move the view."),
    GraphTool(
        "draw",
        "Draw",
        "D",
        "edges",
        "Click the background to add a node, drag from node to node to join them. The right button deletes.",
    ),
    GraphTool(
        "inspect",
        "Inspect",
        "I",
        "inspect",
        "Click a node to see its marginal, a line or a square to see its messages.",
    ),
)
TOOL_KEYS = {Key.Key_B: "evidence", Key.Key_V: "move", Key.Key_D: "draw", Key.Key_I: "inspect"}
DIGITS = {getattr(Key, f"Key_{digit}"): digit for digit in range(10)}
ARROWS = {Key.Key_Up: (0, -1), Key.Key_Down: (0, 1), Key.Key_Left: (-1, 0), Key.Key_Right: (1, 0)}
ERASE = (Key.Key_Backspace,)
OTHER_KEYS = (Key.Key_BracketLeft, Key.Key_BracketRight, Key.Key_Delete)


class GraphDrag(Enum):
    PAN = auto()
    PAINT = auto()
    NODE = auto()
    CONNECT = auto()


class GraphCanvas(GraphView):
    """What hands do on a graph, as commands."""

    tool_changed = Signal(str)
    state_changed = Signal(int)
    radius_changed = Signal(float)
    strength_changed = Signal(float)

    keys = frozenset((*ARROWS, *TOOL_KEYS, *DIGITS, *ENTER, *ERASE, *OTHER_KEYS))

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tool = "evidence"
        self.state = 1
        self.radius = SMALLEST_RADIUS
        """Of the brush, in units: nodes of a grid stand one apart."""
        self.strength = 1.0
        self._drag: GraphDrag | None = None
        self._button: Qt.MouseButton | None = None
        self._pressed = self._last = QPointF()
        self._gesture = 0
        self._painted: set[int] = set()
        self._erasing = False
        self._node: int | None = None  # the one that is dragged, or that a line begins at

    # Choices ----------------------------------------------------------------------------------------------------------

    def choose_tool(self, name: str) -> None:
        self.tool = name
        self.tool_changed.emit(name)
        self.set_cursor()
        self.update()

    def choose_state(self, state: int) -> None:
        graph = self.graph
        if graph is None or 0 <= state < int(graph.states.max(initial=2)):
            self.state = state
            self.state_changed.emit(state)

    def set_radius(self, radius: float) -> None:
        self.radius = min(max(radius, SMALLEST_RADIUS), LARGEST_RADIUS)
        self.radius_changed.emit(self.radius)
        self.update()

    def set_strength(self, strength: float) -> None:
        self.strength = strength
        self.strength_changed.emit(strength)

    # Mouse ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None or self._button is not None:
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._button, self._pressed, self._last = event.button(), event.position(), event.position()
        left, right = event.button() == Qt.MouseButton.LeftButton, event.button() == Qt.MouseButton.RightButton
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._drag, self._space_used = GraphDrag.PAN, True
        elif left or right:
            self._press(event, right)
        self.set_cursor()

    def _press(self, event: QMouseEvent, right: bool) -> None:
        node = self.node_at(event.position())
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        self._gesture, self._node = next_gesture(), node
        if self.tool == "inspect" or alt:
            self._inspect(event.position(), node)
        elif self.tool == "draw" and right:
            self._delete(node, None if node is not None else self._factor(event.position()))
        elif self.tool == "draw":
            self._drag = GraphDrag.CONNECT
        elif self.tool == "move":
            self._drag = GraphDrag.PAN if node is None else GraphDrag.NODE
        else:
            factor = None if node is not None or right else self._factor(event.position())
            if factor is not None and self.radius <= SMALLEST_RADIUS:
                self.factor_clicked.emit(factor)
                return
            self._drag, self._erasing, self._painted = GraphDrag.PAINT, right, set()
            self._paint(event.position(), event.position())

    def _factor(self, point: QPointF) -> int | None:
        found = self.factor_at(point)
        return None if found is None else found[0]

    def _inspect(self, point: QPointF, node: int | None) -> None:
        factor = None if node is not None else self._factor(point)
        if node is not None:
            self.node_clicked.emit(node)
        elif factor is not None:
            self.factor_clicked.emit(factor)
        else:
            self._drag = GraphDrag.PAN

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position()
        if self._drag is GraphDrag.PAN:
            delta = point - self._last
            self.move_by(delta.x(), delta.y())
        elif self._drag is GraphDrag.PAINT:
            self._paint(self._last, point)
        elif self._drag is GraphDrag.NODE and self._node is not None and self._moved(point):
            self.fitted = False
            self.send(MoveNode(self._node, *self.transform.to_image(point), self._gesture))
        self._last = point
        self._point_at(point)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != self._button:
            return
        if self._drag is GraphDrag.CONNECT:
            self._connect(event.position())
        elif self._drag is GraphDrag.NODE and self._node is not None and not self._moved(event.position()):
            self.node_clicked.emit(self._node)
        self._drag = self._button = None
        self._node = None
        self.set_cursor()
        self.update()

    def _moved(self, point: QPointF) -> bool:
        return QLineF(self._pressed, point).length() > CLICK

    def _paint(self, start: QPointF, end: QPointF) -> None:
        """Evidence on every node that the brush has come to since the last event."""
        if self.radius <= SMALLEST_RADIUS and self._node is not None and start == end:
            found = np.array([self._node])
        else:
            reach = self.radius if self.radius > SMALLEST_RADIUS else 0.45
            found = self.nodes_near(start, end, reach)
        fresh = tuple(node for node in found.tolist() if node not in self._painted)
        if fresh:
            self._painted.update(fresh)
            self._give(fresh, -1 if self._erasing else self.state, self._gesture)

    def _give(self, nodes: tuple[int, ...], state: int, gesture: int) -> None:
        self.send(SetEvidence(nodes, state, 1.0 if state == -1 else self.strength, gesture))

    def _connect(self, point: QPointF) -> None:
        """The end of a drag of the Draw tool: a node, a line, or both."""
        target = self.node_at(point)
        if self._node is None:
            if target is None and not self._moved(point):
                self.fitted = False
                self.send(AddNode(*self.transform.to_image(point)))
            return
        if not self._moved(point):
            self.node_clicked.emit(self._node)
            return
        if target is None and self.graph is not None:
            self.fitted = False
            self.send(AddNode(*self.transform.to_image(point)))
            target = self.graph.nodes
        if target is not None and target != self._node:
            self.send(Connect(self._node, target))

    def _delete(self, node: int | None, edge: int | None) -> None:
        self.fitted = False
        if node is not None:
            self.send(DeleteParts((node,)))
        elif edge is not None:
            self.send(DeleteParts((), (edge,)))

    def _point_at(self, point: QPointF | None) -> None:
        self.pointer = point
        painting = self._drag in (GraphDrag.PAINT, GraphDrag.PAN)
        node = None if point is None or painting else self.node_at(point)
        found = None if point is None or painting or node is not None else self.factor_at(point)
        self.picture.hovered_node = node
        self.picture.hovered_factor, self.picture.hovered_link = found or (None, None)
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._point_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(None)

    # Keys -------------------------------------------------------------------------------------------------------------

    def change_brush(self, amount: int) -> None:
        self.set_radius(self.radius * 1.25 ** (amount / NOTCH))

    def key_pressed(self, key: Qt.Key, event: QKeyEvent) -> None:
        if key in ARROWS:
            self._step_to(*ARROWS[key])
        elif key in (Key.Key_BracketLeft, Key.Key_BracketRight):
            self.set_radius(self.radius * (1.25 if key == Key.Key_BracketRight else 0.8))
        elif event.isAutoRepeat():
            return  # the keys below act once, however long they are held
        elif key in TOOL_KEYS:
            self.choose_tool(TOOL_KEYS[key])
        elif key in DIGITS:
            self.choose_state(DIGITS[key])
        elif key in ENTER or key in ERASE:
            self._act_on_cursor(erase=key in ERASE)
        elif key == Key.Key_Delete:
            self._delete(self.picture.chosen_node, self.picture.chosen_factor)

    def _step_to(self, right: int, down: int) -> None:
        """The keyboard's cursor goes to the nearest node in a direction."""
        graph = self.graph
        if graph is None or not graph.nodes:
            return
        here, self.pointer = self.picture.hovered_node, None
        self.picture.hovered_factor = self.picture.hovered_link = None
        if here is None or here >= graph.nodes:
            self.picture.hovered_node = self.picture.chosen_node or 0
        else:
            offset = graph.positions - graph.positions[here]
            ahead = offset @ np.array([right, down], np.float32)
            aside = np.abs(offset @ np.array([down, right], np.float32))
            cost = np.where((ahead > 1e-3) & (aside <= 2 * ahead), ahead + 2 * aside, np.inf)
            if np.isfinite(cost.min()):
                self.picture.hovered_node = int(cost.argmin())
        node = self.picture.hovered_node
        assert node is not None
        self.setAccessibleDescription(". ".join(self.note()))
        self.update()
        place, reach = graph.positions[node].tolist(), 2 * self.picture.radius(self.transform.scale) + 8
        centre = self.transform.to_widget(*place)
        self.bring_into_view(QRectF(centre.x() - reach, centre.y() - reach, 2 * reach, 2 * reach))

    def _act_on_cursor(self, erase: bool) -> None:
        node = self.picture.hovered_node
        if node is None:
            self._step_to(0, 0)
        elif self.tool == "inspect":
            self.node_clicked.emit(node)
        elif self.tool == "draw" and not erase:
            self._draw_from(node)
        else:
            self._give((node,), -1 if erase else self.state, next_gesture())

    def _draw_from(self, node: int) -> None:
        """Enter on a node and again on another one joins them."""
        chosen = self.picture.chosen_node
        if chosen is None or chosen == node:
            self.node_clicked.emit(node)
        else:
            self.send(Connect(chosen, node))

    # What the tool shows ----------------------------------------------------------------------------------------------

    def paint_tool(self, painter: QPainter) -> None:
        colours, graph = colours_of(self), self.graph
        if (
            self._drag is GraphDrag.CONNECT
            and self._node is not None
            and graph is not None
            and self._node < graph.nodes
        ):
            painter.setPen(QPen(QColor(colours.accent), 2, Qt.PenStyle.DashLine))
            painter.drawLine(self.transform.to_widget(*graph.positions[self._node].tolist()), self._last)
        if self.tool == "evidence" and self.pointer is not None and self.radius > SMALLEST_RADIUS:
            reach = self.radius * self.transform.scale
            for width, colour in ((3.0, colours.paper), (1.5, colours.text)):
                painter.setPen(QPen(QColor(colour), width))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                x, y = self.pointer.x(), self.pointer.y()
                painter.drawEllipse(QRectF(x - reach, y - reach, 2 * reach, 2 * reach))

    def cursor_shape(self) -> Qt.CursorShape:
        if self._drag in (GraphDrag.PAN, GraphDrag.NODE):
            return Qt.CursorShape.ClosedHandCursor
        if self._space or self.tool == "move":
            return Qt.CursorShape.OpenHandCursor
        return Qt.CursorShape.PointingHandCursor if self.tool == "inspect" else Qt.CursorShape.CrossCursor
