"""The right side of Converge: graph, guarantee, lane and algorithm, colours, the chosen node."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QGroupBox, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Field
from mrfstudio.engine.protocol.commands import SetPart
from mrfstudio.engine.protocol.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.ui.canvas.layers import ColourScale
from mrfstudio.ui.style.colours import Colours, rgb
from mrfstudio.ui.style.graph_colours import state_colour, value_colours
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.legend import ColourBar
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.workspaces.converge.gauge import Gauge
from mrfstudio.ui.workspaces.converge.graph_form import GraphForm
from mrfstudio.ui.workspaces.converge.line_options import LineOptions
from mrfstudio.ui.workspaces.segment.inspector import ShareList
from mrfstudio.ui.workspaces.shared.lane_manager import LaneManager
from mrfstudio.ui.workspaces.shared.model_panel import ModelPanel

FIELD = Field("field", "number", 0.0, "The field of this node, as the graph has it now.", low=-10, high=10)
NOTHING = keyed("Click a node with the Inspect tool, or Alt+click with any other, to see its marginal here.")
MARKS = "Nodes with a square frame have evidence. Striped messages oscillate."
MARKS_IN_IMAGE = "So many nodes are drawn as an image. Zoom in to see evidence, squares and what oscillates."
SIDES = (("Show", "shown on canvas, gauge and form"), ("With", "compared with it where nodes show the difference"))
COLOURINGS = {
    "marginal": "Marginal",
    "error": "Error against the reference",
    "difference": "Difference from the lane C",
}
"""What the colour of a node can mean."""
NODE_BAR = ColourScale("diverging", "probability", ((0.0, "0"), (0.5, "½"), (1.0, "1")))
ERROR_BAR = ColourScale("difference", "of probability", ((0.0, "0"), (0.5, "½"), (1.0, "1")))


class LanePanel(ModelPanel):
    """Algorithm and parameters of the chosen lane; the limits are everybody's, and the model is the graph."""

    compact = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, parent)
        self.choices.setRowVisible(self.model, False)

    def choose(self, lane: int) -> None:
        """Another lane's choices."""
        self._lane = lane


class ConvergeControls(QWidget):
    """One column of groups; emits commands."""

    command = Signal(object)
    pair_chosen = Signal(object)
    """The lane to show and the one to compare it with, as `LaneManager.pair`."""
    colouring_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._newest_edit = 0
        self.graph, self.gauge, self.algorithm = GraphForm(), Gauge(), LanePanel()
        self.lanes = LaneManager(SIDES)
        self.colouring = ChoiceBox(14)
        for name, title in COLOURINGS.items():
            self.colouring.addItem(title, name)
        self.colouring.setToolTip("What the colour of a node means.")
        self.colouring.setAccessibleName("Colour of nodes")
        self.colouring.activated.connect(lambda _: self.colouring_changed.emit())
        self.inspector, self.lines = NodeInspector(), LineOptions()
        self._column = QVBoxLayout(self)
        margin = px(self, 10)
        self._column.setContentsMargins(margin, margin, margin, margin)
        self._column.setSpacing(px(self, 10))
        self._group("Guarantee", self.gauge)
        self._group("Graph", self.graph)
        self._group("Lanes", self.lanes)
        self._group("Algorithm", self.algorithm)
        self._group("Colours", *self._legend())
        self._group("Node", self.inspector)
        self._column.addStretch(1)
        for source in (self.graph, self.algorithm, self.inspector, self.lanes):
            source.command.connect(self.command)
        self.lanes.pair_changed.connect(self.pair_chosen)

    def _legend(self) -> tuple[QWidget, ...]:
        lines = ColourScale("change", "probability", ((0.0, "10⁻⁵"), (0.45, "10⁻³"), (0.75, "10⁻²"), (1.0, "0.3")))
        self.node_bar = ColourBar("Node: P(state 1)", NODE_BAR)
        self.line_bar = ColourBar("Line: change of the message to that end", lines)
        self.marks = QLabel(MARKS, wordWrap=True)
        self.marks.setProperty("role", "muted")
        return self.colouring, self.node_bar, self.line_bar, self.lines, self.marks

    def _group(self, title: str, *widgets: QWidget) -> None:
        group = QGroupBox(title)
        column = QVBoxLayout(group)
        column.setContentsMargins(0, px(self, 4), 0, 0)
        for widget in widgets:
            column.addWidget(widget)
        self._column.addWidget(group)

    def on_loaded(self, engine: Loaded, workspace: str) -> None:
        self.graph.on_loaded(engine)
        self.algorithm.on_loaded(engine, workspace)
        self.lanes.on_loaded(engine, workspace)

    def posted(self, number: int) -> None:
        """An edit got this number; frames before it do not show it yet."""
        self._newest_edit = number

    def set_frame(self, frame: Frame, lane: LaneFrame) -> None:
        """Show the graph and the chosen lane."""
        if frame.applied < self._newest_edit:  # an older frame would pull a slider out of the hand
            return
        self.lanes.set_frame(frame)
        self._offer_difference(len(frame.lanes) > 1)
        self.algorithm.choose(lane.lane)
        self.algorithm.set_lane(lane, frame.lanes[0], frame.limits)
        if frame.graph is not None:
            self.graph.set_graph(frame.graph, frame.name)
            self._explain_nodes(int(frame.graph.states.max(initial=2)))

    def explain_marks(self, as_image: bool) -> None:
        """What marks mean; in an image of many nodes there are no squares and stripes."""
        words = MARKS_IN_IMAGE if as_image else MARKS
        if self.marks.text() != words:
            self.marks.setText(words)

    @property
    def coloured_by(self) -> str:
        """What the colour of a node means: a key of `COLOURINGS`."""
        name: str = self.colouring.currentData()
        return name

    def _offer_difference(self, several: bool) -> None:
        """Without a second lane there is nothing to differ from."""
        model = self.colouring.model()
        assert isinstance(model, QStandardItemModel)
        item = model.item(list(COLOURINGS).index("difference"))
        if item.isEnabled() != several:
            item.setEnabled(several)
            if not several and self.coloured_by == "difference":
                self.colouring.setCurrentIndex(0)
                self.colouring_changed.emit()

    def _explain_nodes(self, states: int) -> None:
        by_belief = self.coloured_by == "marginal"
        belief = "Node: P(state 1)" if states == 2 else "Node: mixture of its states"
        title = belief if by_belief else f"Node: {COLOURINGS[self.coloured_by].lower()}"
        if self.node_bar.title != title:
            self.node_bar.title = title
            self.node_bar.bar = NODE_BAR if by_belief else ERROR_BAR
            self.node_bar.setVisible(not by_belief or states == 2)
            self.node_bar.update()


class NodeInspector(QWidget):
    """One node: its marginal state by state, its degree, its field to change."""

    command = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading, self.shares, self.form = (
            QLabel(NOTHING, wordWrap=True),
            ShareList("Marginal"),
            ParameterForm(compact=True),
        )
        self.heading.setProperty("role", "muted")
        self.shares.colour_of = state_colour
        self.form.set_fields((FIELD,))
        self._node: int | None = None
        self._scale = 1.0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.heading, self.shares, self.form):
            column.addWidget(widget)
        self.shares.hide()
        self.form.hide()
        self.form.changed.connect(self._set_field)

    def set_node(self, node: int | None, graph: GraphFrame | None, pictures: Any) -> None:
        """Show a node with the marginals of a lane; None shows what belongs here."""
        marginal = pictures.get("marginal") if pictures else None
        self._node = node if graph is not None and node is not None and node < graph.nodes else None
        known = self._node is not None and marginal is not None and graph is not None and self._node < len(marginal)
        self.shares.setVisible(known)
        if not known or graph is None or self._node is None or marginal is None:
            self.heading.setText(NOTHING)
            self.form.hide()
            return
        self.heading.setText(f"Node {graph.name(self._node)}, degree {int(graph.degrees[self._node])}")
        values = marginal[self._node][: int(graph.states[self._node])]
        called = [graph.state_name(self._node, state) for state in range(len(values))]
        titles = called if graph.state_names else [f"state {state}" for state in called]
        self.shares.set_rows([(titles[state], float(value), state) for state, value in enumerate(values)])
        scale = graph.strengths["field"] / graph.strengths["temperature"]
        editable = graph.fields is not None and graph.editable and scale > 0
        self.form.setVisible(editable)
        if editable and graph.fields is not None:
            self._scale = scale
            self.form.set_values({"field": float(f"{graph.fields[self._node]:.3g}")})

    def _set_field(self, name: str, value: float, gesture: int) -> None:
        if self._node is not None:
            self.command.emit(SetPart("node", self._node, value / self._scale, gesture))


def node_values(frame: Frame, lane: LaneFrame | None, name: str, colours: Colours) -> np.ndarray | None:
    """Colours (n, 3) of nodes that show how far they are from the reference or another lane; None for marginals."""
    if lane is None or frame.graph is None or name == "marginal":
        return None
    picture = lane.pictures.get(name)
    if picture is None or picture.size < frame.graph.nodes:  # not known yet, which is not the same as no error
        return np.tile(np.array(rgb(colours.grid), np.uint8), (frame.graph.nodes, 1))
    return value_colours(picture.ravel()[: frame.graph.nodes], colours)
