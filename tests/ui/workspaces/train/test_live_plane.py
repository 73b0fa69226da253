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


def test_the_plane_moves_between_snapshots_and_answers_the_brush(studio: Studio) -> None:
    workspace, seen = learning(studio), list[PlanePicture]()
    canvas = workspace.stage.plane
    workspace.followed.plane_shown.connect(seen.append)
    studio.qtbot.waitUntil(lambda: len(seen) >= 20, timeout=LONG)
    assert len(workspace.snapshots.steps) < 20  # it is not they that are shown
    assert all((one.density != other.density).any() for one, other in pairwise(seen))
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

    workspace.stop_training()
    studio.qtbot.waitUntil(lambda: workspace.active is None, timeout=LONG)
    studio.qtbot.waitUntil(lambda: not workspace.followed._timer.isActive(), timeout=LONG)
