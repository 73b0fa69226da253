"""Plots take turns, so that the event loop is never held up by all of them."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots import pace
from mrfstudio.ui.plots.content import Content, Crosshair, PlotLine
from mrfstudio.ui.plots.plot import Plot
from tests.ui.helpers.widgets import shown


def content() -> Content:
    made = Content("residual", "nats", "What is left.", "iteration")
    x = np.arange(20.0)
    made.lines = [PlotLine(0, "line", x, x / 20, lambda colours: QColor(colours.accent))]
    return made


def test_many_plots_take_turns_and_the_event_loop_has_as_long_as_each_took(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    plots = [shown(qtbot, Plot(content()), 200, 120) for _ in range(4)]
    qtbot.waitUntil(lambda: not any(each._pace._timer.isActive() for each in plots), timeout=60_000)
    now, drawn = 100.0, []
    monkeypatch.setattr(pace, "_TURNS", pace._Turns())
    monkeypatch.setattr(pace, "time", SimpleNamespace(perf_counter=lambda: now))

    def draw(index: int) -> None:
        nonlocal now
        drawn.append(index)
        now += 0.004

    for index, each in enumerate(plots):
        monkeypatch.setattr(each._pace, "_redraw", partial(draw, index))
    for each in plots:
        each.refresh()
    assert drawn == [0]
    now += 0.003
    qtbot.wait(10)
    assert drawn == [0], "the next one begins before the event loop had its 4 ms"
    now += 0.002
    qtbot.waitUntil(lambda: len(drawn) > 1, timeout=60_000)
    qtbot.wait(10)
    assert drawn == [0, 1]
    plots[2]._pace.deleteLater()  # as when a plot is closed
    for each in plots[:2]:
        each.refresh()  # once more, and behind the one that waits
    while len(drawn) < 5:
        now += 0.01
        qtbot.wait(2)
    assert drawn == [0, 1, 3, 0, 1]


def test_the_crosshair_of_many_plots_is_painted_in_turns_and_stands_right_at_once(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross, painted = Crosshair(), list[int]()
    plots = [shown(qtbot, Plot(content(), cross), 200, 120) for _ in range(4)]
    qtbot.waitUntil(lambda: not any(each._pace._timer.isActive() for each in plots), timeout=60_000)
    now = 100.0
    monkeypatch.setattr(pace, "_TURNS", pace._Turns())
    monkeypatch.setattr(pace, "time", SimpleNamespace(perf_counter=lambda: now))
    for index, each in enumerate(plots):
        monkeypatch.setattr(each._pace, "_look", partial(painted.append, index))
    cross.move(7.0)
    assert painted == [0]
    assert all(each.body.cross_at() is not None for each in plots)
    qtbot.wait(20)
    assert painted == [0], "the next one is painted before the event loop had its time"
    for count in (2, 3, 4):
        now += 0.01
        qtbot.waitUntil(lambda count=count: len(painted) == count, timeout=60_000)  # type: ignore[misc]
    assert painted == [0, 1, 2, 3]
