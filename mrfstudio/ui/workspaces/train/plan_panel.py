"""The plan of the next run: model, learner, data and time, with forms made from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.catalogue import Entry, Field
from mrfstudio.engine.protocol.commands import ShowPlan
from mrfstudio.engine.protocol.training import DataOption, ModelChoice, TrainingChoices, TrainingPlan
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.words.topics import set_topic

USUAL_MINUTES = 2.0
NAME = Field("name", "text", "", "How the run is called in the table; empty takes a number.")
RUN_FIELDS = (
    NAME,
    Field(
        "minutes",
        "number",
        USUAL_MINUTES,
        "Stop after this time; the learning rate falls to fit into it. 0 runs until the epochs are done.",
        low=0.0,
    ),
    Field("seed", "integer", 0, "The same seed gives the same numbers.", low=0),
    Field(
        "start_from",
        "text",
        "",
        "A model, by name or file, whose parameters are the start; empty begins with random ones.",
        advanced=True,
    ),
)
USUAL = "query"
"""The learner that is proposed where it fits."""
RESERVED = ("seed",)
"""Options of parts that the run itself sets."""


class PlanPart(QWidget):
    """One of model, learner and data: a choice, what it is in a sentence, and its parameters."""

    chosen = Signal(str)
    changed = Signal(str, object)

    def __init__(self, title: str, help: str) -> None:
        super().__init__()
        self.title = title
        self._entries: dict[str, Entry] = {}
        self._fields: list[Field] = []
        self.box = ChoiceBox(12)
        self.box.setToolTip(help)
        self.box.setAccessibleName(title)
        self.box.addItem("loading…")
        self.box.setEnabled(False)
        self.summary = QLabel(wordWrap=True)
        self.summary.setProperty("role", "muted")
        self.form = ParameterForm()
        self.fold = QToolButton()
        self.fold.setCheckable(True)
        self.fold.setToolTip(f"Show or hide the parameters of the {title.lower()}.")
        self.fold.setAccessibleName(f"Parameters of the {title.lower()}")
        self.fold.toggled.connect(self._folded)
        self.top = QFormLayout()
        self.top.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)  # with large text
        self.top.addRow(f"&{title}", self.box)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self.top)
        column.addWidget(self.summary)
        self.live_note = QLabel(wordWrap=True)
        self.live_note.setProperty("role", "muted")
        self.live_note.hide()
        column.addWidget(self.live_note)
        column.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.form)
        self._folded(False)
        self.box.activated.connect(self._choose)
        self.form.changed.connect(lambda name, value, gesture: self._edited(name, value))

    def set_entries(self, entries: Sequence[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        before = self.name
        with QSignalBlocker(self.box):
            self.box.clear()
            for entry in entries:
                self.box.addItem(entry.title, entry.name)
                self.box.setItemData(self.box.count() - 1, entry.summary, Qt.ItemDataRole.ToolTipRole)
            self.box.setCurrentIndex(max(self.box.findData(before), 0))

    @property
    def name(self) -> str:
        return str(self.box.currentData() or "")

    def choose(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        hidden: Sequence[str] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Show an entry with its parameters; `hidden` ones belong to a part before it, `defaults` suit that part."""
        entry = self._entries.get(name)
        if entry is None:
            return
        with QSignalBlocker(self.box):
            self.box.setCurrentIndex(self.box.findData(name))
        self.summary.setText(entry.summary)
        for widget in (self.box, self.summary):
            set_topic(widget, f"{self.title.lower()}/{name}" if self.title in ("Model", "Learner") else "")
        suited = defaults or {}
        self._fields = [
            replace(field, default=suited.get(field.name, field.default))
            for field in entry.fields
            if field.name not in hidden and field.name not in RESERVED
        ]
        known = {field.name for field in self._fields}
        self.form.set_fields(self._fields, {key: value for key, value in (values or {}).items() if key in known})
        self.fold.setVisible(bool(self._fields))
        self._folded(self.fold.isChecked())

    def field_names(self) -> list[str]:
        entry = self._entries.get(self.name)
        return [] if entry is None else [field.name for field in entry.fields]

    def options(self) -> dict[str, Any]:
        """What differs from the defaults."""
        defaults = {field.name: field.default for field in self._fields}
        return {name: value for name, value in self.form.values().items() if value != defaults.get(name)}

    def _choose(self, index: int) -> None:
        self.chosen.emit(str(self.box.itemData(index)))

    def _edited(self, name: str, value: object) -> None:
        self._folded(self.fold.isChecked())
        self.changed.emit(name, value)

    def _folded(self, open: bool) -> None:
        different = len(self.options())
        told = f" ({different} changed)" if different else ""
        self.fold.setText(f"{'▾' if open else '▸'} Parameters{told}")
        self.form.setVisible(open)


class PlanPanel(QWidget):
    """Gives a plan, shows one, and tells what is changed in the learner while a run goes on."""

    learner_changed = Signal(str, object)
    """A parameter of the learner and its new value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choices: TrainingChoices | None = None
        self._live: frozenset[str] | None = None
        self.model = PlanPart("Model", "What is trained.")
        self.learner = PlanPart("Learner", "How it is trained.")
        self.data = PlanPart("Data", "What it is trained on.")
        self.path = QLineEdit()
        self.path.setToolTip("The file or folder with the data.")
        self.path.setAccessibleName("Path of the data")
        self.browse = QToolButton()
        self.browse.setText("…")
        self.browse.setToolTip("Choose the file or folder.")
        self.browse.setAccessibleName("Choose the path of the data")
        self.browse.clicked.connect(self._browse)
        self.path_row = QWidget()
        row = QHBoxLayout(self.path_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.path, 1)
        row.addWidget(self.browse)
        self.data.top.addRow("&Path", self.path_row)
        self.run_form = ParameterForm()
        self.run_form.set_fields(RUN_FIELDS)
        self._column = QVBoxLayout(self)
        margin = px(self, 10)
        self._column.setContentsMargins(margin, margin, margin, margin)
        self._column.setSpacing(px(self, 10))
        self.parts = self._group("Plan of the next run", self.model, self.learner, self.data)
        self._group("Run", self.run_form)
        self._column.addStretch(1)
        self.model.chosen.connect(self._model_chosen)
        self.learner.chosen.connect(lambda name: self._show_parts(learner=name, values=self._kept(self.learner)))
        self.data.chosen.connect(lambda name: self._show_parts(data=name, path=""))
        self.learner.changed.connect(self._learner_edited)
        self.set_live(None, {})

    def _group(self, title: str, *widgets: QWidget) -> QGroupBox:
        group = QGroupBox(title)
        column = QVBoxLayout(group)
        column.setContentsMargins(0, px(self, 4), 0, 0)
        column.setSpacing(px(self, 12))
        for widget in widgets:
            column.addWidget(widget)
        self._column.addWidget(group)
        return group

    # The plan ---------------------------------------------------------------------------------------------------------

    def set_choices(self, choices: TrainingChoices, plan: TrainingPlan) -> None:
        """Everything that is registered, and the plan to begin with."""
        self.choices = choices
        self.model.set_entries([choice.entry for choice in choices.models])
        self.learner.set_entries(choices.learners)
        self.data.set_entries([choice.entry for choice in choices.datasets])
        for part in (self.model, self.learner, self.data):
            part.box.setEnabled(True)
        self.show_plan(plan)

    def show_plan(self, plan: TrainingPlan, name: str = "") -> None:
        """Fill everything in from a plan, such as that of a run to be repeated with changes."""
        data, _, path = plan.data.partition(":")
        self._show_parts(plan.model, plan.learner, data, path, plan.options)
        minutes = 0.0 if plan.minutes is None else plan.minutes
        self.run_form.set_values({"name": name, "minutes": minutes, "seed": plan.seed, "start_from": plan.start_from})

    def plan(self) -> TrainingPlan:
        """What the forms say."""
        run = self.run_form.values()
        path = self.path.text().strip() if self.path_row.isVisibleTo(self) else ""
        return TrainingPlan(
            model=self.model.name,
            learner=self.learner.name,
            data=f"{self.data.name}:{path}" if path else self.data.name,
            seed=int(run["seed"]),
            minutes=float(run["minutes"]) or None,
            start_from=str(run["start_from"]).strip(),
            options={**self.model.options(), **self.learner.options(), **self.data.options()},
        )

    @property
    def minutes(self) -> float:
        """For how long a run is to go on, where its end is not planned by epochs."""
        return float(self.run_form.values()["minutes"]) or USUAL_MINUTES

    @property
    def run_name(self) -> str:
        return str(self.run_form.values()["name"]).strip()

    def _model_chosen(self, name: str) -> None:
        assert self.choices is not None
        chosen = next(choice for choice in self.choices.models if choice.entry.name == name)
        if chosen.demonstration is not None:
            self.show_plan(chosen.demonstration, self.run_name)
            return
        self.run_form.set_values({"minutes": 0.0})  # those of a demonstration are not meant for others
        data, _, path = chosen.data.partition(":")
        self._show_parts(model=name, data=data or self.data.name, path=path, values=self._kept(self.model))

    def _show_parts(
        self,
        model: str | None = None,
        learner: str | None = None,
        data: str | None = None,
        path: str | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Choose entries; parameters keep their values where an entry stays or the new one has the same."""
        if values is None:
            values = {**self.model.options(), **self.learner.options(), **self.data.options()}
        self.model.choose(model or self.model.name, values)
        before = self.model.field_names()
        learner = self._fitting_learner(learner or self.learner.name)
        self.learner.choose(learner, values, before, self._chosen_model().learner_defaults.get(learner))
        self.data.choose(data or self.data.name, values, [*before, *self.learner.field_names()])
        chosen = self._data_choice()
        if chosen is not None:
            self.path_row.setVisible(chosen.path != "none")
            label = self.data.top.labelForField(self.path_row)
            if label is not None:
                label.setVisible(chosen.path != "none")
            needed = chosen.path == "required" and not chosen.fetched
            self.path.setPlaceholderText(chosen.path_text if needed else f"{chosen.path_text} (optional)")
        if path is not None:
            self.path.setText(path)

    def _kept(self, changed: PlanPart) -> dict[str, Any]:
        """Options that stay when one part is exchanged: of the model for another learner, none for another model."""
        return {} if changed is self.model else {**self.model.options(), **self.data.options()}

    def _chosen_model(self) -> ModelChoice:
        assert self.choices is not None
        return next(each for each in self.choices.models if each.entry.name == self.model.name)

    def _fitting_learner(self, wanted: str) -> str:
        """Offer the learners that can train the chosen model; the wanted one if it is among them, else the first."""
        assert self.choices is not None
        kinds, model = self.choices.kinds, self.model.name
        fitting = [entry for entry in self.choices.learners if model in kinds.get(entry.name, (model,))]
        names = [entry.name for entry in fitting]
        self.learner.set_entries(fitting)
        return wanted if wanted in names else USUAL if USUAL in names else names[0]

    def _data_choice(self) -> DataOption | None:
        assert self.choices is not None
        return next((each for each in self.choices.datasets if each.entry.name == self.data.name), None)

    def _browse(self) -> None:
        chosen = self._data_choice()
        if chosen is not None and "FOLDER" in chosen.path_text and "FILE" not in chosen.path_text:
            found = QFileDialog.getExistingDirectory(self, "Folder with the data", self.path.text())
        else:
            found, _ = QFileDialog.getOpenFileName(self, "File with the data", self.path.text())
        if found:
            self.path.setText(found)

    # While a run goes on ----------------------------------------------------------------------------------------------

    def set_live(self, fixed: Sequence[str] | None, options: Mapping[str, Any]) -> None:
        """A run of this plan goes on: its learner's parameters change at once, but for the fixed ones; None: none."""
        self._live = None if fixed is None else frozenset(fixed)
        live = self._live is not None
        for part in (self.model, self.data):
            part.setEnabled(not live)
        self.learner.box.setEnabled(not live and self.choices is not None)
        self.run_form.setEnabled(not live)
        for name in self.learner.form.values():
            self.learner.form.row(name).setEnabled(not live or name not in (fixed or ()))
        if live:
            self.learner.form.set_values(options)
            self.learner.fold.setChecked(True)
        elif self.learner.live_note.isVisibleTo(self):
            self.learner.fold.setChecked(False)  # as it was before the run opened it
        self.parts.setTitle("Plan of the run that goes on" if live else "Plan of the next run")
        self.learner.live_note.setText("What you change here reaches the run with its next batch.")
        self.learner.live_note.setVisible(live)

    def _learner_edited(self, name: str, value: object) -> None:
        if self._live is not None and name not in self._live:
            self.learner_changed.emit(name, value)


def plan_of(command: ShowPlan) -> TrainingPlan:
    """The plan of a run that a lesson shows or begins."""
    given = (command.model, command.learner, command.data, command.seed, command.minutes)
    return TrainingPlan(*given, options=command.options)
