"""The right side of Converge: graph, guarantee, lane and algorithm, colours, the chosen node."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QGroupBox, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.answers import Loaded
from mrfstudio.engine.catalogue import Field
from mrfstudio.engine.commands import SetPart
from mrfstudio.engine.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.ui.canvas.graph_look import state_colour
from mrfstudio.ui.canvas.layers import Bar
from mrfstudio.ui.panels.choice_box import ChoiceBox
from mrfstudio.ui.panels.gauge import Gauge
from mrfstudio.ui.panels.graph_form import GraphForm
from mrfstudio.ui.panels.inspector import ShareList
from mrfstudio.ui.panels.lane_manager import LaneManager
from mrfstudio.ui.panels.legend import ColourBar
from mrfstudio.ui.panels.parameter_form import ParameterForm
from mrfstudio.ui.theme import px
from mrfstudio.ui.workspaces.model_panel import ModelPanel

FIELD = Field("field", "number", 0.0, "The field of this node before the graph's strength scales it.", low=-10, high=10)
NOTHING = "Click a node with the Inspect tool, or with Alt, to see its marginal here."
SIDES = (("S", "shown on canvas, gauge and form"), ("C", "compared with it where nodes show the difference"))
COLOURINGS = {
    "marginal": "Marginal",
    "error": "Error against the reference",
    "difference": "Difference from the lane C",
}
"""What the colour of a node can mean."""
NODE_BAR = Bar("diverging", "probability", ((0.0, "0"), (0.5, "½"), (1.0, "1")))
ERROR_BAR = Bar("difference", "of probability", ((0.0, "0"), (0.5, "½"), (1.0, "1")))


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
        self.inspector = NodeInspector()
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
        lines = Bar("change", "probability", ((0.0, "10⁻⁵"), (0.45, "10⁻³"), (0.75, "10⁻²"), (1.0, "0.3")))
        self.node_bar = ColourBar("Node: P(state 1)", NODE_BAR)
        self.line_bar = ColourBar("Line: change of the message to that end", lines)
        self.marks = QLabel("Squares have evidence. Striped messages oscillate.", wordWrap=True)
        self.marks.setProperty("role", "muted")
        return self.colouring, self.node_bar, self.line_bar, self.marks

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
        self.heading.setText(f"Node {graph.labels[self._node]}, degree {int(graph.degrees[self._node])}")
        values = marginal[self._node][: int(graph.states[self._node])]
        self.shares.set_rows([(f"state {state}", float(value), state) for state, value in enumerate(values)])
        scale = graph.strengths["field"] / graph.strengths["temperature"]
        editable = graph.fields is not None and graph.editable and scale > 0
        self.form.setVisible(editable)
        if editable and graph.fields is not None:
            self.form.set_values({"field": float(f"{graph.fields[self._node] / scale:.3g}")})

    def _set_field(self, name: str, value: float, gesture: int) -> None:
        if self._node is not None:
            self.command.emit(SetPart("node", self._node, value, gesture))
