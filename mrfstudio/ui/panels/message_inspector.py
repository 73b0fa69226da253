"""Both messages of one edge over iterations, every state a line, and the edge's coupling to change."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.engine.catalogue import Field
from mrfstudio.engine.commands import Scrub, SetPart
from mrfstudio.engine.frames import Frame, GraphFrame, MessageTrace
from mrfstudio.ui.canvas.graph_look import state_colour
from mrfstudio.ui.colours import colours_of, faded
from mrfstudio.ui.panels.axes import next_end, thinned, tick_texts, ticks
from mrfstudio.ui.panels.parameter_form import ParameterForm
from mrfstudio.ui.panels.plot import DASHES
from mrfstudio.ui.panels.region_view import WITH_REGIONS
from mrfstudio.ui.theme import Width, px

MOST_VALUES = 4
EMPTY = "Click an edge of the graph to see both of its messages here, iteration by iteration."
SILENT = "This algorithm sends no messages along edges: choose bp, alpha-bp or trw to see some."
REGIONAL = "This algorithm has beliefs of regions instead of messages along edges: Ctrl+Shift+R shows them."
COUPLING = Field(
    "coupling", "number", 0.0, "The coupling of this edge before the graph's strength scales it.", low=-10, high=10
)


class MessageInspector(QWidget):
    """Two plots, one for each direction."""

    command = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(EMPTY, wordWrap=True)
        self.plots = (MessagePlot(), MessagePlot())
        self.form = ParameterForm(compact=True)
        self.form.set_fields((COUPLING,))
        self._edge: int | None = None
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        column.addWidget(self.heading)
        for plot in self.plots:
            column.addWidget(plot, 2)
            plot.setMaximumHeight(px(self, 260))
            plot.picked.connect(lambda iteration: self.command.emit(Scrub(iteration)))
            plot.hide()
        column.addWidget(self.form)
        column.addStretch(1)
        self.form.hide()
        Width(self, 260)
        self.form.changed.connect(self._set_coupling)

    def set_frame(self, frame: Frame, lane: int, edge: int | None) -> None:
        """Show the messages of an edge in a lane."""
        self._edge, graph = edge, frame.graph
        found = next((each for each in frame.lanes if each.lane == lane), None)
        if edge is None or graph is None or edge >= len(graph.edges) or found is None:
            self._clear(EMPTY)
            return
        trace = found.trace
        if found.algorithm in WITH_REGIONS:
            self._clear(REGIONAL)
            return
        if trace is None or trace.edge != edge:
            if not found.pictures.get("residual", np.zeros(0)).size and found.iteration:
                self._clear(SILENT)
            return
        first, second = (graph.labels[end] for end in graph.edges[edge].tolist())
        self.heading.setText(f"<b>Edge {first} – {second}</b>")
        self._show(graph, trace, frame.iteration, (f"{second} → {first}", f"{first} → {second}"))
        self._show_coupling(graph, edge)

    def _show(self, graph: GraphFrame, trace: MessageTrace, iteration: int, titles: tuple[str, str]) -> None:
        for plot, title, values in zip(self.plots, titles, (trace.to_first, trace.to_second), strict=True):
            plot.show()
            plot.draw(title, trace.iterations, values, iteration)

    def _show_coupling(self, graph: GraphFrame, edge: int) -> None:
        scale = graph.strengths["coupling"] / graph.strengths["temperature"]
        known = graph.couplings is not None and graph.editable and scale > 0
        self.form.setVisible(known)
        if known and graph.couplings is not None:
            self.form.set_values({"coupling": float(f"{graph.couplings[edge] / scale:.3g}")})

    def _clear(self, text: str) -> None:
        self.heading.setText(text)
        for widget in (*self.plots, self.form):
            widget.hide()

    def _set_coupling(self, name: str, value: float, gesture: int) -> None:
        if self._edge is not None:
            self.command.emit(SetPart("edge", self._edge, value, gesture))


class MessagePlot(QWidget):
    """One message: the probability of every state over iterations. A click goes to an iteration."""

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.iteration = "", 0
        self.iterations, self.values = np.zeros(0), np.zeros((0, 2))
        self._end = next_end(0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setToolTip("The message as probabilities of the receiver's states. Click to go to an iteration.")

    def draw(self, title: str, iterations: np.ndarray, values: np.ndarray, iteration: int) -> None:
        """Show values (t, states) at iterations (t,)."""
        self.title, self.iterations, self.values, self.iteration = title, iterations, values, iteration
        last = int(iterations[-1]) if len(iterations) else 0
        self._end = next_end(max(last, iteration))
        now = ", ".join(f"{state}: {value:.4f}" for state, value in enumerate(self._now()))
        self.setAccessibleName(f"Message {title}, {now}")
        self.update()

    def _now(self) -> list[float]:
        index = int(np.searchsorted(self.iterations, self.iteration, side="right")) - 1
        return [] if index < 0 else [float(value) for value in self.values[index]]

    def sizeHint(self) -> QSize:
        return QSize(px(self, 240), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 90))

    def area(self) -> QRectF:
        metrics = self.fontMetrics()
        left, top = metrics.horizontalAdvance("0.5") + px(self, 8), round(metrics.height() * 1.4)
        return QRectF(
            left, top, max(self.width() - left - px(self, 6), 1), max(self.height() - top - metrics.height() - 4, 1)
        )

    def place(self, iteration: float, value: float) -> QPointF:
        area = self.area()
        return QPointF(area.left() + area.width() * iteration / self._end, area.bottom() - area.height() * value)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, area, metrics = colours_of(self), self.area(), self.fontMetrics()
        painter.fillRect(area, QColor(colours.surface))
        self._paint_axes(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self.place(self.iteration, 0).x()
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
        states = self.values.shape[1]
        painter.setPen(QColor(colours.text))
        painter.drawText(QPointF(px(self, 2), metrics.ascent()), self.title)
        for state in range(states):
            colour = self._colour(state, states)
            across, down = thinned(self.iterations, self.values[:, state], int(area.width()))
            points = [self.place(a, b) for a, b in zip(across.tolist(), down.tolist(), strict=True)]
            pen = QPen(colour, max(1.5, px(self, 1.6)))
            if DASHES[state % len(DASHES)]:
                pen.setDashPattern(DASHES[state % len(DASHES)])
            painter.setPen(pen)
            painter.drawPolyline(QPolygonF(points))
            if points:  # a single point is a point, not nothing
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                painter.drawEllipse(points[-1], px(self, 2.5), px(self, 2.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
        self._paint_values(painter)

    def _paint_values(self, painter: QPainter) -> None:
        """The values now, at the right of the title, with as many digits as there is room for."""
        colours, metrics, states = colours_of(self), self.fontMetrics(), self.values.shape[1]
        shown = self._now()[:MOST_VALUES]
        left = px(self, 8) + metrics.horizontalAdvance(self.title)
        swatch, between, right = px(self, 12), px(self, 10), self.width() - px(self, 4)
        for texts in (
            [f"P({state}) {value:.3f}" for state, value in enumerate(shown)],
            [f"P({state}) {value:.2f}" for state, value in enumerate(shown)],
            [f"{value:.2f}" for value in shown],
        ):
            if left + sum(metrics.horizontalAdvance(text) + swatch + between for text in texts) - between <= right:
                break
        for state, text in reversed(list(enumerate(texts))):
            width = metrics.horizontalAdvance(text)
            if right - width - swatch < left:
                return
            painter.setPen(QColor(colours.text))
            painter.drawText(QPointF(right - width, metrics.ascent()), text)
            painter.fillRect(
                QRectF(right - width - swatch, metrics.ascent() - px(self, 8), px(self, 8), px(self, 8)),
                self._colour(state, states),
            )
            right -= width + swatch + between

    def _colour(self, state: int, states: int) -> QColor:
        return QColor(*state_colour(state, states, colours_of(self)))

    def _paint_axes(self, painter: QPainter) -> None:
        colours, area, metrics = colours_of(self), self.area(), self.fontMetrics()
        for value in (0.0, 0.5, 1.0):
            y = self.place(0, value).y()
            painter.setPen(QPen(faded(colours.outline, 0.28), 1))
            painter.drawLine(QLineF(area.left(), y, area.right(), y))
            painter.setPen(QColor(colours.muted))
            box = QRectF(0, y - metrics.height() / 2, area.left() - px(self, 4), metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{value:g}")
        room = metrics.horizontalAdvance("88888") * 1.6
        along = [step for step in ticks((0, self._end), max(int(area.width() / room), 1)) if float(step).is_integer()]
        for step, label in zip(along, tick_texts(along), strict=True):
            box = QRectF(self.place(step, 0).x() - room / 2, area.bottom() + 2, room, metrics.height())
            box.moveLeft(min(box.left(), self.width() - room))
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, label)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        area = self.area()
        part = (event.position().x() - area.left()) / area.width()
        self.picked.emit(min(max(round(part * self._end), 0), self._end))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()
