"""The plane while a run goes on, with a real training of a few flows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.requests.train import StartRun
from mrfstudio.engine.protocol.training import PlanePicture, TrainingPlan
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.workspaces.train.view import TrainView
from tests.ui.helpers.studio import Studio, studio_in

LONG = 120_000
FLOWS = TrainingPlan(
    "flow-mixture",
    "em",
    "points",
    minutes=None,
    options={"components": 2, "layers": 2, "width": 8, "count": 300, "epochs": 100_000.0},
)


@pytest.fixture
def studio(qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    monkeypatch.setenv("MRFSTUDIO_HOME", str(tmp_path / "home"))
    with studio_in(qtbot, theme, tmp_path) as studio:
        yield studio


def learning(studio: Studio) -> TrainView:
    """Train, with a run of flows that goes on."""
    studio.start()
    studio.window.show_workspace("train")
    workspace = studio.window.workspace
    assert isinstance(workspace, TrainView)
    studio.qtbot.waitUntil(lambda: workspace.choices is not None, timeout=LONG)
    workspace._begin(StartRun(FLOWS))
    studio.qtbot.waitUntil(lambda: workspace.stage.plane.picture is not None, timeout=LONG)
    return workspace


def test_the_plane_moves_between_snapshots_answers_the_brush_and_rests_where_one_looks_back(studio: Studio) -> None:
    workspace, seen = learning(studio), list[PlanePicture]()
    canvas = workspace.stage.plane
    workspace.followed.plane_shown.connect(seen.append)

    def moved() -> list[tuple[PlanePicture, PlanePicture]]:
        return [pair for pair in pairwise(seen) if pair[0] is not pair[1]]  # a snapshot of an earlier step repeats one

    studio.qtbot.waitUntil(lambda: len(moved()) >= 20, timeout=LONG)
    of_snapshots = workspace.shown_run.snapshot.plane.density.shape
    assert all(each.density.shape != of_snapshots for each in seen)  # it is not they that are shown
    assert all((one.density != other.density).any() for one, other in moved())
    studio.qtbot.waitUntil(lambda: canvas.picture is seen[-1], timeout=LONG)

    studio.qtbot.waitUntil(lambda: canvas.can_paint, timeout=LONG)
    before = len(canvas.picture.points)
    for _ in range(4):
        studio.qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.area().center().toPoint())
    studio.qtbot.waitUntil(lambda: len(canvas.picture.points) >= before + 16, timeout=LONG)
    studio.qtbot.mouseClick(canvas, Qt.MouseButton.RightButton, pos=canvas.area().center().toPoint())
    middle = np.array(canvas.at(canvas.area().center()))

    def emptied() -> bool:
        away = np.hypot(*(canvas.picture.points - middle).T)
        return bool((away > 0.9 * canvas.plane_radius).all())

    studio.qtbot.waitUntil(emptied, timeout=LONG)

    studio.qtbot.waitUntil(lambda: len(workspace.snapshots.steps) >= 2, timeout=LONG)
    shown, bar = list[int](), workspace.snapshots
    workspace.shown_run.snapshot_shown.connect(lambda snapshot: shown.append(snapshot.step))
    first, second = bar.steps[:2]
    bar.go_to(second)
    bar.go_near(0)  # before the other one is answered, which then comes too late
    studio.qtbot.waitUntil(lambda: first in shown, timeout=LONG)
    old, count, reached = canvas.picture, len(seen), workspace.series[workspace.active.run].last_step
    assert old is workspace.shown_run.snapshot.plane
    studio.qtbot.waitUntil(lambda: workspace.series[workspace.active.run].last_step > reached + 50, timeout=LONG)
    assert shown == [first]
    assert canvas.picture is old
    assert len(seen) == count
    second = bar.steps[1]  # another one, where snapshots were thinned out
    bar.slider.setSliderDown(True)  # somebody who drags sees what lies on the way
    bar.go_to(second)
    bar.go_to(first)
    studio.qtbot.waitUntil(lambda: shown == [first, second, first], timeout=LONG)
    bar.slider.setSliderDown(False)
    bar.follow.setChecked(True)
    studio.qtbot.waitUntil(lambda: len(seen) > count, timeout=LONG)

    workspace.stop_training()
    studio.qtbot.waitUntil(lambda: workspace.active is None, timeout=LONG)
    studio.qtbot.waitUntil(lambda: not workspace.followed._timer.isActive(), timeout=LONG)
