"""The messages of one factor over iterations, every state a line, and an edge's coupling to change."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.catalogue import Field
from mrfstudio.engine.protocol.commands import Scrub, SetPart
from mrfstudio.engine.protocol.frames import Frame, GraphFrame, MessageTrace
from mrfstudio.ui.plots.axes import next_end
from mrfstudio.ui.plots.content import Crosshair, Paint, PlotLine, Range
from mrfstudio.ui.plots.coordinates import padded
from mrfstudio.ui.plots.curve_plot import CurvePlot, Measure
from mrfstudio.ui.style.graph_colours import state_line_colour
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.workspaces.converge.overviews.region_view import WITH_REGIONS

EMPTY = "Click a line or a square of the graph to see its messages here, iteration by iteration."
SILENT = "This algorithm sends no messages: choose bp, alpha-bp or trw to see some."
REGIONAL = keyed("This algorithm has beliefs of regions instead of messages along edges: Ctrl+Shift+R shows them.")
MESSAGE = Measure(
    "message", "message", "", "The message as probabilities of the receiver's states. Click to go to an iteration."
)
COUPLING = Field("coupling", "number", 0.0, "The coupling of this edge, as the graph has it now.", low=-10, high=10)
EXPLAIN, TABLE = "How was it computed?", "See the factor's table"
LEAST = 1e-4
"""Of the axis of a message."""
MOST_PLOTS = 8
TO, BACK = "to", "back"


class MessageInspector(QWidget):
    """A plot for each variable of the factor."""

    command = Signal(object)
    how = Signal()
    """How was this message computed?"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.explain = QPushButton(EXPLAIN)
        self.explain.setToolTip("Take one of these messages apart: table, incoming messages, product, sum.")
        self.explain.clicked.connect(self.how)
        self.heading = QLabel(EMPTY, wordWrap=True)
        crosshair = Crosshair(self)
        self.plots = tuple(MessagePlot(crosshair) for _ in range(MOST_PLOTS))
        self.direction = ChoiceBox(14)
        self.direction.addItem("from the factor", TO)
        self.direction.addItem("to the factor", BACK)
        self.direction.setToolTip("A factor and each of its variables tell each other something.")
        self.direction.setAccessibleName("Direction of messages")
        self.direction.activated.connect(lambda _: self._draw())
        self.more = QLabel()
        self.more.setProperty("role", "muted")
        self._shown: tuple[Frame, MessageTrace] | None = None
        self._scale = 1.0
        self.form = ParameterForm(compact=True)
        self.form.set_fields((COUPLING,))
        self._factor: int | None = None
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        column.addWidget(self.heading)
        column.addWidget(self.direction)
        column.addWidget(self.explain)
        column.addWidget(self._scrolled(), 1)
        column.addWidget(self.more)
        column.addWidget(self.form)
        for widget in (self.form, self.direction, self.more, self.explain):
            widget.hide()
        MinimumWidth(self, 260)
        self.form.changed.connect(self._set_coupling)

    def _scrolled(self) -> QScrollArea:
        """The plots, in a place of any height."""
        inner, area = QWidget(), QScrollArea()
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it takes it, and is scrolled to
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(0, 0, 0, 0)
        for plot in self.plots:
            rows.addWidget(plot, 2)
            plot.setMaximumHeight(px(self, 260))
            plot.picked.connect(lambda iteration: self.command.emit(Scrub(iteration)))
            plot.hide()
        rows.addStretch(1)
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def set_frame(self, frame: Frame, lane: int, factor: int | None) -> None:
        """Show the messages of a factor in a lane."""
        self._factor, graph = factor, frame.graph
        found = next((each for each in frame.lanes if each.lane == lane), None)
        if factor is None or graph is None or factor >= graph.factors or found is None:
            self._clear(EMPTY)
            return
        trace = found.trace
        if found.algorithm in WITH_REGIONS:
            self._clear(REGIONAL)
            return
        if trace is None or trace.factor != factor:
            if not found.pictures.get("residual", np.zeros(0)).size and found.iteration:
                self._clear(SILENT)
                self.explain.setText(TABLE)
                self.explain.show()
            return
        self._shown = frame, trace
        self._draw()
        self._show_coupling(graph, factor)

    def _draw(self) -> None:
        """The messages of the chosen direction."""
        if self._shown is None or self._shown[0].graph is None:
            return
        (frame, trace), graph = self._shown, self._shown[0].graph
        names = [graph.name(node) for node in graph.scope(trace.factor)]
        pair = len(names) == 2
        self.heading.setText(f"<b>{'Edge ' + ' – '.join(names) if pair else 'Factor ' + ', '.join(names)}</b>")
        away = self.direction.currentData() == TO
        for number, plot in enumerate(self.plots):
            plot.setVisible(number < len(names))
            if number < len(names):
                name, other = names[number], names[1 - number] if pair else "factor"
                title = f"{other} → {name}" if away else f"{name} → factor"
                values = (trace.to if away else trace.back)[number]
                plot.show_message(title, trace.iterations, values, frame.iteration)
        self.direction.show()
        self.explain.setText(EXPLAIN)
        self.explain.show()
        self.more.setVisible(len(names) > MOST_PLOTS)
        self.more.setText(f"… and {len(names) - MOST_PLOTS} more variables")

    def _show_coupling(self, graph: GraphFrame, factor: int) -> None:
        self._scale = graph.strengths["coupling"] / graph.strengths["temperature"]
        known = graph.couplings is not None and graph.editable and self._scale > 0 and factor < len(graph.edges)
        self.form.setVisible(known)
        if known and graph.couplings is not None:
            self.form.set_values({"coupling": float(f"{graph.couplings[factor]:.3g}")})

    def _clear(self, text: str) -> None:
        self.heading.setText(text)
        self._shown = None
        for widget in (*self.plots, self.form, self.direction, self.more, self.explain):
            widget.hide()

    def _set_coupling(self, name: str, value: float, gesture: int) -> None:
        if self._factor is not None:
            self.command.emit(SetPart("edge", self._factor, value / self._scale, gesture))


class MessagePlot(CurvePlot):
    """One message: the probability of every state over iterations; heights fit what is in sight."""

    def __init__(self, crosshair: Crosshair | None = None) -> None:
        super().__init__(MESSAGE, crosshair)
        self.units = ("iteration",)
        self.iterations, self.values = np.zeros(0), np.zeros((0, 2))

    @property
    def title(self) -> str:
        return self.content.title

    def show_message(self, title: str, iterations: np.ndarray, values: np.ndarray, iteration: int) -> None:
        """Show values (t, states) at iterations (t,)."""
        content, states = self.content, values.shape[1]
        self.iterations, self.values, self.iteration = iterations, values, iteration
        content.title, content.present = title, float(iteration)
        content.lines = [
            PlotLine(state, f"P({state})", iterations, values[:, state], _paint(state, states), state)
            for state in range(states)
        ]
        last = int(iterations[-1]) if len(iterations) else 0
        self.end = next_end(max(last, iteration))
        index = int(np.searchsorted(iterations, iteration, side="right")) - 1
        now = [] if index < 0 else values[index].tolist()
        self.setAccessibleName(f"Message {title}, " + ", ".join(f"{n}: {value:.4f}" for n, value in enumerate(now)))
        content.tell()

    def whole_y(self) -> Range:
        """Messages that swing by a hundredth fill the axis."""
        low, high = padded(self._heights())
        if not self.log_y and high - low < LEAST:  # rounding is nothing to look at
            low, high = (low + high - LEAST) / 2, (low + high + LEAST) / 2
        return (low, high) if self.log_y else (max(low, -0.02), min(high, 1.02))

    def sizeHint(self) -> QSize:
        return QSize(px(self, 240), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 90))


def _paint(state: int, states: int) -> Paint:
    return lambda colours: QColor(*state_line_colour(state, states, colours))
