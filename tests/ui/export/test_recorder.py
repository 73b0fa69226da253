"""A run as an animation: every iteration, and the session is where it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPushButton

from mrfstudio.engine.protocol.commands import Scrub
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.ui.export.headless import film
from mrfstudio.ui.export.recorder import LARGEST_SIDE, LAST, MILLISECONDS, as_array, evenly
from tests.ui.helpers.studio import Studio


def milliseconds(path: Path) -> int:
    """How long an animation plays."""
    with Image.open(path) as animation:
        total = 0
        for number in range(animation.n_frames):
            animation.seek(number)
            animation.load()
            total += animation.info["duration"]
    return total


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_the_menu_records_every_iteration_and_returns_to_where_it_was(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"run.{ending}"
    monkeypatch.setattr("mrfstudio.ui.export.pictures.QFileDialog.getSaveFileName", lambda *_: (str(path), ""))
    studio.controller.post(Scrub(9))
    studio.until(lambda: studio.frame.iteration == 9)
    shown = as_array(studio.canvas.drawing().image())
    studio.do("export_animation")
    studio.until(lambda: f"Written: {path}" in studio.messages)
    studio.settle()
    assert studio.frame.iteration == 9
    with Image.open(path) as animation:
        assert animation.n_frames == 16  # before the first iteration, and after each of 15
        animation.seek(9)
        drawn = np.asarray(animation.convert("RGB")).astype(int)
    assert drawn.shape == shown.shape
    assert np.abs(drawn - shown).mean() < 3


def test_cancelling_writes_nothing_and_goes_back(studio: Studio, tmp_path: Path) -> None:
    recorder = studio.segment.files.recorder
    ended: list[str] = []
    recorder.finished.connect(ended.append)
    recorder.record(tmp_path / "run.gif")
    assert recorder.progress is not None
    button = recorder.progress.findChild(QPushButton)
    assert button is not None
    studio.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    studio.settle()
    recorder.finished.disconnect(ended.append)
    assert ended == [""]
    assert recorder.progress is None
    assert studio.frame.iteration == 15
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(studio: Studio, tmp_path: Path) -> None:
    studio.segment.files.recorder.record(tmp_path / "nowhere" / "run.gif")
    studio.until(lambda: any("choose another place" in message for message in studio.messages))
    studio.settle()
    assert list(tmp_path.iterdir()) == []


def test_the_command_films_a_saved_session(studio: Studio, tmp_path: Path) -> None:
    session, out = tmp_path / "mine.mrfs", tmp_path / "mine.gif"
    studio.window.show_workspace("graph")
    studio.window.workspace.start()
    studio.until(lambda: studio.frame.workspace == "graph" and studio.frame.newest > 3 and not studio.frame.playing)
    count = studio.frame.newest + 1
    studio.window.files.save_to(session)
    studio.qtbot.waitUntil(session.exists, timeout=30_000)
    film(session, out)
    assert milliseconds(out) == (count - 1) * MILLISECONDS + LAST  # equal pictures may be one that stays longer
    with pytest.raises(StudioError, match=r"\.gif or \.webp"):
        film(session, tmp_path / "mine.mp4")


def test_long_runs_are_thinned_and_large_canvases_made_smaller() -> None:
    assert evenly(0, 4, 200) == [0, 1, 2, 3, 4]
    thinned = evenly(3, 1000, 200)
    assert (thinned[0], thinned[-1], len(thinned)) == (3, 1000, 200)
    image = QImage(3 * LARGEST_SIDE, LARGEST_SIDE, QImage.Format.Format_RGB32)
    image.fill("#102030")
    array = as_array(image)
    assert array.shape == (LARGEST_SIDE // 3, LARGEST_SIDE, 3)
    assert (array == (16, 32, 48)).all()
