"""The runs of the Train workspace: which are drawn together, renaming, repeating, deleting, exporting, the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QWidget

from mrfstudio.engine.protocol.requests.train import DeleteRuns, ListRuns, OpenRun, RenameRun, RestoreRuns
from mrfstudio.engine.protocol.training import RunNote, RunView
from mrfstudio.ui.export.pictures import CSV, PNG, SVG, ExportError, ask_path, drawing_of, save_drawing, save_text
from mrfstudio.ui.style.keys import key_text
from mrfstudio.ui.window.actions import (
    COPY_COMMAND,
    DELETE_RUN,
    DUPLICATE_RUN,
    EXPORT_CURVES,
    REDO,
    RENAME_RUN,
    SHOW_RUNS,
    UNDO,
    ActionHandlers,
)
from mrfstudio.ui.workspaces.train.run_series import RunCurves, RunSeries

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.train.view import TrainView

MOST_DRAWN = 5
"""Runs drawn besides the one that is looked at: as many as there are colours."""


class TrainRuns(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: TrainView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._table = workspace.table
        self.drawn: dict[str, int] = {}
        """Runs that are drawn, by the number of their colour; 0 is the one that is looked at."""
        self._deleted: list[Mapping[str, str]] = []
        self._restored: list[Mapping[str, str]] = []
        """Names of runs that were deleted together, the last ones last: what Undo brings back and Redo takes again."""
        table = self._table
        table.opened.connect(self._open)
        table.drawn_changed.connect(self._tick)
        table.renamed.connect(self._rename)
        table.duplicate.connect(self._duplicate)
        table.delete.connect(self._delete_chosen)
        table.resume.connect(workspace.resume_run)
        for key, act in ((Qt.Key.Key_Delete, table.delete_chosen), (Qt.Key.Key_F2, table.rename_chosen)):
            shortcut = QShortcut(QKeySequence(key), table.view, act)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            RENAME_RUN: self.rename_run,
            DUPLICATE_RUN: self.duplicate_run,
            DELETE_RUN: self.delete_run,
            SHOW_RUNS: self.show_runs,
            UNDO: self.undo,
            REDO: self.redo,
            COPY_COMMAND: self.copy_command,
            EXPORT_CURVES: self.export_curves,
        }

    @property
    def _window(self) -> QWidget:
        return self._workspace.wall.window()

    @property
    def notes(self) -> list[RunNote]:
        return self._table.model.notes

    def alike(self) -> dict[int, int]:
        """Drawn runs that differ only in their seed: the number of each, and that of the first of them."""
        notes = {note.run: note for note in self._workspace.table.model.notes}
        first: dict[str, int] = {}
        found = {}
        for run, lane in self.drawn.items():
            if run in notes:
                plan = repr(replace(notes[run].plan, seed=0))
                found[lane] = first.setdefault(plan, lane)
        return found

    def curves(self) -> RunCurves:
        """The run that is looked at and the ticked ones, as plots draw them."""
        curves, shown = RunCurves(), self._workspace.shown_run.shown
        for run, lane in self.drawn.items():
            if run in self._workspace.series:
                curves.lanes[lane] = self._workspace.series[run]
                curves.titles[lane] = self.name_of(run)
        if self._table.average.isChecked():
            curves.alike = self.alike()
        curves.mark_changes(() if shown is None else shown.changes)
        return curves

    def name_of(self, run: str) -> str:
        return next((note.name for note in self.notes if note.run == run), run)

    # The table --------------------------------------------------------------------------------------------------------

    def set_notes(self, notes: Sequence[RunNote]) -> None:
        self._table.set_notes(notes)
        shown = self._workspace.shown_run.shown
        if shown is not None and not self._table.chosen:
            self._table.choose(shown.run)

    def set_note(self, note: RunNote) -> None:
        self._table.set_note(note)

    def refresh(self) -> None:
        """Read all runs again."""
        self._workspace.controller.ask(ListRuns(), self.set_notes)

    def draw_shown(self) -> None:
        """The run that is looked at has the first colour; ticked ones keep theirs."""
        shown = self._workspace.shown_run.shown
        others = {run: lane for run, lane in self.drawn.items() if lane and (shown is None or run != shown.run)}
        self.drawn = ({shown.run: 0} if shown is not None else {}) | others
        self._table.set_drawn(self.drawn)
        if shown is not None and not self._table.chosen:
            self._table.choose(shown.run)
        self._workspace.draw_runs()

    def _tick(self, run: str, on: bool) -> None:
        shown = self._workspace.shown_run.shown
        if shown is not None and run == shown.run:
            self._say("The run that is looked at is always drawn.")
            self._table.set_drawn(self.drawn)
        elif not on:
            self.drawn.pop(run, None)
            self.draw_shown()
        else:
            self._draw_too(run)

    def _draw_too(self, run: str) -> None:
        free = [lane for lane in range(1, MOST_DRAWN + 1) if lane not in self.drawn.values()]
        if not free:
            self._say(f"{MOST_DRAWN + 1} runs are drawn already: untick one first.")
            self._table.set_drawn(self.drawn)
            return
        self.drawn[run] = free[0]
        if run in self._workspace.series:
            self.draw_shown()
        else:
            self._workspace.controller.ask(OpenRun(run), self._drawn_read)

    def _drawn_read(self, view: RunView) -> None:
        self._workspace.series[view.note.run] = RunSeries(view.columns)
        self.draw_shown()

    # Actions ----------------------------------------------------------------------------------------------------------

    def _open(self, run: str) -> None:
        self._workspace.shown_run.open(run)
        self._workspace.tabs.setCurrentIndex(0)

    def rename_run(self) -> None:
        self._workspace.tabs.setCurrentIndex(1)
        self._table.rename_chosen()

    def duplicate_run(self) -> None:
        self._table.duplicate_chosen()

    def delete_run(self) -> None:
        self._table.delete_chosen()

    def show_runs(self) -> None:
        """To the table, and from there to what is watched."""
        tabs = self._workspace.tabs
        tabs.setCurrentIndex(0 if tabs.currentIndex() == 1 else 1)
        (self._table.view if tabs.currentIndex() else self._workspace.wall).setFocus()

    def _rename(self, run: str, name: str) -> None:
        def renamed(note: RunNote) -> None:
            self._table.set_note(note)
            shown = self._workspace.shown_run.shown
            if shown is not None and shown.run == run:
                self._workspace.shown_run.shown = note
                self._workspace.show_state()

        self._workspace.controller.ask(RenameRun(run, name), renamed)

    def _duplicate(self, run: str) -> None:
        note = next(each for each in self.notes if each.run == run)
        if self._workspace.active is not None:
            self._say(f"The run {self._workspace.active.name!r} goes on with the plan in the form: stop it first.")
            return
        self._workspace.plan.show_plan(note.plan, "")
        self._say(f"The plan of {note.name} is in the form: change what you like, then press Start.")

    # Deleting ---------------------------------------------------------------------------------------------------------

    @property
    def undoable(self) -> tuple[str, str]:
        """What Undo and Redo would do, in words."""
        undo, redo = (f"Delete {_names(stack[-1])}" if stack else "" for stack in (self._deleted, self._restored))
        return undo, redo

    def undo(self) -> None:
        """Bring back what was deleted last."""
        if self._deleted:
            runs = self._deleted.pop()
            self._restored.append(runs)
            self._workspace.controller.ask(RestoreRuns(tuple(runs)), lambda _: self._restored_now(runs))

    def redo(self) -> None:
        """Delete again what was brought back."""
        if self._restored:
            self._delete(self._restored.pop())

    def _delete_chosen(self, runs: list[str]) -> None:
        self._restored.clear()
        self._delete({run: self.name_of(run) for run in runs})

    def _delete(self, runs: Mapping[str, str]) -> None:
        self._workspace.controller.ask(DeleteRuns(tuple(runs)), lambda _: self._deleted_now(runs))

    def _deleted_now(self, runs: Mapping[str, str]) -> None:
        self._deleted.append(runs)
        for run in runs:
            self.drawn.pop(run, None)
            self._workspace.series.pop(run, None)
        shown = self._workspace.shown_run.shown
        if shown is not None and shown.run in runs:
            self._workspace.shown_run.look_at(None)
        else:
            self.draw_shown()
        self._workspace.show_state()
        self.refresh()
        self._say(f"Deleted: {_names(runs)}. Undo ({key_text('Ctrl+Z')}) brings this back, for an hour.")

    def _restored_now(self, runs: Mapping[str, str]) -> None:
        if self._workspace.shown_run.shown is None:  # it was looked at before
            self._workspace.shown_run.open(next(iter(runs)))
        self.refresh()
        self._say(f"Brought back: {_names(runs)}.")

    # Out --------------------------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        """The `mrfstudio train` line of the run that is looked at, or of the plan where there is none."""
        shown = self._workspace.active or self._workspace.shown_run.shown
        if shown is None and self._workspace.choices is None:
            return
        plan = shown.plan if shown is not None else self._workspace.plan.plan()
        line = plan.command(f"{shown.name if shown is not None else 'model'}.safetensors".replace(" ", "-"))
        QApplication.clipboard().setText(line)
        self._say(f"Copied: {line}")

    def export_curves(self) -> None:
        plots, shown = self._workspace.plots, self._workspace.shown_run.shown
        if plots is None or shown is None:
            self._say("There are no curves yet: start a run first.")
            return
        name = f"{shown.name.replace(' ', '-')}-curves.png"
        path = ask_path(self._window, self._workspace.settings, "Export curves", name, [PNG, SVG, CSV])
        if path is None:
            return
        try:
            if path.suffix.lower() == ".csv":
                save_text(plots.curves.to_csv(), path)
            else:
                save_drawing(drawing_of(plots), path, shown.name)
        except ExportError as error:
            self._say(str(error))
        else:
            self._say(f"Written: {path}")

    def _say(self, sentence: str) -> None:
        self._workspace.controller.message.emit(sentence)


def _names(runs: Mapping[str, str]) -> str:
    names = list(runs.values())
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
