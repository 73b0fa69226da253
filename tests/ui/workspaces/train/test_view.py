"""The Train workspace, driven by hand with a real training that takes seconds."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mrfstudio.engine.families.grid.model import Grid
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import LEARNERS, MODELS
from mrfstudio.engine.training.runs.child import train_run
from mrfstudio.engine.training.runs.store import RunStore
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.workspaces.train.view import TrainView
from tests.ui.helpers.processes import child_processes
from tests.ui.helpers.studio import Studio, studio_in

TINY = TrainingPlan(
    "grid",
    "query",
    "border",
    minutes=None,
    options={
        "clones": 8,
        "count": 8,
        "validation": 4,
        "test": 0,
        "batch_size": 2,
        "iterations": 3,
        "first_iterations": 2,
        "readouts": 2,
        "crop": 8,
        "validate_every": 2,
        "validation_items": 2,
        "epochs": 500.0,
    },
)
LONG = 120_000


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of six steps, trained in this process."""
    store = RunStore(tmp_path_factory.mktemp("made"))
    options = {**TINY.options, "epochs": 1.5}
    run = store.create(TrainingPlan("grid", "query", "border", minutes=None, seed=5, options=options), "first run")
    train_run(str(store.path(run)), snapshot_seconds=0.0)
    return store.path(run)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MRFSTUDIO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def studio(qtbot: QtBot, theme: Theme, tmp_path: Path, home: Path) -> Iterator[Studio]:
    with studio_in(qtbot, theme, tmp_path) as studio:
        yield studio


def opened(studio: Studio) -> TrainView:
    """Show the window with the Train workspace, loaded."""
    studio.start()
    studio.window.show_workspace("train")
    workspace = studio.window.workspace
    assert isinstance(workspace, TrainView)
    until(studio, lambda: workspace.choices is not None)
    return workspace


def until(studio: Studio, fact: Callable[[], bool]) -> None:
    studio.qtbot.waitUntil(fact, timeout=LONG)


def put_runs(home: Path, finished: Path, *names: str) -> RunStore:
    """Copies of a finished run, as if they had been trained on other days."""
    store = RunStore(home / "runs")
    for number, name in enumerate(names):
        run = f"2026010{number}-000000-abcdef"
        shutil.copytree(finished, store.folder / run)
        store.rename(run, name)
    return store


def row(workspace: TrainView, name: str) -> int:
    return next(index for index, note in enumerate(workspace.table.model.notes) if note.name == name)


# Plans ----------------------------------------------------------------------------------------------------------------


def test_the_first_plan_is_ready_to_start_and_every_registered_part_can_be_chosen(studio: Studio) -> None:
    workspace = opened(studio)
    assert studio.window.isActiveWindow()  # no part of it was shown as a window of its own
    assert workspace.wall.hasFocus()
    assert workspace.bar.start_button.isEnabled()
    assert workspace.plan.plan() == Grid.demonstration
    models = {workspace.plan.model.box.itemData(index) for index in range(workspace.plan.model.box.count())}
    assert models == {cls.name for cls in MODELS if cls.trainable()}
    learners = {workspace.plan.learner.box.itemData(index) for index in range(workspace.plan.learner.box.count())}
    assert learners == {cls.name for cls in LEARNERS if "grid" in (cls.kinds() or ("grid",))}  # type: ignore[attr-defined]
    assert not workspace.bar.pause_button.isEnabled()
    assert "Press Start" in workspace.wall.empty_text
    assert studio.window.windowTitle().startswith("Train")
    assert studio.window.badge.text == "nothing trained yet"
    assert not studio.window.actions_["save"].isEnabled()
    studio.do("copy_command")
    assert QApplication.clipboard().text() == Grid.demonstration.command("model.safetensors")
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QAbstractSpinBox)
    for part in (workspace.plan.model, workspace.plan.learner, workspace.plan.data):
        part.fold.setChecked(True)
    own = [w for w in studio.window.findChildren(QWidget) if isinstance(w, kinds) and w.isVisible()]
    silent = [w for w in own if not w.toolTip() and not isinstance(w, QScrollBar) and "qt_" not in w.objectName()]
    assert silent == []
    plan = workspace.plan
    plan.learner.form.row("learning_rate").editor.edited.emit(0.2)  # type: ignore[attr-defined]
    assert plan.plan().options["learning_rate"] == 0.2
    for choice in workspace.choices.models if workspace.choices else ():
        plan.model.chosen.emit(choice.entry.name)
        assert plan.plan().model == choice.entry.name
        if choice.demonstration is not None:  # it comes back whenever its model is chosen
            brought, wanted = plan.plan(), choice.demonstration
            assert (brought.learner, brought.data, brought.minutes) == (wanted.learner, wanted.data, wanted.minutes)
            assert brought.options.items() <= wanted.options.items()  # but for what is the default anyway
            continue
        assert plan.plan().data == (choice.data or plan.data.name)
        assert plan.plan().minutes is None
        assert not set(plan.plan().options)  # what suits a model is where its form begins
    studio.window.show_workspace("segment")
    assert studio.window.actions_["save"].isEnabled()


# A run ----------------------------------------------------------------------------------------------------------------


def test_a_run_is_watched_paused_stepped_changed_looked_back_used_and_stopped(studio: Studio, home: Path) -> None:
    workspace = opened(studio)
    workspace.plan.show_plan(TINY, "by hand")
    studio.qtbot.mouseClick(workspace.bar.start_button, Qt.MouseButton.LeftButton)
    until(studio, lambda: workspace.active is not None)
    assert not workspace.bar.start_button.isEnabled()
    assert "reading the data" in workspace.bar.words.text()
    until(studio, lambda: workspace.shown_run.snapshot is not None and workspace.active.step > 2)  # type: ignore[union-attr]
    assert "images/s" in workspace.bar.words.text()
    assert workspace.shown_run.snapshot is not None
    assert [panel.title for panel in workspace.shown_run.snapshot.queries[0]] == ["given", "answer", "truth"]
    assert len(workspace.picture.panels) == 8 + 4

    studio.qtbot.keyClick(workspace.wall, Qt.Key.Key_Space)
    until(studio, lambda: workspace.active is not None and workspace.active.state == "paused")
    until(studio, lambda: workspace.series[workspace.shown_run.run].last_step == workspace.active.step)  # type: ignore[union-attr]
    paused = workspace.active.step  # type: ignore[union-attr]
    assert workspace.bar.pause_button.text() == "Resume"
    assert studio.window.badge.text.startswith(f"by hand: paused at step {paused}, loss ")
    studio.qtbot.keyClick(workspace.wall, Qt.Key.Key_Period)
    until(studio, lambda: workspace.active.step == paused + 1)  # type: ignore[union-attr]
    series = workspace.series[workspace.shown_run.run]
    until(studio, lambda: series.last_step == paused + 1)
    assert series.column("step").tolist() == list(range(1, paused + 2))

    workspace.plan.learner.form.row("learning_rate").editor.edited.emit(0.05)  # type: ignore[attr-defined]
    assert not workspace.plan.learner.form.row("batch_size").isEnabled()
    studio.do("step")
    until(studio, lambda: workspace.active.options.get("learning_rate") == 0.05)  # type: ignore[union-attr]
    assert workspace.plots is not None
    until(studio, lambda: [m.words for m in workspace.plots.loss.content.marks] == ["learning rate 0.05"])

    until(studio, lambda: len(workspace.snapshots.steps) > 1)  # the one of the pause is written after it is told
    workspace.snapshots.slider.setValue(0)
    until(studio, lambda: workspace.shown_run.snapshot is not None and workspace.shown_run.snapshot.step == 0)
    assert not workspace.snapshots.following
    assert workspace.plots is not None
    assert workspace.plots.loss.iteration == 0
    workspace.plots.picked.emit(10**6)  # after all snapshots: also after those that are still on their way
    assert workspace.snapshots.following
    until(studio, lambda: workspace.shown_run.snapshot.step == workspace.snapshots.steps[-1])  # type: ignore[union-attr]

    name = f"by-hand-{workspace.shown_run.snapshot.step}"
    studio.do("use_model_now")
    until(studio, lambda: "is now the model of Segment" in studio.window.message_bar.text.text())
    assert (home / "models" / f"{name}.safetensors").exists()
    studio.window.show_workspace("segment")
    studio.until(lambda: studio.frame.lanes[0].model == name)
    before = workspace.active.step  # type: ignore[union-attr]
    workspace.step()
    until(studio, lambda: workspace.active.step == before + 1)  # type: ignore[union-attr]
    assert workspace.table.model.notes[0].step == before  # what nobody sees is not drawn
    studio.window.show_workspace("train")
    assert workspace.table.model.notes[0].step == before + 1

    studio.do("play_pause")
    until(studio, lambda: workspace.active is not None and workspace.active.state == "running")
    studio.do("stop_training")
    assert "stopping" in workspace.bar.words.text()
    assert not workspace.bar.pause_button.isEnabled()
    until(studio, lambda: workspace.active is None)
    assert workspace.shown_run.shown is not None
    assert workspace.shown_run.shown.state == "stopped"
    assert "Stopped as asked" in studio.messages[-1]
    assert workspace.bar.pause_button.text() == "Resume"
    assert workspace.plan.learner.form.row("batch_size").isEnabled()
    until(studio, lambda: [note.name for note in workspace.table.model.notes] == ["by hand"])
    assert np.isfinite(series.column("loss")).all()

    # A run that is stopped before its first step stays, to go on or to be deleted by hand.
    workspace.plan.show_plan(TINY, "withdrawn")
    studio.do("start_training")
    until(studio, lambda: workspace.active is not None)
    workspace.stop_training()
    until(studio, lambda: workspace.active is None)
    until(studio, lambda: {note.name for note in workspace.table.model.notes} == {"by hand", "withdrawn"})
    assert workspace.shown_run.shown is not None
    assert workspace.shown_run.shown.name == "withdrawn"
    assert workspace.shown_run.shown.resumable


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_run_whose_process_dies_is_interrupted_and_closing_the_window_leaves_nothing(
    studio: Studio, home: Path
) -> None:
    workspace = opened(studio)
    workspace.plan.show_plan(TINY, "unlucky")
    studio.do("start_training")
    until(studio, lambda: workspace.active is not None and workspace.active.step > 0)
    lock = home / "runs" / workspace.shown_run.run / "lock"
    assert lock.exists()
    for child in child_processes():
        os.kill(child, signal.SIGKILL)
    until(studio, lambda: workspace.active is None)
    assert workspace.shown_run.shown is not None
    assert workspace.shown_run.shown.state == "interrupted"
    studio.qtbot.mouseClick(workspace.bar.pause_button, Qt.MouseButton.LeftButton)
    until(studio, lambda: workspace.active is not None and workspace.active.step > 0)
    assert studio.window.close()  # while it runs: the fixture sees that no process is left
    studio.qtbot.waitUntil(lambda: not studio.thread.alive, timeout=LONG)
    note = RunStore(home / "runs").all()[0]
    assert (note.name, note.state) == ("unlucky", "interrupted")


# The table ------------------------------------------------------------------------------------------------------------


def test_yesterdays_runs_are_there_compared_renamed_repeated_and_deleted(
    studio: Studio, home: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_runs(home, finished, "old", "middle", "new")
    (home / "runs" / "20250101-000000-ffffff").mkdir()
    workspace = opened(studio)
    until(studio, lambda: workspace.shown_run.snapshot is not None)
    assert workspace.shown_run.shown is not None
    assert workspace.shown_run.shown.name == "new"
    assert workspace.bar.words.text().startswith("new: finished at step 6")
    studio.qtbot.keyClick(workspace.wall, Qt.Key.Key_Space)
    assert workspace.active is None
    assert "has ended" in studio.messages[-1]
    assert "More time" in studio.messages[-1]
    assert workspace.bar.pause_button.text() == "More time"
    table, plots = workspace.table, workspace.plots
    assert plots is not None
    assert [note.state for note in table.model.notes][-1] == "damaged"
    assert list(plots.curves.lanes) == [0]

    studio.do("show_runs")
    assert workspace.tabs.currentIndex() == 1
    index = table.model.index(row(workspace, "old"), 0)
    table.model.setData(index, Qt.CheckState.Checked.value, Qt.ItemDataRole.CheckStateRole)
    until(studio, lambda: set(plots.curves.lanes) == {0, 1})
    assert plots.curves.titles == {0: "new", 1: "old"}
    monkeypatch.setattr(
        "mrfstudio.ui.export.pictures.QFileDialog.getSaveFileName",
        lambda *_: (str(tmp_path / "c.csv"), "CSV table (*.csv)"),
    )
    studio.do("export_curves")
    lines = (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 6
    assert lines[1].startswith("new,1,")

    table.model.setData(index, "ancient", Qt.ItemDataRole.EditRole)
    until(studio, lambda: "ancient" in [note.name for note in table.model.notes])
    table.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    shown = [table.sorted.index(number, 0).data() for number in range(3)]
    assert shown[1:] == ["ancient", "middle"]

    table.choose(table.model.notes[row(workspace, "middle")].run)
    table.view.setFocus()
    table.view.selectionModel().setCurrentIndex(
        table.view.currentIndex().siblingAtColumn(1), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    studio.qtbot.keyClick(table.view, Qt.Key.Key_F2)  # from any column
    editor = table.view.viewport().findChild(QLineEdit)
    assert editor is not None
    assert editor.text() == "middle"
    studio.qtbot.keyClick(editor, Qt.Key.Key_Escape)
    studio.do("duplicate_run")
    assert workspace.plan.plan().seed == 5
    assert workspace.plan.plan().options["clones"] == 8

    table.choose(table.model.notes[row(workspace, "new")].run)
    names = lambda: [note.name for note in table.model.notes]  # noqa: E731
    assert not studio.window.actions_["undo"].isEnabled()
    studio.do("delete_run")
    until(studio, lambda: "new" not in names())
    assert "Undo" in studio.messages[-1]
    assert studio.window.actions_["undo"].text() == "Undo delete new"
    studio.do("undo")
    until(studio, lambda: "new" in names() and workspace.shown_run.shown is not None)
    assert workspace.shown_run.shown is not None
    assert workspace.shown_run.shown.name == "new"
    studio.do("redo")
    until(studio, lambda: "new" not in names())
    assert workspace.shown_run.shown is None
    assert workspace.shown_run.snapshot is None
    until(studio, lambda: studio.window.badge.text == "no run in view")
    assert {note.name for note in RunStore(home / "runs").all()} >= {"ancient", "middle"}
    table.choose(table.model.notes[row(workspace, "middle")].run)
    studio.qtbot.mouseClick(table.buttons["show"], Qt.MouseButton.LeftButton)
    until(studio, lambda: workspace.shown_run.shown is not None and workspace.shown_run.shown.name == "middle")
    studio.do("copy_command")
    assert "--seed 5" in QApplication.clipboard().text()
