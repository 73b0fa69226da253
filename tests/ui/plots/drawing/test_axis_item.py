"""The numbers beside an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.plot import Plot
from tests.ui.helpers.widgets import shown


def plot_of(qtbot: QtBot, low: float, high: float, width: int = 420) -> Plot:
    made = Content("log Z", "nats", "How large.", "iteration")
    heights = np.linspace(low, high, 20)
    made.lines = [PlotLine(0, "run", np.arange(1.0, 21), heights, lambda colours: QColor(colours.text), 0)]
    made.present = 1.0
    plot = shown(qtbot, Plot(made), width, 220)
    plot.grab()
    return plot


def numbers(plot: Plot) -> list[str]:
    return [text for _, _, text in plot.body.left._specs[2]]


def test_a_number_that_is_too_long_keeps_its_first_digits(qtbot: QtBot) -> None:
    """Without them it would be another number."""
    long = numbers(plot_of(qtbot, -140014.0141, -140014.0140, 160))
    assert len(long) >= 2
    assert all(text.startswith("-14") and text.endswith("…") for text in long)
    assert numbers(plot_of(qtbot, 1.0, 2.0))[0].rstrip("0").rstrip(".") in ("2", "1.8", "1.75")


def test_the_axis_is_as_wide_as_numbers_need_to_differ(qtbot: QtBot) -> None:
    usual = plot_of(qtbot, 1.0, 2.0).area().left()
    for low, high in ((-14.0141, -14.0139), (-140014.0141, -140014.0140)):
        plot = plot_of(qtbot, low, high)
        texts = numbers(plot)
        assert len(set(texts)) == len(texts) >= 2
        assert all(low - 1e-3 < float(text) < high + 1e-3 for text in texts)
        assert plot.area().left() > usual
        assert plot.area().left() >= max(plot.fontMetrics().horizontalAdvance(text) for text in texts)
        inside = plot.body.area().translated(plot.body.pos())
        assert inside.topLeft().toPoint() == plot.area().topLeft().toPoint()
        plot.content.lines = [replace(plot.content.lines[0], y=np.linspace(1.0, 2.0, 20))]
        plot.content.tell()
        plot.reset()
        plot.now()
        assert plot.area().left() == usual
