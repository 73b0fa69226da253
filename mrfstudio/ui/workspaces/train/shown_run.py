"""The run that is looked at in the Train workspace: its curves, its snapshots, what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.protocol.frames import Status
from mrfstudio.engine.protocol.requests.train import OpenRun, ReadSnapshot
from mrfstudio.engine.protocol.training import RunNote, RunUpdate, RunView, Snapshot
from mrfstudio.ui.workspaces.train.run_plots import metric_words
from mrfstudio.ui.workspaces.train.run_series import RunSeries
from mrfstudio.ui.workspaces.train.training_bar import STATES, duration

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.train.view import TrainView

BADGES: dict[str, Status] = {
    "running": "running",
    "paused": "paused",
    "finished": "converged",
    "time": "converged",
    "early": "converged",
    "stopped": "iteration limit",
    "interrupted": "iteration limit",
    "diverged": "diverging",
    "failed": "stopped",
    "damaged": "stopped",
}
"""Which mark of the status line goes with which state."""


class ShownRun(QObject):
    """Asks for runs and snapshots, one at a time, and hands them to the widgets that show them."""

    snapshot_shown = Signal(object)
    """Another `Snapshot` is shown, or None."""
    moved = Signal()
    """Another run is looked at, or it has gone on."""

    def __init__(self, workspace: TrainView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.shown: RunNote | None = None
        self.snapshot: Snapshot | None = None
        self._opening = ""  # the run that was asked for last; an answer about another one comes too late
        self._wanted: int | None = None
        workspace.snapshots.chosen.connect(self._want_snapshot)

    @property
    def run(self) -> str:
        """The run that is looked at; empty where there is none."""
        return "" if self.shown is None else self.shown.run

    # Runs -------------------------------------------------------------------------------------------------------------

    def open(self, run: str) -> None:
        """Look at a run, as its files tell it."""
        self._opening = run
        self._workspace.controller.ask(OpenRun(run), self._on_opened)

    def read_again(self) -> None:
        """The run that is looked at may have gone on in another window."""
        if self.run and self._opening == self.run:
            self.open(self.run)

    def _on_opened(self, view: RunView) -> None:
        workspace, run = self._workspace, view.note.run
        if run != self._opening:
            return
        if workspace.active is None or workspace.active.run != run:
            workspace.series[run] = RunSeries(view.columns)
        self.look_at(view.note)
        workspace.snapshots.set_steps(view.snapshots)
        workspace.show_state()
        self.moved.emit()
        if view.note.elsewhere:
            workspace.watch()

    def look_at(self, note: RunNote | None) -> None:
        """Show another run, or none; what belongs to the one before goes."""
        other = note is None or note.run != self.run
        self.shown, self._opening = note, "" if note is None else note.run
        if other:
            self.snapshot = None
            self._workspace.snapshots.clear()
            self._show_snapshot()
        self._workspace.runs.draw_shown()
        self.moved.emit()

    def update(self, note: RunNote, snapshots: tuple[int, ...]) -> None:
        """The run has moved on; nothing happens if it is not the one that is looked at."""
        if note.run == self.run:
            self.shown = note
            self._workspace.snapshots.set_steps(snapshots)
            self.moved.emit()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics worth drawing: the one that selects, and the next."""
        return () if self.shown is None else tuple(name for name in self.shown.scores if name != "converged")[:2]

    # Snapshots --------------------------------------------------------------------------------------------------------

    def _want_snapshot(self, step: int) -> None:
        """Ask for a snapshot; while one is under way, only the last wish counts."""
        waiting, self._wanted = self._wanted is not None, step
        self._workspace.mark_step()
        if not waiting:
            self._ask_snapshot()

    def _ask_snapshot(self) -> None:
        if not self.run or self._wanted is None:
            self._wanted = None
            return
        step, run, bar = self._wanted, self.run, self._workspace.snapshots
        dragged = bar.dragged

        def answered(snapshot: Snapshot | None) -> None:
            # Another step may have been chosen since: an answer about this one is shown only on the way of a drag.
            current = self.run == run and (self._wanted == step or (dragged and bar.dragged))
            if snapshot is not None and current:
                self.snapshot = snapshot
                self._show_snapshot()
            if self._wanted != step or self.run != run:
                self._ask_snapshot()
            else:
                self._wanted = None

        def refused(sentence: str) -> None:
            self._workspace.controller.message.emit(sentence)
            answered(None)

        self._workspace.controller.ask(ReadSnapshot(run, step), answered, refused)

    def _show_snapshot(self) -> None:
        workspace = self._workspace
        workspace.stage.set_snapshot(self.snapshot)
        self.snapshot_shown.emit(self.snapshot)
        workspace.picture.set_panels(() if self.snapshot is None else self.snapshot.pictures)
        if workspace.plots is not None:
            workspace.plots.set_snapshot(self.snapshot)


# Words ----------------------------------------------------------------------------------------------------------------


def empty_words(shown: bool, live: bool) -> str:
    """What stands where answers will be, of a run that is shown and maybe goes on."""
    if live:
        return "The first answers come as soon as the data are read."
    if shown:
        return "This run has no answers to show: it ended before its first snapshot."
    return "Answers to a fixed set of queries appear here, again every few seconds.\nPress Start."


def progress_words(note: RunNote, active: bool, update: RunUpdate | None) -> tuple[str, float | None]:
    """How far a run is, in words and as a part in [0, 1]; None where nothing runs."""
    if active and note.step == 0:
        return f"{note.name}: reading the data…", 0.0
    state = STATES.get(note.state, note.state)
    scores = [f"{metric_words(name)} {value:.3g}" for name, value in list(note.scores.items())[:2]]
    if not active or update is None:
        # What it reached comes before how long it took: at the end of a narrow window the last words are cut off.
        said = [f"{note.name}: {state} at step {note.step:,}", *scores, duration(note.seconds)]
        return " · ".join(said), None
    said = [f"{state} · step {note.step:,}", f"{update.images_per_second:.3g} images/s"]
    part = note.step / note.total_steps if note.total_steps else 0.0
    if update.seconds_left is not None:
        said.append(f"{duration(update.seconds_left)} left")
        whole = note.seconds + update.seconds_left
        part = max(part, note.seconds / whole if whole > 0 else 0.0)
    return " · ".join(said), part


def status_words(note: RunNote | None, series: RunSeries | None) -> tuple[Status, str, str]:
    """For the status line: a mark, words, and what they mean."""
    if note is None:
        return "idle", "nothing trained yet", "Press Start to begin a run."
    words = f"{note.name}: {STATES.get(note.state, note.state)} at step {note.step:,}"
    losses = None if series is None else series.known("smoothed_loss")[1]
    if losses is not None and len(losses):
        words += f", loss {losses[-1]:.4g} {note.loss_unit}".rstrip()
    return BADGES.get(note.state, "idle"), words, note.sentence or "The training run that is looked at."
