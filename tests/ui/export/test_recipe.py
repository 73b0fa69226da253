"""The line beside a figure makes the same figure again."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.cli import main
from mrfstudio.engine.protocol.commands import AddLane, NewGraph, SetSpeed, SetStrength
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.studio import Ping
from mrfstudio.ui.export.figure_dialog import FigureDialog
from mrfstudio.ui.export.headless import headless_window, wait_until
from mrfstudio.ui.export.recipe import PlotLook, chosen
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.window.main_window import MainWindow


def settle(window: MainWindow) -> None:
    answered: list[object] = []
    window.controller.ask(Ping(), answered.append)

    def quiet() -> bool:
        frame = window.controller.newest
        return bool(answered) and frame is not None and not frame.playing and window.controller.answered

    wait_until(quiet, [])


def written(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())


def paths(path: Path) -> list[str]:
    """The shapes of a drawing, whatever it is called."""
    return re.findall(r'<(?:path|polyline|rect|circle|ellipse) [^>]*?(?:d|points)="([^"]*)"', path.read_text())


def test_the_line_beside_a_figure_makes_it_again(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    for folder in (first, again):
        folder.mkdir()
    with headless_window() as window:
        wait_until(lambda: window.controller.engine is not None, [])
        window.choose_workspace("graph")
        wait_until(lambda: window.controller.newest is not None, [])
        for command in (SetSpeed(None), NewGraph("ring", {"nodes": 6}), SetStrength("coupling", 0.9)):
            window.controller.post(command)
        settle(window)
        window.controller.post(AddLane(window.controller.newest.lanes[0].model, "trw", {}))  # type: ignore[union-attr]
        settle(window)
        residual, energy = (
            next(plot for plot in window.showing.plots() if plot.content.title == title)
            for title in ("residual", "free energy")
        )
        residual.set_logarithmic(x=True, y=False)
        residual.set_smoothing(0.4)
        energy.content.switch(1)
        energy.zoom_x = (3.0, 20.0)
        window.actions_["export_figure"].trigger()
        dialog = next(each for each in QApplication.topLevelWidgets() if isinstance(each, FigureDialog))
        dialog.canvas.setChecked(True)
        for box in dialog.boxes:
            box.setChecked(box.text() in ("residual", "free energy"))
        dialog.millimetres.setValue(140)
        dialog.columns.setValue(3)
        dialog.points.setValue(7)
        assert dialog.save(first / "f.svg")
        settle(window)
        dialog.close()
    line = (first / "f.txt").read_text()
    (again / "f.mrfs").write_bytes((first / "f.mrfs").read_bytes())
    monkeypatch.chdir(again)
    program, *words = shlex.split(line)
    assert (program, words[:2]) == ("mrfstudio", ["replay", "f.mrfs"])
    assert main(words) == 0
    for name in ("f.csv", "f.txt"):
        assert (again / name).read_text() == (first / name).read_text()
    assert written(again / "f.svg") == written(first / "f.svg")
    assert len(paths(first / "f.svg")) > 20
    assert paths(again / "f.svg") == paths(first / "f.svg")


def test_looks_are_said_in_words_and_read_again(qtbot: QtBot) -> None:
    look = PlotLook("free energy", True, False, 0.25, "second", (0.5, 2.0), (-3.0, 1e-9), (1, 3))
    assert PlotLook.from_words(look.words) == look
    assert PlotLook.from_words("residual") == PlotLook("residual")
    content = Content("residual", "", "", "iteration")
    content.lines = [PlotLine(key, f"{key}", np.arange(9.0), np.arange(9.0), lane_paint(key)) for key in (0, 1)]
    plot = Plot(content)
    qtbot.addWidget(plot)
    (shown,) = chosen([plot], "residual:y=log:without=1:part=1.0..4.0")
    assert shown is plot
    assert PlotLook.of(plot) == PlotLook("residual", log_y=True, part=(1.0, 4.0), without=(1,))


@pytest.mark.parametrize("words", ["no such plot", "residual:smooth=much", "residual:nothing", "residual:part=1"])
def test_words_that_say_nothing_are_refused_in_a_sentence(words: str, qtbot: QtBot) -> None:
    plot = Plot(Content("residual", "", "", "iteration"))
    qtbot.addWidget(plot)
    with pytest.raises(StudioError, match=r"\.$"):
        chosen([plot], words)
