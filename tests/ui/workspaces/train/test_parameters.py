"""Parameters over time: histograms of every tensor, gradients beside them, and what the axis counts."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.training import ParameterHistory, TensorHistory
from mrfstudio.ui.plots.content import PlotMark
from mrfstudio.ui.plots.menu import menu_of
from mrfstudio.ui.style.colours import DARK, LIGHT
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.workspaces.train.parameters import ParameterPlots, SpreadPlot
from mrfstudio.ui.workspaces.train.run_plots import LOSS, StepPlot
from mrfstudio.ui.workspaces.train.run_series import RunCurves, RunSeries
from tests.ui.helpers.widgets import shown

STEPS = np.array([0, 10, 40])


def tensor(name: str, moving: bool = True) -> TensorHistory:
    """All numbers in the lowest of four parts first, then in the highest."""
    shares = np.array([[1.0, 0, 0, 0], [0.5, 0, 0, 0.5], [0, 0, 0, 1.0]])
    quantiles = np.array([[-1, -1, -1], [-1, 0, 1], [1, 1, 1.0]])
    last = slice(None) if moving else [0, 0, 0]
    return TensorHistory(name, 12, STEPS, np.linspace(-1, 1, 5), shares[last], quantiles[last])


def run(**more: list[float]) -> RunSeries:
    steps = np.arange(1.0, 41.0)
    columns = {"step": steps, "images": steps * 50, "seconds": steps / 4, "gradient/weights": 1 / steps}
    return RunSeries(columns | {name: np.array(values) for name, values in more.items()})


def curves(series: RunSeries) -> RunCurves:
    made = RunCurves()
    made.lanes[0], made.titles[0] = series, "mine"
    return made


@pytest.fixture
def plots(qtbot: QtBot, theme: Theme) -> ParameterPlots:
    made = shown(qtbot, ParameterPlots(), 800, 500)
    series = run()
    history = ParameterHistory((tensor("weights"), tensor("outer_bias"), tensor("log_temperature", moving=False)))
    made.set_history(history, curves(series), series)
    QApplication.processEvents()
    return made


def test_every_tensor_that_moved_has_its_histogram_and_its_gradient(plots: ParameterPlots) -> None:
    assert list(plots.spreads) == ["weights", "outer_bias"]
    assert "log temperature" in plots.same.text()
    assert plots.gradients["weights"].isVisible()
    assert not plots.gradients["outer_bias"].isVisible()  # nothing was noted of it
    assert plots.gradients["weights"].content.lines[0].y.tolist() == (1 / np.arange(1.0, 41.0)).tolist()
    plots.set_history(ParameterHistory(), RunCurves(), RunSeries())
    assert plots.empty.isVisible()
    assert not plots.spreads


def test_pointing_at_a_histogram_says_how_many_numbers_are_there_at_which_step(plots: ParameterPlots) -> None:
    plot = plots.spreads["weights"]
    plot.hover(plot.place(1.0, -0.9))
    assert "step 0" in plot._tip.text()
    assert "100.000%" in plot._tip.text()
    plot.hover(plot.place(12.0, 0.9))
    assert "step 10" in plot._tip.text()
    assert "50.000%" in plot._tip.text()
    assert plots.gradients["weights"].reading() == pytest.approx(12, abs=0.5)  # one crosshair
    picture = plot.content.picture
    assert picture is not None
    for colours in (LIGHT, DARK):  # where there are numbers it is told apart from where there are none
        drawn = picture.colour(picture.values, colours).astype(int)
        assert np.abs(drawn[0, 0] - drawn[-1, 0]).sum() > 200


def test_all_plots_of_a_row_count_the_same(plots: ParameterPlots) -> None:
    spread, gradient = plots.spreads["weights"], plots.gradients["weights"]
    menu = menu_of(spread)
    across = next(action.menu() for action in menu.actions() if action.text() == "Across")
    assert [action.text() for action in across.actions()] == ["steps", "seconds", "epochs", "images"]
    across.actions()[3].trigger()
    menu.deleteLater()
    assert spread.span_x() == (0, 2000)
    assert gradient.content.lines[0].x[-1] == 2000
    assert gradient.content.present == 2000
    gradient.crosshair.counted.emit("second")
    assert spread.span_x() == (0, 10)
    spread.crosshair.counted.emit("epoch")  # of which this run noted nothing
    assert not spread.content.anything
    assert not gradient.content.anything
    assert "epochs" in spread.content.empty


def test_marks_and_clicks_follow_what_the_axis_counts(qtbot: QtBot, theme: Theme) -> None:
    plot = StepPlot(LOSS)
    shown(qtbot, plot, 400, 200)
    drawn = curves(run(smoothed_loss=[1.0] * 40))
    drawn.marks = [PlotMark(20, "learning rate 0.1")]
    plot.draw(drawn, 40)  # type: ignore[arg-type]
    plot.set_unit("image")
    assert [(mark.x, mark.words) for mark in plot.content.marks] == [(1000, "learning rate 0.1")]
    with qtbot.waitSignal(plot.picked) as caught:
        plot.on_click(plot.place(1500, 0))
    assert caught.args == [30]


def test_a_loss_below_zero_has_an_axis_on_which_it_is_seen(qtbot: QtBot, theme: Theme) -> None:
    plot = StepPlot(LOSS)
    qtbot.addWidget(plot)
    plot.draw(curves(run(smoothed_loss=[1.0] * 40)), 40)  # type: ignore[arg-type]
    assert plot.log_y
    plot.draw(curves(run(smoothed_loss=[1.0] * 39 + [-5.0])), 40)  # type: ignore[arg-type]
    assert not plot.log_y
    assert len(plot.content.lines[-1].y) == 40
    plot.set_logarithmic(y=True)  # a person may want it all the same
    plot.draw(plot.series, 40)  # type: ignore[arg-type]
    assert plot.log_y


def test_a_large_twin_of_a_histogram_counts_with_it(plots: ParameterPlots) -> None:
    large = plots.spreads["weights"].twin()
    assert isinstance(plots.spreads["weights"], SpreadPlot)
    large.crosshair.counted.emit("image")
    assert large.span_x() == (0, 2000)
    large.deleteLater()
