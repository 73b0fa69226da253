"""Train: choose a plan, press Start, watch the model learn; pause, look back, compare runs, use the model elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.commands import Command, SetLearner, ShowPlan, StartTraining, StopTraining
from mrfstudio.engine.protocol.frames import Status
from mrfstudio.engine.protocol.requests.train import (
    CancelRun,
    ChangeLearner,
    ListChoices,
    ListRuns,
    PaintPoints,
    PollRun,
    ResumeRun,
    StartRun,
    SteerRun,
    UseRun,
)
from mrfstudio.engine.protocol.training import RunNote, RunUpdate, TrainingChoices
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.keys import key_text
from mrfstudio.ui.window.actions import (
    PLAY_PAUSE,
    SHOW_HINT,
    START_TRAINING,
    STEP,
    STOP_TRAINING,
    USE_MODEL_NOW,
    ActionHandlers,
)
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.window.shell import AdviceLine
from mrfstudio.ui.workspaces.shared.view import WorkspaceView, workspace_view
from mrfstudio.ui.workspaces.train.centre import TrainCentre
from mrfstudio.ui.workspaces.train.checkpoint_bar import CheckpointBar
from mrfstudio.ui.workspaces.train.live_plane import FollowedPlane
from mrfstudio.ui.workspaces.train.model_picture import ModelPicture
from mrfstudio.ui.workspaces.train.parameters import ShownParameters
from mrfstudio.ui.workspaces.train.plan_panel import PlanPanel, plan_of
from mrfstudio.ui.workspaces.train.query_wall import QueryWall
from mrfstudio.ui.workspaces.train.run_plots import RunPlots
from mrfstudio.ui.workspaces.train.run_series import RunSeries
from mrfstudio.ui.workspaces.train.run_table import RunTable
from mrfstudio.ui.workspaces.train.runs import TrainRuns
from mrfstudio.ui.workspaces.train.shown_run import ShownRun, empty_words, progress_words, status_words
from mrfstudio.ui.workspaces.train.sign import SIGN
from mrfstudio.ui.workspaces.train.stage import AnswersOnStage, TrainStage
from mrfstudio.ui.workspaces.train.training_bar import TrainingBar

EVERY, EVERY_HIDDEN = 200, 1000
"""Milliseconds between two looks at the run that goes on, while the workspace is shown and while it is not."""
ELSEWHERE_EVERY = 10
"""A run of another window is read from its files once in so many looks."""
ADVICE = (
    "Try it: press Start. In two minutes, 16 clones learn from nothing to label noisy contours; watch the answers.",
    "Pause it, drag the snapshots back and see the same queries answered earlier; change the learning rate; go on.",
    "Tick several runs under Runs to compare their curves. Use this model now hands it to the other workspaces.",
)


@workspace_view
class TrainView(WorkspaceView):
    """Owns the widgets and steers the run that goes on; `ShownRun` shows one run, `TrainRuns` keeps the table."""

    sign = SIGN
    has_session = False
    controls_title = "Plan"

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.choices: TrainingChoices | None = None
        self.active: RunNote | None = None
        self.series: dict[str, RunSeries] = {}
        self._update: RunUpdate | None = None
        self._asked = self._polling = self._unseen = self.stopping = False
        self._early: ShowPlan | None = None  # given before the plans were there
        self._looks = self._advised = 0
        self.bar, self.advice, self.wall, self.picture = TrainingBar(), AdviceLine(), QueryWall(), ModelPicture()
        self.snapshots, self.table, self.stage = CheckpointBar(), RunTable(), TrainStage(self.wall)
        self.controls = self.plan = PlanPanel()
        self.plots: RunPlots | None = None
        self.canvas = self.wall
        self.centre = TrainCentre(self.bar, self.advice, self.stage, self.picture, self.snapshots, self.table)
        self.tabs = self.centre.tabs
        self.shown_run, self.runs = ShownRun(self), TrainRuns(self)
        self.parameters, self.followed = ShownParameters(self), FollowedPlane(self)
        self.centre.add_tab(
            self.parameters.plots, "Parameters", "How every tensor of the run has spread out, and its gradient."
        )
        self._timer = QTimer(self, interval=EVERY)
        self._timer.timeout.connect(self._poll)
        self.bar.start.connect(self.start_training)
        self.bar.toggle.connect(self.play_pause)
        self.bar.step.connect(self.step)
        self.bar.stop.connect(self.stop_training)
        self.bar.more.connect(self.more_time)
        self.bar.use.connect(self.use_model_now)
        self.table.averaged.connect(lambda _: self.draw_runs())
        self.plan.learner_changed.connect(self._change_learner)
        self.stage.plane.painted.connect(self._paint)
        self.advice.show_text(ADVICE[0])
        self.show_state()

    def make_curves(self) -> QWidget:
        self.plots = RunPlots()
        self.plots.picked.connect(self.snapshots.go_near)
        self.plots.set_snapshot(self.shown_run.snapshot)
        self.draw_runs()
        return self.plots

    @property
    def can_be_staged(self) -> bool:
        return True

    def stage_canvas(self) -> QWidget:
        answers = AnswersOnStage(self.wall.empty_text, self.shown_run.snapshot)
        self.shown_run.snapshot_shown.connect(answers.set_snapshot)
        self.followed.plane_shown.connect(answers.plane.set_picture)
        return answers

    def set_narrow(self, narrow: bool) -> None:
        self.bar.set_narrow(narrow)
        self.snapshots.set_narrow(narrow)
        self.table.set_narrow(narrow)
        self.stage.set_narrow(narrow)

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.runs.action_handlers(),
            **super().action_handlers(),
            START_TRAINING: self.start_training,
            PLAY_PAUSE: self.play_pause,
            STEP: self.step,
            STOP_TRAINING: self.stop_training,
            USE_MODEL_NOW: self.use_model_now,
            SHOW_HINT: self.show_hint,
        }

    def on_loaded(self, engine: Loaded) -> None:
        if not self._asked:
            self._asked = True
            self.controller.ask(ListChoices(), self._on_choices)
            self.controller.ask(ListRuns(), self._on_first_runs)

    def _on_choices(self, choices: TrainingChoices) -> None:
        self.choices = choices
        self.plan.set_choices(choices, choices.first_plan)
        if self._early is not None:
            self.post(self._early)
        self.show_state()

    def _on_first_runs(self, notes: Sequence[RunNote]) -> None:
        self.runs.set_notes(notes)
        newest = next((note for note in notes if note.state != "damaged"), None)
        if newest is not None and not self.shown_run.run:
            self.shown_run.open(newest.run)

    # What is shown ----------------------------------------------------------------------------------------------------

    def draw_runs(self) -> None:
        """Draw the curves of the run that is looked at and of the ticked ones."""
        if self.plots is None:
            return
        curves, shown = self.runs.curves(), self.shown_run.shown
        unit, expecting = (shown.loss_unit, shown.active) if shown is not None else ("", False)
        self.plots.set_runs(curves, self.shown_run.metrics, unit, expecting)
        self.mark_step()

    def mark_step(self) -> None:
        """Draw what has arrived, with a line at the snapshot that is looked at, or at the last step."""
        if self.plots is not None:
            series = self.series.get(self.shown_run.run)
            last = 0 if series is None else series.last_step
            self.plots.draw(last if self.snapshots.following else max(self.snapshots.step, 0))

    def show_state(self) -> None:
        """Buttons, words and the status line, as the runs stand now."""
        shown = self.shown_run.shown
        self.bar.set_state(self.active, shown, self.choices is not None, len(self.snapshots.steps), self.stopping)
        note = self.active or shown
        if note is not None and self.stopping:
            self.bar.set_words(f"{note.name}: stopping and keeping the best model…", None)
        elif note is not None:
            self.bar.set_words(*progress_words(note, self.active is not None, self._update), note.sentence)
        else:
            self.bar.set_words("" if self.choices is not None else "loading the engine…", None)
        live = self.active is not None and self.active.run == self.shown_run.run
        self.wall.set_empty_text(empty_words(bool(self.shown_run.run), live))
        self.stage.set_live(live)
        self.picture.set_empty_text("What the model has learned appears here: clones, receptive fields, potentials.")
        self.status_changed.emit()

    def status(self) -> tuple[Status, str, str] | None:
        note = self.active or self.shown_run.shown
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
            self._begin(StartRun(self.plan.plan(), self.plan.run_name))

    def resume_run(self, run: str) -> None:
        """Go on with a run that was stopped or interrupted; one that has ended gets the minutes of the plan."""
        self._begin(ResumeRun(run, self.plan.minutes))

    def more_time(self) -> None:
        """Go on with the run that is looked at, though it has ended."""
        if self.active is None and self.shown_run.run:
            self.resume_run(self.shown_run.run)

    def _begin(self, request: StartRun | ResumeRun) -> None:
        def refused(sentence: str) -> None:
            self.controller.message.emit(sentence)
            self.show_state()

        self.controller.ask(request, self._on_started, refused)

    def post(self, command: Command) -> None:
        """Do what a lesson asks for."""
        if isinstance(command, ShowPlan) and self.choices is None:
            self._early = command
        elif isinstance(command, ShowPlan) and self.active is None:
            self.plan.show_plan(plan_of(command))
            if isinstance(command, StartTraining):
                self._begin(StartRun(plan_of(command)))
        elif isinstance(command, SetLearner) and self.active is not None:
            self.plan.learner.form.set_values({command.name: command.value})
            self._change_learner(command.name, command.value)
        elif isinstance(command, StopTraining):
            self.stop_training()

    def _on_started(self, note: RunNote) -> None:
        plan = note.plan
        self.gave.emit(StartTraining(plan.model, plan.learner, plan.data, plan.minutes, plan.seed, dict(plan.options)))
        self.active, self._update = note, None
        self.series.setdefault(note.run, RunSeries())
        self.plan.show_plan(note.plan, note.name)
        self.plan.set_live(self.choices.fixed if self.choices else (), note.options)
        self.shown_run.look_at(note)
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
            self.controller.ask(PollRun(), self._on_update)
        shown = self.shown_run.shown
        elsewhere = shown is not None and shown.elsewhere
        if elsewhere and visible and self._looks % ELSEWHERE_EVERY == 0:
            self.shown_run.read_again()
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
        self.run_moved.emit(note)
        self.series.setdefault(note.run, RunSeries()).extend(update.columns)
        for notice in update.notices:
            self.controller.message.emit(notice)
        if update.notices and self.active is not None and self.choices is not None:
            self.plan.set_live(self.choices.fixed, note.options)  # a refused change is taken back in the form too
        if update.gone:
            self.series.pop(note.run)
            if self.shown_run.run == note.run:
                self.shown_run.look_at(None)
                self.controller.ask(ListRuns(), self._on_first_runs)
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
        self.shown_run.update(note, self._update.snapshots)
        if self.plots is not None and self.shown_run.run == note.run:
            self.plots.curves.mark_changes(note.changes)
            self.plots.set_metrics(self.shown_run.metrics, note.loss_unit, note.active)
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
        self.gave.emit(SetLearner(name, value))
        self.controller.ask(ChangeLearner({name: value}), lambda _: None)

    def _paint(self, add: tuple[tuple[float, float], ...], erase: tuple[tuple[float, float, float], ...]) -> None:
        self.controller.ask(PaintPoints(add, erase), lambda _: None)

    # Actions ----------------------------------------------------------------------------------------------------------

    def play_pause(self) -> None:
        """Space: pause or resume the run that goes on, resume the one that is looked at, or start the first."""
        shown = self.shown_run.shown
        if self.active is not None:
            self._send("resume" if self.active.state == "paused" else "pause")
        elif shown is not None and shown.resumable and not shown.elsewhere:
            self.resume_run(shown.run)
        elif shown is None:
            self.start_training()
        else:
            # Somebody who meant to pause a run that has just ended does not want another two minutes of it.
            more = ", or More time to go on with it" if shown.extendable else ""
            self.controller.message.emit(
                f"The run {shown.name} has ended: press Start ({key_text('Ctrl+Return')}) for a new one{more}."
            )

    def step(self) -> None:
        """One batch, then wait."""
        if self.active is not None:
            self._send("step")

    def stop_training(self) -> None:
        """End after this batch; before the first one there is nothing to keep."""
        if self.active is None:
            return
        if self.active.step == 0:
            self.controller.ask(CancelRun(), lambda _: None)
        else:
            self._send("stop")
        self.gave.emit(StopTraining())
        # A batch and the last validation take a moment, in which nothing else would be obeyed.
        self.stopping = True
        self.show_state()

    def _send(self, verb: Literal["pause", "resume", "step", "stop"]) -> None:
        self.controller.ask(SteerRun(verb), lambda _: None)

    def use_model_now(self) -> None:
        """Hand the parameters that are shown to the other workspaces."""
        if self.shown_run.run and self.bar.use_button.isEnabled():
            step = None if self.shown_run.snapshot is None else self.shown_run.snapshot.step
            self.controller.ask(UseRun(self.shown_run.run, step), self.model_ready.emit)

    def show_hint(self) -> None:
        self._advise((self._advised + 1) % len(ADVICE))

    def _advise(self, stage: int) -> None:
        self._advised = stage
        self.advice.show_text(ADVICE[stage])
