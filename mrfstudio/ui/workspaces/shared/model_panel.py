"""Which model and algorithm a lane runs, when it stops, and the algorithm's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.catalogue import Entry, Field
from mrfstudio.engine.protocol.commands import Command, SetAlgorithm, SetLimits, SetModel, SetParameter
from mrfstudio.engine.protocol.frames import LaneFrame
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.words.topics import set_topic

ITERATIONS = "Stop after this many iterations since the last edit."
TOLERANCE = "Converged means that no message changes by more than this in one iteration."
LIMITS = (
    Field("iterations", "integer", 15, ITERATIONS, low=1, high=10_000, logarithmic=True),
    Field("tolerance", "number", 1e-4, TOLERANCE, low=0, high=1, advanced=True),
)
SECOND_LIMITS = (
    Field(
        "iterations",
        "integer",
        0,
        f"{ITERATIONS} 0 is as many as lane A.",
        low=0,
        high=10_000,
        zero="as lane A",
    ),
)
LIMIT_NAMES = {"iterations", "tolerance"}
OTHER = "Open model…"


class ModelPanel(QWidget):
    """Emits the command for every choice; `set_lane` shows what a frame says, so refused choices go back."""

    command = Signal(object)
    other_model = Signal()
    """The person wants a model file."""
    compact: ClassVar[bool] = False
    """Whether parameters take one line each."""

    def __init__(self, lane: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane  # the lane that commands are about: the one shown last
        self._limits = SECOND_LIMITS if lane else LIMITS
        self._entries: dict[str, Entry] = {}
        self._shown_algorithm = ""
        self._kinds: dict[str, str] = {}  # of models, by name
        self._shown_values: dict[str, Any] = {}
        self.model, self.algorithm = ChoiceBox(14), ChoiceBox(14)
        self.model.setToolTip("The trained model that answers.")
        self.model.setAccessibleName("Model")
        self.algorithm.setToolTip("How the marginals are estimated.")
        self.algorithm.setAccessibleName("Algorithm")
        self.summary = QLabel(wordWrap=True)
        self.summary.setProperty("role", "muted")
        self.form = ParameterForm(compact=self.compact)
        self.form.set_fields(self._limits)
        self.choices = choices = QFormLayout()
        choices.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)  # with large text
        choices.addRow("&Model", self.model)
        choices.addRow("&Algorithm", self.algorithm)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(choices)
        column.addWidget(self.summary)
        self.summary.setVisible(lane == 0)  # the second lane runs the same algorithm nearly always
        column.addWidget(self.form)
        self.model.activated.connect(self._choose_model)
        self.algorithm.activated.connect(self._choose_algorithm)
        self.form.changed.connect(self._set_parameter)
        for box in (self.model, self.algorithm):
            box.addItem("loading…")
            box.setEnabled(False)

    def on_loaded(self, engine: Loaded, workspace: str) -> None:
        """Fill the choices."""
        names = engine.fitting.get(workspace, ())
        self._entries = {entry.name: entry for entry in engine.catalogue.algorithms if entry.name in names}
        self.algorithm.clear()
        for entry in self._entries.values():
            self.algorithm.addItem(entry.title, entry.name)
            self.algorithm.setItemData(self.algorithm.count() - 1, entry.summary, 3)  # 3 is ToolTipRole
        kinds = engine.kinds.get(workspace)
        self.set_models([note for note in engine.models if kinds is None or note.kind in kinds])
        self.model.setEnabled(True)
        self.algorithm.setEnabled(True)

    def set_models(self, models: Sequence[ModelNote]) -> None:
        """The models by name, and the way to a file."""
        chosen = self.model.currentData()
        self.model.clear()
        for note in models:
            self._add(note)
        self.model.insertSeparator(self.model.count())
        self.model.addItem(OTHER, OTHER)
        if chosen is not None:
            self._show_model(chosen)

    def _add(self, note: ModelNote, index: int | None = None) -> None:
        self._kinds[note.name] = note.kind
        at = self.model.count() if index is None else index
        self.model.insertItem(at, note.name.rsplit("/", 1)[-1], note.name)
        self.model.setItemData(at, f"{note.name}: {note.title}", 3)

    def add_model(self, note: ModelNote) -> None:
        """A model from a file joins the list."""
        if self.model.findData(note.name) < 0:
            self._add(note, 0)

    def set_lane(self, lane: LaneFrame, first: LaneFrame, limits: tuple[int, float]) -> None:
        """Show what a lane runs now, and the session's limits: iterations and tolerance."""
        if not self._entries:
            return
        self._lane = lane.lane
        self._show_model(lane.model)
        if lane.algorithm != self._shown_algorithm and lane.algorithm in self._entries:
            self._shown_algorithm = lane.algorithm
            entry = self._entries[lane.algorithm]
            with QSignalBlocker(self.algorithm):
                self.algorithm.setCurrentIndex(self.algorithm.findData(lane.algorithm))
            self.form.set_fields((*self._limits, *entry.fields))
            self.summary.setText(entry.summary)
            for widget in (self.algorithm, self.summary):
                set_topic(widget, f"algorithm/{lane.algorithm}")
            self._shown_values = {}
        values = dict(lane.parameters)
        if self._limits is LIMITS:
            values.update(iterations=limits[0], tolerance=limits[1])
        else:
            values["iterations"] = 0 if lane.limit == first.limit else lane.limit
        if values != self._shown_values:
            self._shown_values = values
            self.form.set_values(values)

    @property
    def models(self) -> list[str]:
        """The names that can be chosen."""
        names = (self.model.itemData(index) for index in range(self.model.count()))
        return [name for name in names if name and name != OTHER]

    def _show_model(self, name: str) -> None:
        if self.model.currentData() == name:
            return
        if self.model.findData(name) < 0:
            self._add(ModelNote(name, "", name), 0)
        with QSignalBlocker(self.model):
            self.model.setCurrentIndex(self.model.findData(name))
        kind = self._kinds.get(name, "")
        set_topic(self.model, f"model/{kind}" if kind else "")

    def _choose_model(self, index: int) -> None:
        name = self.model.itemData(index)
        if name == OTHER:
            self.other_model.emit()
        elif name:
            self._emit(SetModel(self._lane, name))

    def _choose_algorithm(self, index: int) -> None:
        self._emit(SetAlgorithm(self._lane, self.algorithm.itemData(index)))

    def _set_parameter(self, name: str, value: object, gesture: int) -> None:
        if name not in LIMIT_NAMES:
            self._emit(SetParameter(self._lane, name, value, gesture))
            return
        values = self.form.values()
        lane = None if self._limits is LIMITS else self._lane  # the first lane's limits are everybody's
        self._emit(SetLimits(values["iterations"], values.get("tolerance", 0.0), lane, gesture))

    def _emit(self, command: Command) -> None:
        self.command.emit(command)
