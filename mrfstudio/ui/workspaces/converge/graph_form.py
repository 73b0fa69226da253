"""Which graph: where it comes from, its parameters, its strengths, how it is laid out, and what a change does."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Entry
from mrfstudio.engine.protocol.commands import NewGraph, SetLayout, SetStrength
from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm

OPEN, FILE = "open", "file"
CONTINUE, RESTART = "continue", "restart"


class GraphForm(QWidget):
    """Emits a command for every choice; `set_graph` shows what a frame says, so refused choices go back."""

    command = Signal(object)
    open_file = Signal()
    """The person wants a graph from a file."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: dict[str, Entry] = {}
        self._shown_source = self._shown_name = ""
        self._values: dict[str, Any] = {}
        self._strengths: dict[str, Any] = {}
        self.source = self._box("Source", "Where the graph comes from.")
        self.layout_box = self._box("Layout", "Place all nodes again; it changes nothing that is computed.")
        self.change = self._box(
            "On a change", "What a moved slider, new evidence or another parameter does to the run."
        )
        self.change.addItem("continue", CONTINUE)
        self.change.addItem("restart", RESTART)
        self.change.setItemData(0, "The run goes on from where it is, as when a person turns a knob.", 3)
        self.change.setItemData(1, "Every change restarts with uniform messages.", 3)
        self.summary = QLabel(wordWrap=True)
        self.summary.setProperty("role", "muted")
        self.strengths, self.form = ParameterForm(compact=True), ParameterForm(compact=True)
        rows = QFormLayout()
        rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)  # with large text
        rows.addRow("&Graph", self.source)
        below = QFormLayout()
        below.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        below.addRow("La&yout", self.layout_box)
        below.addRow("On &change", self.change)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 6))
        column.addLayout(rows)
        column.addWidget(self.summary)
        column.addWidget(self.strengths)
        column.addWidget(self.form)
        column.addLayout(below)
        self.source.activated.connect(self._choose)
        self.layout_box.activated.connect(self._lay_out)
        self.form.changed.connect(self._set_parameter)
        self.strengths.changed.connect(lambda name, value, gesture: self._emit(SetStrength(name, value, gesture)))

    def _box(self, name: str, help: str) -> ChoiceBox:
        box = ChoiceBox(12)
        box.setAccessibleName(name)
        box.setToolTip(help)
        return box

    @property
    def restarts(self) -> bool:
        """Whether every change is to restart."""
        return bool(self.change.currentData() == RESTART)

    def on_loaded(self, engine: Loaded) -> None:
        """Fill the choices."""
        self._entries = {entry.name: entry for entry in engine.sources}
        self.source.clear()
        for entry in engine.sources:
            self.source.addItem(entry.title, entry.name)
            self.source.setItemData(self.source.count() - 1, entry.summary, 3)  # 3 is ToolTipRole
        self.source.insertSeparator(self.source.count())
        self.source.addItem("Open file…", OPEN)
        self.layout_box.clear()
        self.layout_box.addItem("as it is", "")
        for layout in engine.layouts:
            self.layout_box.addItem(layout, layout)
        if engine.strengths is not None:
            self.strengths.set_fields(engine.strengths.fields)
        self._shown_source = ""

    def set_graph(self, graph: GraphFrame, name: str) -> None:
        """Show what is there now."""
        if not self._entries:
            return
        name = name or "from a file"  # files of the first version do not say what their graph is called
        if (graph.source, name if graph.source == FILE else "") != (self._shown_source, self._shown_name):
            self._shown_source, self._shown_name = graph.source, name if graph.source == FILE else ""
            self._show_source(graph.source, name)
            self._values = {}
        if graph.source == FILE and self.summary.text() != self._of_file(graph, name):
            self.summary.setText(self._of_file(graph, name))
        if dict(graph.parameters) != self._values:
            self._values = dict(graph.parameters)
            self.form.set_values(self._values)
        if dict(graph.strengths) != self._strengths:
            self._strengths = dict(graph.strengths)
            self.strengths.set_values(self._strengths)

    def _of_file(self, graph: GraphFrame, name: str) -> str:
        return f"{name}: {graph.nodes} variables. The strengths multiply its own tables."

    def _show_source(self, source: str, name: str) -> None:
        entry = self._entries.get(source)
        with QSignalBlocker(self.source):
            known = self.source.findData(FILE)
            if known >= 0:
                self.source.removeItem(known)
            if entry is None:
                self.source.insertItem(0, name, FILE)
            self.source.setCurrentIndex(self.source.findData(source))
        self.form.setVisible(entry is not None and bool(entry.fields))
        self.form.set_fields(() if entry is None else entry.fields)
        self.summary.setText("" if entry is None else entry.summary)

    def _choose(self, index: int) -> None:
        source = self.source.itemData(index)
        if source == OPEN:
            with QSignalBlocker(self.source):
                self.source.setCurrentIndex(self.source.findData(self._shown_source))
            self.open_file.emit()
        elif source in self._entries:
            self._emit(NewGraph(source))

    def _set_parameter(self, name: str, value: object, gesture: int) -> None:
        self._emit(NewGraph(self._shown_source, self.form.values(), dict(self._strengths), gesture))

    def next_seed(self) -> bool:
        """Another draw of the same kind of graph; False where it is not drawn at random."""
        values = self.form.values()
        drawn = "seed" in values and self._shown_source in self._entries
        if drawn:
            values["seed"] += 1
            self._emit(NewGraph(self._shown_source, values, dict(self._strengths)))
        return drawn

    def _lay_out(self, index: int) -> None:
        layout = self.layout_box.itemData(index)
        with QSignalBlocker(self.layout_box):
            self.layout_box.setCurrentIndex(0)  # an act, not a state: a dragged node is in no layout
        if layout:
            self._emit(SetLayout(layout))

    def _emit(self, command: object) -> None:
        self.command.emit(command)
