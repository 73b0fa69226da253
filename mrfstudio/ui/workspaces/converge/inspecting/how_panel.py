"""How was this message computed? The equation, then table, incoming messages, product, sum and normalisation."""

from __future__ import annotations

from html import escape

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import MessageTerm, MessageWork
from mrfstudio.engine.protocol.catalogue import Field
from mrfstudio.engine.protocol.commands import PinMessage, SetTable
from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.style.graph_colours import state_colour
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.bars import Bars
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.workspaces.converge.inspecting.slice_tree import Axis
from mrfstudio.ui.workspaces.converge.inspecting.table_map import TableMap

EMPTY = "Click a line of the graph: its message is taken apart here, with the numbers of this iteration."
ENTRY = Field(
    "entry",
    "number",
    1.0,
    "The chosen entry of the table; 0 forbids these states together.",
    low=0,
    high=1e6,
    slider_high=2,
)
MOST_TERMS = 6


class HowPanel(QWidget):
    """Shows a `MessageWork`; emits commands, and questions where a bar was changed to see what would follow."""

    command = Signal(object)
    asked = Signal()
    """Another message, or other numbers: `wanted` says which."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.factor: int | None = None
        self.axis = 0
        self.given: dict[int, tuple[float, ...]] = {}
        self._graph: GraphFrame | None = None
        self._work: MessageWork | None = None
        self._entry: tuple[int, ...] | None = None
        self.equation, self.note = QLabel(EMPTY, wordWrap=True), QLabel(wordWrap=True)
        self.note.setProperty("role", "muted")
        self.which = ChoiceBox(12)
        self.which.setAccessibleName("Message to")
        self.which.setToolTip("The variable that the message goes to.")
        self.which.activated.connect(self._choose)
        self.table = TableMap()
        self.product = TableMap(followed=self.table)
        self.form = ParameterForm(compact=True)
        self.form.set_fields((ENTRY,))
        self.terms = [(_heading(), Bars(), QLabel(wordWrap=True)) for _ in range(MOST_TERMS)]
        self.summed, self.message = Bars(), Bars()
        self.pin, self.back = QPushButton("Pin"), QPushButton("As it was")
        self.pin.setToolTip("Hold this message at what the bars say, whatever the factor computes. Undo takes it back.")
        self.back.setToolTip("Take the numbers of the run again.")
        self._lay_out()
        self.table.picked.connect(self._pick)
        self.form.changed.connect(self._set_entry)
        self.message.changed.connect(self._pin_at)
        self.pin.clicked.connect(self._toggle_pin)
        self.back.clicked.connect(self._reset)
        for number, (_, bars, _) in enumerate(self.terms):
            bars.changed.connect(lambda values, _, number=number: self._change(number, values))
        self.show_nothing(EMPTY)

    def _lay_out(self) -> None:
        inner, area = QWidget(), QScrollArea()
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is in it takes it, and is scrolled to
        self._area, self._inner, self._rows = area, inner, QVBoxLayout(inner)
        rows = self._rows
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(px(self, 4))
        sections: list[QWidget] = [_heading("The factor's table"), self.table, self.form]
        for heading, bars, parts in self.terms:
            parts.setProperty("role", "muted")
            sections += [heading, bars, parts]
        sections += [_heading("Their product with the table"), self.product]
        sections += [_heading("Summed over the others"), self.summed, _heading("Normalised: the message"), self.message]
        for widget in sections:
            rows.addWidget(widget)
        self._of_messages = (*sections[3:], self.pin, self.back)
        for bars in (self.summed, self.message, *(each[1] for each in self.terms)):
            bars.colour_of = state_colour
        buttons = QHBoxLayout()
        buttons.addWidget(self.pin)
        buttons.addWidget(self.back)
        buttons.addStretch(1)
        rows.addLayout(buttons)
        rows.addWidget(self.note)
        rows.addStretch(1)
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        for widget in (self.which, self.equation):
            column.addWidget(widget)
        column.addWidget(area, 1)
        MinimumWidth(self, 300)

    # What is shown ----------------------------------------------------------------------------------------------------

    def look_at(self, factor: int | None, axis: int, graph: GraphFrame | None) -> None:
        """Another message is to be explained; None is none."""
        self.factor, self.axis, self.given, self._entry = factor, axis, {}, None
        if factor is None or graph is None:
            self.show_nothing(EMPTY)
            return
        self.which.clear()
        for node in graph.scope(factor):
            self.which.addItem(f"to {_called(graph, node)}")
        self.which.setCurrentIndex(axis)
        self.asked.emit()

    @property
    def wanted(self) -> tuple[int, int, tuple[tuple[int, tuple[float, ...]], ...]] | None:
        """Factor, axis and changed numbers that an answer is wanted for."""
        return None if self.factor is None else (self.factor, self.axis, tuple(sorted(self.given.items())))

    def show_nothing(self, words: str) -> None:
        self.equation.setText(words)
        self._work = None
        self.which.hide()
        self._inner.hide()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # nothing is there to scroll

    def show_work(self, work: MessageWork, graph: GraphFrame) -> None:
        """Show an answer that still fits what is wanted."""
        if work.factor >= graph.factors or (work.factor, work.axis) != (self.factor, self.axis):
            return
        self._work, self._graph = work, graph
        scope = graph.scope(work.factor)
        self._inner.show()
        self._area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        axes = tuple((_called(graph, node), self._states(node)) for node in scope)
        self.table.show_table(work.table, axes)
        self.which.setVisible(not work.table_alone)
        for widget in self._of_messages:
            widget.setVisible(not work.table_alone)
        if work.table_alone:
            self.equation.setText(work.equation)
            self.note.setText("")
        else:
            self._show_message(work, graph, axes)
        self._show_entry()
        self._make_room()

    def _show_message(self, work: MessageWork, graph: GraphFrame, axes: tuple[Axis, ...]) -> None:
        scope = graph.scope(work.factor)
        self.equation.setText(f"Iteration {work.iteration}: {work.equation}")
        self.product.show_table(work.product, axes)
        for number, (heading, bars, parts) in enumerate(self.terms):
            term = work.terms[number] if number < len(work.terms) else None
            for widget in (heading, bars, parts):
                widget.setVisible(term is not None)
            if term is not None:
                self._show_term(term, heading, bars, parts)
        states, held = self._states(scope[work.axis]), (work.factor, work.axis) in graph.pins
        self.summed.show_values(states, work.summed)
        shown = work.sent if held and work.sent is not None else work.damped
        self.message.show_values(states, shown, editable=held)
        self.pin.setText("Let go" if held else "Pin")
        self.back.setVisible(bool(self.given))
        self.note.setText(self._remark(work, held))

    def _make_room(self) -> None:
        """Lines that wrap need a height for this width, which a place that scrolls does not ask for."""
        self._inner.setMinimumHeight(self._rows.totalHeightForWidth(self._inner.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _show_term(self, term: MessageTerm, heading: QLabel, bars: Bars, parts: QLabel) -> None:
        assert self._graph is not None
        name = _called(self._graph, term.variable)
        heading.setText(f"<b>What {escape(name)} says</b>" + (", changed by hand" if term.given else ""))
        bars.show_values(self._states(term.variable), term.values, editable=True)
        made = [f"{what} ({', '.join(f'{p:.2f}' for p in values[:4])}{' …' if len(values) > 4 else ''})"
                for what, values in term.parts[:4]]  # fmt: skip
        more = len(term.parts) - 4 + term.left_out
        parts.setText("from " + " × ".join(made) + (f" × {more} more" if more > 0 else ""))

    def _states(self, node: int) -> tuple[str, ...]:
        assert self._graph is not None
        return tuple(self._graph.state_name(node, state) for state in range(int(self._graph.states[node])))

    def _remark(self, work: MessageWork, held: bool) -> str:
        if held:
            return "This message is pinned: drag its bars. The factor would have said what the sum says."
        if work.sent is None:
            return "With these numbers it would be so." if self.given else "The next iteration will send this."
        if np.abs(work.sent - work.damped).max() > 1e-4:
            return "The run sent something else: its schedule updates factors one after the other, or remembers steps."
        return "The run sent exactly this. Drag a bar above to see what would follow."

    # Changes ----------------------------------------------------------------------------------------------------------

    def _choose(self, axis: int) -> None:
        self.axis, self.given = axis, {}
        self.asked.emit()

    def _change(self, number: int, values: tuple[float, ...]) -> None:
        if self._work is not None and number < len(self._work.terms):
            self.given[self._work.terms[number].axis] = values
            self.asked.emit()

    def _reset(self) -> None:
        self.given = {}
        self.asked.emit()

    def _toggle_pin(self) -> None:
        if self._work is None or self._graph is None:
            return
        held = (self._work.factor, self._work.axis) in self._graph.pins
        values = () if held else tuple(float(p) for p in self._work.damped)
        self.command.emit(PinMessage(self._work.factor, self._work.axis, values))

    def _pin_at(self, values: tuple[float, ...], gesture: int) -> None:
        if self._work is not None:
            self.command.emit(PinMessage(self._work.factor, self._work.axis, values, gesture))

    def _pick(self, place: tuple[int, ...]) -> None:
        self._entry = place
        self._show_entry()

    def _show_entry(self) -> None:
        work = self._work
        known = work is not None and self._entry is not None and len(self._entry) == work.table.ndim
        self.form.setVisible(known)
        if known and work is not None and self._entry is not None:
            self.form.set_values({"entry": float(f"{work.table[self._entry]:.4g}")})

    def _set_entry(self, name: str, value: float, gesture: int) -> None:
        if self._work is None or self._entry is None:
            return
        table = self._work.table.copy()
        table[self._entry] = value
        scaled = table * np.exp(np.clip(self._work.log_scale, -300, 300))
        self.command.emit(SetTable(self._work.factor, tuple(scaled.ravel().tolist()), gesture))


def _called(graph: GraphFrame, node: int) -> str:
    """A name that is not mistaken for a state."""
    return graph.name(node) if graph.names else f"x{graph.name(node)}"


def _heading(text: str = "") -> QLabel:
    label = QLabel(f"<b>{text}</b>", wordWrap=True)
    label.setTextFormat(Qt.TextFormat.AutoText)
    return label
