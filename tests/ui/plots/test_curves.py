"""Curves over iterations: every point of every frame, axes that stand still."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Scrub
from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.ui.plots.curves import CurvePlots
from mrfstudio.ui.style.colours import LIGHT, rgb
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.lanes import compared
from tests.ui.helpers.pictures import frame, lane, pixels
from tests.ui.helpers.widgets import LEFT, emitted, scalars, shown


@pytest.fixture
def curves(qtbot: QtBot) -> CurvePlots:
    curves = CurvePlots()
    shown(qtbot, curves, 900, 160)
    return curves


def test_curves_keep_every_point_of_every_frame(curves: CurvePlots) -> None:
    sizes = np.random.default_rng(0).integers(0, 90, 40)
    first = 1
    for size in sizes:
        curves.set_frame(frame(lane(first, scalars=scalars(first, first + size)), iteration=first))
        first += int(size)
    series = curves.series.lanes[0]
    np.testing.assert_array_equal(series.iterations, np.arange(1, first))
    assert len(curves.plots["residual"].points(series)[0]) == first - 1


def test_a_cut_timeline_forgets_what_came_after(curves: CurvePlots) -> None:
    curves.set_frame(frame(lane(20, scalars=scalars(1, 21)), iteration=20))
    curves.set_frame(frame(lane(9, scalars=scalars(8, 10, rate=0.9)), iteration=9, cut=7))
    series = curves.series.lanes[0]
    assert series.iterations.tolist() == list(range(1, 10))
    assert series.values("residual")[7] == pytest.approx(0.9**8)
    curves.set_frame(frame(lane(0), iteration=0, cut=0))
    assert len(series) == 0


def test_a_lane_that_is_gone_takes_its_curve_along(curves: CurvePlots) -> None:
    curves.set_frame(frame(lane(5, scalars=scalars(1, 6)), lane(5, number=1, scalars=scalars(1, 6, 0.8)), iteration=5))
    assert set(curves.series.lanes) == {0, 1}
    curves.set_frame(frame(lane(6, scalars=scalars(6, 7)), iteration=6))
    assert set(curves.series.lanes) == {0}


def test_axes_stand_still_while_points_arrive(curves: CurvePlots) -> None:
    plot = curves.plots["residual"]
    seen = []
    for iteration in range(1, 16):
        curves.set_frame(frame(lane(iteration, scalars=scalars(iteration, iteration + 1)), iteration=iteration))
        seen.append((plot.end, plot.range, plot.area()))
    assert len({(end, span) for end, span, _ in seen}) == 1
    assert len({area.getRect() for _, _, area in seen}) == 1


def test_lanes_differ_in_colour_and_dashes(curves: CurvePlots) -> None:
    curves.setPalette(palette_of(LIGHT))
    inked = []
    for index in (0, 1, 2):
        curves.set_frame(frame(lane(12, number=index, scalars=scalars(1, 13, 0.5)), iteration=0))
        plot = curves.plots["residual"]
        plot.now()
        image = pixels(plot.grab(plot.area().toRect()).toImage()).astype(int)
        inked.append((np.abs(image - rgb(LIGHT.lanes[index])).max(axis=2) < 24).sum())
    assert min(inked) > 30
    assert inked[1] < 0.85 * inked[0]  # dashes and dots leave gaps
    assert inked[2] < 0.75 * inked[0]


def test_clicking_a_curve_goes_to_that_iteration(curves: CurvePlots) -> None:
    sent = emitted(curves.command)
    curves.set_frame(frame(lane(12, scalars=scalars(1, 13)), iteration=12))
    plot = curves.plots["residual"]
    QTest.mouseClick(plot, LEFT, pos=plot.place(6, -1).toPoint())
    assert sent == [Scrub(6)]


def test_plots_without_truth_are_left_out(curves: CurvePlots) -> None:
    assert curves.empty.isVisible()
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.5, 100.0)]), iteration=1))
    assert not curves.empty.isVisible()
    visible = {name for name, plot in curves.plots.items() if plot.isVisible()}
    assert visible == {"residual", "log_partition"}


def test_scores_go_when_the_next_picture_has_no_truth(curves: CurvePlots) -> None:
    first = frame(lane(1, scalars=scalars(1, 3)), iteration=2)
    curves.set_frame(replace(first, layers={"observed": np.zeros((2, 2)), "truth": np.zeros((2, 2))}))
    assert curves.plots["iou"].isVisible()
    drawn = frame(lane(1, scalars=[Scalars(1, 0.5, 100.0)]), iteration=1)
    curves.set_frame(replace(drawn, layers={"observed": np.zeros((2, 2))}, serial=first.serial + 1, cut=0))
    visible = {name for name, plot in curves.plots.items() if plot.isVisible()}
    assert visible == {"residual", "log_partition"}


def test_free_energy_is_minus_log_z_and_missing_values_are_gaps(curves: CurvePlots) -> None:
    rows = [Scalars(1, 0.5, 100.0), Scalars(2, 0.4, None), Scalars(3, 0.0, 101.0)]
    curves.set_frame(frame(lane(3, scalars=rows), iteration=3))
    x, y = curves.plots["log_partition"].points(curves.series.lanes[0])
    assert x.tolist() == [1, 3]
    assert y.tolist() == [-100.0, -101.0]
    assert np.isfinite(curves.plots["residual"].points(curves.series.lanes[0])[1]).all()


def test_the_table_of_curves_holds_every_number(curves: CurvePlots) -> None:
    curves.set_frame(frame(lane(3, scalars=[Scalars(1, 0.1, None, 0.5), Scalars(2, 1 / 3, -2.0)]), iteration=2))
    rows = list(csv.DictReader(io.StringIO(curves.to_csv())))
    assert [row["iteration"] for row in rows] == ["1", "2"]
    assert float(rows[1]["residual"]) == 1 / 3
    assert rows[0]["log_partition"] == ""


def test_the_exact_free_energy_is_a_line_within_the_plot(qtbot: QtBot) -> None:
    curves = shown(qtbot, CurvePlots(("residual", "log_partition")), 500, 200)
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.1, 2.0)]), comparison=compared(log_partition=9.0)))
    plot = curves.plots["log_partition"]
    assert plot.level == ("exact", -9.0)
    assert plot.range is not None
    assert plot.range[0] <= -9.0 <= plot.range[1]
    plot.grab()
    curves.set_frame(frame(lane(1)))
    assert plot.level is None


def test_curves_of_another_session_begin_anew_with_their_ranges(qtbot: QtBot) -> None:
    curves = shown(qtbot, CurvePlots(), 500, 200)
    scalars = [Scalars(iteration, 0.1, 500.0) for iteration in range(1, 80)]
    curves.set_frame(frame(lane(79, scalars=scalars), serial=30))
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.1, 1.0)]), serial=2))
    plot = curves.plots["log_partition"]
    assert curves.series.lanes[0].iterations.tolist() == [1]
    assert plot.end == 15
    assert plot.range is not None
    assert plot.range[0] > -100
