"""The tour draws every workspace and dialog of the real window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.ui.export.tour import Tour, draw_plots, ring
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.plots.pace import PlotPace
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.window import app
from mrfstudio.ui.window.display import has_display
from tests.ui.helpers.studio import Studio


def test_every_picture_is_drawn_and_none_is_blank(
    shared: Studio, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tour, "training_steps", 2)
    shared.begin(qtbot)
    paths = Tour(shared.window, tmp_path, "dark").all()
    names = {path.stem.removesuffix("-dark") for path in paths}
    assert {"segment", "segment-hints", "segment-compare", "segment-clones", "dialog-contours"} <= names
    assert {
        "inpaint",
        "inpaint-deviation",
        "inpaint-sample",
        "inpaint-units",
        "inpaint-compare",
        "dialog-crop",
        "converge-comparison",
    } <= names
    assert {"train", "train-runs", "photograph", "repair"} <= names
    assert {"converge", "converge-ring", "converge-map", "converge-large"} <= names
    for path in paths:
        image = QImage(str(path))
        colours = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
        assert len(colours) > 5, path
    shared.window.appearance.set_theme("light")
    shared.tidy()


def test_a_picture_does_not_miss_plots_that_wait_for_their_turn(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    plot = Plot(Content("residual"), parent=holder)
    holder.show()
    monkeypatch.setattr(PlotPace, "ask", lambda pace: None)  # its turn does not come
    steps = np.arange(5.0)
    plot.content.lines = [PlotLine(0, "bp", steps, steps, lane_paint(0), 0)]
    plot.refresh()
    assert not plot.body.isVisible()
    draw_plots(holder)
    assert plot.body.isVisible()


def test_without_a_display_the_command_draws_the_tour_and_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(tmp_path)
    asked: list[Path] = []
    monkeypatch.setattr("mrfstudio.ui.export.tour.render", lambda out: asked.append(out) or [out / "a.png"])
    assert app.open_window() == 0
    assert asked == [tmp_path / app.TOUR_FOLDER]
    assert str(tmp_path / app.TOUR_FOLDER) in capsys.readouterr().out


def test_a_platform_asked_for_by_name_is_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert has_display()


def test_the_ring_is_dark_on_light() -> None:
    picture = ring()
    assert picture.min() < 0.3
    assert picture[0, 0] > 0.9
