"""Train: choose a plan, press Start, watch the model learn; pause, look back, compare runs, use the model elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QSplitter, QTabWidget, QVBoxLayout, QWidget

from mrfstudio.engine.answers import Loaded
from mrfstudio.engine.frames import Status
from mrfstudio.engine.training_frames import RunNote, RunUpdate, TrainingChoices, TrainingPlan
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.panels.checkpoint_bar import CheckpointBar
from mrfstudio.ui.panels.model_picture import ModelPicture
from mrfstudio.ui.panels.plan_panel import PlanPanel
from mrfstudio.ui.panels.query_wall import QueryWall
from mrfstudio.ui.panels.run_plots import RunPlots
from mrfstudio.ui.panels.run_series import RunCurves, RunSeries
from mrfstudio.ui.panels.run_table import RunTable
from mrfstudio.ui.panels.training_bar import TrainingBar
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.shell import Advice
from mrfstudio.ui.theme import px
from mrfstudio.ui.workspaces.base import Workspace
from mrfstudio.ui.workspaces.train_look import TrainLook, progress_words, status_words
from mrfstudio.ui.workspaces.train_runs import TrainRuns

FIRST_PLAN = TrainingPlan(
    model="grid",
    learner="query",
    data="border",
    minutes=2.0,
    options={"clones": 16, "validate_every": 40, "validation_items": 50, "count": 1000, "validation": 100, "test": 0},
)
"""From nothing to a recognisable segmentation while one watches."""
EVERY, EVERY_HIDDEN = 200, 1000
"""Milliseconds between two looks at the run that goes on, while the workspace is shown and while it is not."""
ELSEWHERE_EVERY = 10
"""A run of another window is read from its files once in so many looks."""
ADVICE = (
    "Try it: press Start. In two minutes, 16 clones learn from nothing to label noisy contours; watch the answers.",
    "Pause it, drag the snapshots back and see the same queries answered earlier; change the learning rate; go on.",
    "Tick several runs under Runs to compare their curves. Use this model now hands it to the other workspaces.",
)


class TrainWorkspace(Workspace):
    """Owns the widgets and steers the run that goes on; `TrainLook` shows one run, `TrainRuns` keeps the table."""

    name = "train"
    title = "Train"
    icon = "train"
    help = "Train a model, watch it learn, compare runs."
    has_session = False
    controls_title = "Plan"

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.choices: TrainingChoices | None = None
        self.active: RunNote | None = None
        self.series: dict[str, RunSeries] = {}
        self._update: RunUpdate | None = None
        self._asked = self._polling = self._unseen = self.stopping = False
        self._looks = self._advised = 0
        self.bar, self.advice, self.wall, self.picture = TrainingBar(), Advice(), QueryWall(), ModelPicture()
        self.snapshots, self.table = CheckpointBar(), RunTable()
        self.controls = self.plan = PlanPanel()
        self.plots: RunPlots | None = None
        self.canvas = self.wall
        self.centre = self._centre()
        self.look, self.runs = TrainLook(self), TrainRuns(self)
        self._timer = QTimer(self, interval=EVERY)
        self._timer.timeout.connect(self._poll)
        self.bar.start.connect(self.start_training)
        self.bar.toggle.connect(self.play_pause)
        self.bar.step.connect(self.step)
        self.bar.stop.connect(self.stop_training)
        self.bar.use.connect(self.use_model_now)
        self.plan.learner_changed.connect(self._change_learner)
        self.advice.show_text(ADVICE[0])
        self.show_state()

    def _centre(self) -> QWidget:
        watch = QWidget()
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.wall)
        split.addWidget(self.picture)
        split.setStretchFactor(0, 5)
        split.setStretchFactor(1, 2)
        split.setSizes([680, 280])
        split.setChildrenCollapsible(False)
        inside = QVBoxLayout(watch)
        inside.setContentsMargins(0, px(watch, 6), 0, 0)
        inside.addWidget(split, 1)
        inside.addWidget(self.snapshots)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName("Watch and runs")
        self.tabs.addTab(watch, "Watch")
        self.tabs.addTab(self.table, "Runs")
        self.tabs.setTabToolTip(0, "The run that is looked at: its answers, its inside, its snapshots. (Ctrl+T)")
        self.tabs.setTabToolTip(1, "Every run there is: compare, rename, duplicate, delete. (Ctrl+T)")
        centre = QWidget()
        column = QVBoxLayout(centre)
        margin = px(centre, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(px(centre, 6))
        column.addWidget(self.bar)
        column.addWidget(self.advice)
        column.addWidget(self.tabs, 1)
        return centre

    def make_curves(self) -> QWidget:
        self.plots = RunPlots()
        self.plots.picked.connect(self.snapshots.go_near)
        self.plots.set_snapshot(self.look.snapshot)
        self.draw_runs()
        return self.plots

    def set_narrow(self, narrow: bool) -> None:
        self.bar.set_narrow(narrow)
        self.snapshots.set_narrow(narrow)
        self.table.set_narrow(narrow)

    def doers(self) -> tuple[QObject, ...]:
        return (self, self.runs)

    def ask(self, do: str, then: Any, **arguments: Any) -> None:
        """A question about runs."""
        self.controller.ask("train", then, do=do, **arguments)

    def on_loaded(self, engine: Loaded) -> None:
        if not self._asked:
            self._asked = True
            self.ask("choices", self._on_choices)
            self.ask("runs", self._on_first_runs)

    def _on_choices(self, choices: TrainingChoices) -> None:
        self.choices = choices
        self.plan.set_choices(choices, FIRST_PLAN)
        self.show_state()

    def _on_first_runs(self, notes: Sequence[RunNote]) -> None:
        self.runs.set_notes(notes)
        newest = next((note for note in notes if note.state != "damaged"), None)
        if newest is not None and not self.look.run:
            self.look.open(newest.run)

    # What is shown ----------------------------------------------------------------------------------------------------

    def draw_runs(self) -> None:
        """Draw the curves of the run that is looked at and of the ticked ones."""
        if self.plots is None:
            return
        curves = RunCurves()
        for run, lane in self.runs.drawn.items():
            if run in self.series:
                curves.lanes[lane] = self.series[run]
                curves.titles[lane] = self.runs.name_of(run)
        shown = self.look.shown
        unit, expecting = (shown.loss_unit, shown.active) if shown is not None else ("", False)
        self.plots.set_runs(curves, self.look.metrics, unit, expecting)
        self.mark_step()

    def mark_step(self) -> None:
        """Draw what has arrived, with a line at the snapshot that is looked at, or at the last step."""
        if self.plots is not None:
            series = self.series.get(self.look.run)
            last = 0 if series is None else series.last_step
            self.plots.draw(last if self.snapshots.following else max(self.snapshots.step, 0))

    def show_state(self) -> None:
        """Buttons, words and the status line, as the runs stand now."""
        shown = self.look.shown
        self.bar.set_state(self.active, shown, self.choices is not None, len(self.snapshots.steps), self.stopping)
        note = self.active or shown
        if note is not None and self.stopping:
            self.bar.set_words(f"{note.name}: stopping and keeping the best model…", None)
        elif note is not None:
            self.bar.set_words(*progress_words(note, self.active is not None, self._update), note.sentence)
        else:
            self.bar.set_words("" if self.choices is not None else "loading the engine…", None)
        self.wall.set_empty_text(self._empty_words())
        self.picture.set_empty_text("What the model has learned appears here: clones, receptive fields, potentials.")
        self.status_changed.emit()

    def _empty_words(self) -> str:
        if self.active is not None and self.active.run == self.look.run:
            return "The first answers come as soon as the data are read."
        if self.look.run:
            return "This run has no answers to show: it ended before its first snapshot."
        return "Answers to a fixed set of queries appear here, again every few seconds.\nPress Start."

    def status(self) -> tuple[Status, str, str] | None:
        note = self.active or self.look.shown
        if note is None and self.choices is None:
            return "idle", "loading the engine…", "Runs and plans are read as soon as it is there."
        if note is None and self.table.model.notes:
            return "idle", "no run in view", "Press Start to begin a run, or Show under Runs to look at one."
        return status_words(note, None if note is None else self.series.get(note.run))

    def undoable(self) -> tuple[str, str] | None:
        return self.runs.undoable

    def rates(self) -> str | None:
        if self._update is None or self.active is None:
            return ""
        return f"{self._update.images_per_second:.0f} images/s"

    # The run that goes on ---------------------------------------------------------------------------------------------

    def start_training(self) -> None:
        """Begin a new run with the plan in the forms."""
        if self.choices is not None and self.active is None:
            self.bar.start_button.setEnabled(False)
            self._begin(do="start", plan=self.plan.plan(), name=self.plan.run_name)

    def resume_run(self, run: str) -> None:
        """Go on with a run that was stopped or interrupted."""
        self._begin(do="resume", run=run)

    def _begin(self, **arguments: Any) -> None:
        def refused(sentence: str) -> None:
            self.controller.message.emit(sentence)
            self.show_state()

        self.controller.ask("train", self._on_started, refused, **arguments)

    def _on_started(self, note: RunNote) -> None:
        self.active, self._update = note, None
        self.series.setdefault(note.run, RunSeries())
        self.plan.show_plan(note.plan, note.name)
        self.plan.set_live(self.choices.fixed if self.choices else (), note.options)
        self.look.look_at(note)
        self.runs.refresh()
        self.tabs.setCurrentIndex(0)
        self.wall.setFocus()
        self._advise(1)
        self.show_state()
        self.watch()

    def watch(self) -> None:
        """Look at the run that goes on, again and again, until it ends."""
        self._timer.start()

    def _poll(self) -> None:
        """Ask what has happened since the last look, one question at a time."""
        visible = self.controller.workspace == self.name
        self._timer.setInterval(EVERY if visible else EVERY_HIDDEN)
        self._looks += 1
        if self.active is not None and not self._polling:
            self._polling = True
            self.ask("poll", self._on_update)
        shown = self.look.shown
        elsewhere = shown is not None and shown.elsewhere
        if elsewhere and visible and self._looks % ELSEWHERE_EVERY == 0:
            self.look.open(self.look.run)
        if self.active is None and not elsewhere:
            self._timer.stop()

    def _on_update(self, update: RunUpdate | None) -> None:
        self._polling = False
        if update is None:
            self.active, self.stopping = None, False
            self.show_state()
            return
        note, self._update = update.note, update
        self.active = note if note.active else None
        self.series.setdefault(note.run, RunSeries()).extend(update.columns)
        for notice in update.notices:
            self.controller.message.emit(notice)
        if update.notices and self.active is not None and self.choices is not None:
            self.plan.set_live(self.choices.fixed, note.options)  # a refused change is taken back in the form too
        if update.gone:
            self.series.pop(note.run)
            if self.look.run == note.run:
                self.look.look_at(None)
                self.ask("runs", self._on_first_runs)
        self._unseen = not update.gone
        if self.active is None:
            self._catch_up()
            self._ended()
        elif self.controller.workspace == self.name:
            self._catch_up()
        self.show_state()

    def _catch_up(self) -> None:
        """Show what the last update brought; while another workspace is shown this waits, so that it costs nothing."""
        if not self._unseen or self._update is None:
            return
        self._unseen = False
        note = self._update.note
        self.runs.set_note(note)
        self.look.update(note, self._update.snapshots)
        if self.plots is not None and self.look.run == note.run:
            self.plots.set_metrics(self.look.metrics, note.loss_unit, note.active)
        self.mark_step()

    def on_shown(self) -> None:
        self._catch_up()
        self._timer.setInterval(EVERY)

    def _ended(self) -> None:
        self.stopping = False
        self.plan.set_live(None, {})
        self.plan.run_form.set_values({"name": ""})
        self._update = None
        self._advise(2)
        self.runs.refresh()

    def _change_learner(self, name: str, value: object) -> None:
        self.ask("send", lambda _: None, verb="change", values={name: value})

    # Actions ----------------------------------------------------------------------------------------------------------

    def play_pause(self) -> None:
        """Space: pause or resume the run that goes on, resume the one that is looked at, or start the first."""
        shown = self.look.shown
        if self.active is not None:
            self._send("resume" if self.active.state == "paused" else "pause")
        elif shown is not None and shown.resumable and not shown.elsewhere:
            self.resume_run(shown.run)
        elif shown is None:
            self.start_training()
        else:
            # Somebody who meant to pause a run that has just ended does not want another two minutes of it.
            self.controller.message.emit(f"The run {shown.name} has ended: press Start (Ctrl+Return) for a new one.")

    def step(self) -> None:
        """One batch, then wait."""
        if self.active is not None:
            self._send("step")

    def stop_training(self) -> None:
        """End after this batch; before the first one there is nothing to keep."""
        if self.active is None:
            return
        if self.active.step == 0:
            self.ask("cancel", lambda _: None)
        else:
            self._send("stop")
        # A batch and the last validation take a moment, in which nothing else would be obeyed.
        self.stopping = True
        self.show_state()

    def _send(self, verb: str) -> None:
        self.ask("send", lambda _: None, verb=verb)

    def use_model_now(self) -> None:
        """Hand the parameters that are shown to the other workspaces."""
        if self.look.run and self.bar.use_button.isEnabled():
            step = None if self.look.snapshot is None else self.look.snapshot.step
            self.ask("use", self.model_ready.emit, run=self.look.run, step=step)

    def show_hint(self) -> None:
        self._advise((self._advised + 1) % len(ADVICE))

    def _advise(self, stage: int) -> None:
        self._advised = stage
        self.advice.show_text(ADVICE[stage])
