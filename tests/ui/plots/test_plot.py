"""What hands expect of a plot: values under the pointer, zoom, pan, logarithms, smoothing, switches, files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.ui.export.pictures import drawing_of
from mrfstudio.ui.plots.content import Content, Crosshair, PlotLine
from mrfstudio.ui.plots.curves import CurvePlots
from mrfstudio.ui.plots.drawing.curve_item import LONG
from mrfstudio.ui.plots.large import LargePlot
from mrfstudio.ui.plots.menu import copy_picture, menu_of, save_plot
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.plots.probabilities import Histogram
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.widgets.pages import PageHost
from tests.ui.helpers.pictures import frame, lane
from tests.ui.helpers.widgets import LEFT, emitted, scalars, shown

NOTHING = Qt.KeyboardModifier.NoModifier


def line(key: int, y: np.ndarray, name: str = "") -> PlotLine:
    def paint(colours: Colours) -> QColor:
        return QColor(colours.lanes[key])

    return PlotLine(key, name or f"line {key}", np.arange(1.0, len(y) + 1), y, paint, key)


def content(*heights: np.ndarray) -> Content:
    made = Content("residual", "nats", "What is left.", "iteration")
    made.lines = [line(key, y) for key, y in enumerate(heights)]
    made.present = 1.0
    return made


@pytest.fixture
def plot(qtbot: QtBot) -> Plot:
    return shown(qtbot, Plot(content(np.linspace(1, 2, 100), np.linspace(5, 6, 100))), 420, 220)


def turn(plot: Plot, at: QPointF, steps: int, keys: Qt.KeyboardModifier = NOTHING) -> None:
    wheel = QWheelEvent(
        at,
        plot.mapToGlobal(at),
        QPoint(),
        QPoint(0, 120 * steps),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot, wheel)


def test_the_axes_of_pyqtgraph_stand_where_the_mouse_looks_for_them(plot: Plot) -> None:
    inside = plot.body.area().translated(plot.body.pos())
    assert inside.topLeft().toPoint() == plot.area().topLeft().toPoint()
    assert abs(inside.width() - plot.area().width()) <= 1
    left, right = plot.body.box.viewRange()[0]
    assert (left, right) == pytest.approx(plot.span_x())


def test_pointing_shows_exact_values_and_one_crosshair_in_all_plots(qtbot: QtBot) -> None:
    cross = Crosshair()
    first, second = (shown(qtbot, Plot(content(np.linspace(0, 1, 50)), cross), 300, 160) for _ in range(2))
    first.whole_numbers = True
    first.hover(first.place(20.2, 0.5))
    assert cross.x == 20.0
    assert second.reading() == 20.0
    assert second.body.cross_at() == pytest.approx(second.place(20.0, 0.5).x() - second.body.x(), abs=1)
    exact = np.linspace(0, 1, 50)[19]
    assert f"{exact:.8g}" in first._tip.text()
    assert first._tip.isVisible()
    assert not second._tip.isVisible()
    QApplication.sendEvent(first, QEvent(QEvent.Type.Leave))
    assert cross.x is None
    assert second.body.cross_at() is None


def test_exact_values_are_read_whole_beside_a_small_plot_and_go_with_it(qtbot: QtBot) -> None:
    window = shown(qtbot, QWidget(), 900, 400)
    plot = Plot(content(*(np.linspace(0, 1, 50) / 3 for _ in range(6))), parent=window)
    plot.setGeometry(360, 200, 170, 110)
    plot.show()
    qtbot.waitUntil(plot.isVisible)
    plot.hover(plot.place(20.0, 0.2))
    tip = plot._tip
    assert tip.isVisible()
    assert tip.height() > plot.height() / 2
    assert window.rect().contains(tip.geometry())
    assert tip.visibleRegion().boundingRect() == tip.rect()
    plot.hide()
    assert not tip.isVisible()
    plot.show()
    plot.hover(plot.place(20.0, 0.2))
    assert tip.isVisible()
    gone = emitted(tip.destroyed)
    plot.deleteLater()
    qtbot.waitUntil(lambda: bool(gone))


def test_the_wheel_zooms_around_the_pointer_and_heights_fit_what_is_in_sight(plot: Plot) -> None:
    whole = plot.span_x()
    at = plot.place(50.0, 3.0)
    turn(plot, at, 4)
    left, right = plot.span_x()
    assert right - left == pytest.approx((whole[1] - whole[0]) * 0.8**4)
    assert plot.at(at)[0] == pytest.approx(50.0)
    plot.content.switch(1)
    low, high = plot.span_y()
    seen = np.linspace(1, 2, 100)[int(np.ceil(left)) - 1 : int(np.floor(right))]
    assert low < seen.min() < seen.max() < high
    assert high - low < 1.3 * (seen.max() - seen.min())
    plot.reset()
    assert plot.span_x() == whole


def test_dragging_pans_and_does_not_click(plot: Plot) -> None:
    clicks: list[float] = []
    plot.clicked.connect(lambda x, _: clicks.append(x))
    start, before = plot.place(50.0, 3.0), plot.span_x()
    for kind, at in (("Press", 0), ("Move", 40), ("Move", 80), ("Release", 80)):
        send(plot, kind, start + QPointF(at, 0))
    moved = 80 / plot.area().width() * (before[1] - before[0])
    assert plot.span_x()[0] == pytest.approx(before[0] - moved)
    assert clicks == []
    for kind in ("Press", "Release"):
        send(plot, kind, plot.place(50.0, 3.0))
    assert clicks == [pytest.approx(50.0, abs=0.2)]


def send(plot: Plot, kind: str, at: QPointF) -> None:
    """Press, Move or Release with the left button down."""
    which = getattr(QEvent.Type, f"MouseButton{kind}" if kind != "Move" else "MouseMove")
    down = Qt.MouseButton.NoButton if kind == "Release" else LEFT
    QApplication.sendEvent(plot, QMouseEvent(which, at, plot.mapToGlobal(at), LEFT, down, NOTHING))


def test_messages_that_swing_by_a_hundredth_fill_the_axis(qtbot: QtBot) -> None:
    swings = 0.7 + 0.005 * np.cos(np.arange(60) * np.pi)
    plot = shown(qtbot, Plot(content(swings)), 400, 200)
    low, high = plot.span_y()
    assert high - low < 0.012
    assert low < 0.695 < 0.705 < high


def test_both_axes_can_be_logarithmic(plot: Plot) -> None:
    plot.set_logarithmic(x=True, y=True)
    left, right = plot.span_x()
    assert left == pytest.approx(np.log10(1), abs=0.2)
    assert right == pytest.approx(np.log10(100), abs=0.2)
    low, high = plot.span_y()
    assert low < 0 < np.log10(6) < high
    ticks = plot.body.left.tickValues(low, high, 180)[0][1]
    assert len(ticks) >= 2
    assert plot.body.parts.curves[0].getData()[0][0] == pytest.approx(0.0)


def test_smoothing_averages_the_noise_away_and_keeps_the_numbers(qtbot: QtBot) -> None:
    noise = np.random.default_rng(0).normal(size=2000)
    plot = shown(qtbot, Plot(content(noise)), 400, 200)
    plot.set_smoothing(0.98)
    plot.now()
    drawn = plot.body.parts.curves[0].getData()[1]
    assert np.abs(drawn[len(drawn) // 2 :]).max() < 0.6
    assert np.abs(noise).max() > 2.5
    rows = list(csv.reader(io.StringIO(plot.content.to_csv())))
    assert float(rows[1][2]) == noise[0]


def test_the_legend_switches_a_line(plot: Plot) -> None:
    plot.grab()
    assert [key for _, key in plot.hits] == [0, 1]
    box = plot.hits[1][0]
    QTest.mouseClick(plot, LEFT, pos=box.center().toPoint())
    assert plot.content.hidden == {1}
    plot.now()
    assert len(plot.body.parts.curves) == 1
    assert plot.span_y()[1] < 3
    QTest.mouseClick(plot, LEFT, pos=box.center().toPoint())
    assert plot.content.hidden == set()


def test_ten_thousand_points_are_drawn_as_few_without_losing_a_peak(qtbot: QtBot) -> None:
    y = np.zeros(10_000)
    y[4321] = 1.0
    plot = shown(qtbot, Plot(content(y)), 300, 150)
    plot.now()
    x, drawn = plot.body.parts.curves[0].getData()
    assert len(x) <= 4 * plot.area().width() + 8
    assert drawn.max() == 1.0


def test_a_parameter_that_changed_is_marked_where_it_did(qtbot: QtBot) -> None:
    curves = shown(qtbot, CurvePlots(("residual",)), 400, 200)
    curves.set_frame(frame(lane(5, scalars=scalars(1, 6), parameters={"damping": 0.0}), iteration=5))
    curves.set_frame(frame(lane(9, scalars=scalars(6, 10), parameters={"damping": 0.5}), iteration=9))
    plot = curves.plots["residual"]
    assert [(mark.x, mark.words) for mark in plot.content.marks] == [(9, "A damping 0 → 0.5")]
    plot.hover(plot.place(9, -2))
    assert "damping" in plot._tip.text()
    curves.set_frame(frame(lane(3, scalars=[]), iteration=3, cut=3))
    assert not plot.content.marks


def test_the_horizontal_axis_can_count_seconds(qtbot: QtBot) -> None:
    curves = shown(qtbot, CurvePlots(("residual",)), 400, 200)
    rows = [Scalars(i, 0.5**i, seconds=0.25) for i in range(1, 9)]
    curves.set_frame(frame(lane(8, scalars=rows), iteration=8))
    plot = curves.plots["residual"]
    plot.set_unit("second")
    assert plot.content.lines[0].x[-1] == pytest.approx(2.0)
    assert 2.0 <= plot.span_x()[1] <= 3.0
    plot.set_unit("iteration")
    assert plot.span_x() == (0.0, 15.0)


def test_a_plot_is_copied_and_saved_as_picture_drawing_and_numbers(plot: Plot, tmp_path: Path) -> None:
    copy_picture(plot)
    assert not QGuiApplication.clipboard().image().isNull()
    for ending in ("png", "svg", "csv"):
        save_plot(plot, tmp_path / f"plot.{ending}")
    drawing = (tmp_path / "plot.svg").read_text()
    assert "<text" in drawing
    assert ">residual<" in drawing
    rows = list(csv.reader(io.StringIO((tmp_path / "plot.csv").read_text())))
    assert rows[0][:3] == ["name", "iteration", "residual"]
    assert [float(row[2]) for row in rows[1:101]] == np.linspace(1, 2, 100).tolist()


def test_the_menu_has_everything_that_can_be_done(plot: Plot) -> None:
    menu = menu_of(plot)
    words = {action.text() for action in menu.actions()}
    expected = {"Logarithmic heights", "Logarithmic iteration", "Reset zoom", "Copy picture", "Save as SVG…"}
    assert expected <= words
    next(action for action in menu.actions() if action.text() == "Logarithmic heights").trigger()
    assert plot.log_y
    menu.deleteLater()


class Window(PageHost, QMainWindow):
    """Keeps the pages that are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: dict[str, QWidget] = {}

    def open_page(self, name: str, title: str, page: QWidget) -> None:
        self.opened[title] = page
        page.setParent(self)

    def say(self, sentence: str) -> None:
        raise AssertionError(sentence)


def test_a_double_click_shows_the_same_content_in_the_whole_workspace(qtbot: QtBot) -> None:
    window = Window()
    plot = Plot(content(np.linspace(1, 2, 100)))
    window.setCentralWidget(plot)
    shown(qtbot, window, 420, 240)
    QTest.mouseDClick(plot, LEFT, pos=plot.place(50.0, 1.5).toPoint())
    large = window.opened["residual"]
    assert isinstance(large, LargePlot)
    assert large.plot.content is plot.content
    large.plot.set_logarithmic(y=True)
    assert not plot.log_y
    shown(qtbot, large, 300, 240)
    assert large.minimumSizeHint().width() < 300  # buttons that have no room are left to the menu
    assert large.bar.menu.isVisible()
    assert [part.isVisible() for part in large.bar.parts].count(True) < len(large.bar.parts)
    large.resize(1600, 400)
    qtbot.waitUntil(lambda: all(part.isVisible() for part in large.bar.parts))


def test_a_curve_that_swings_looks_the_same_on_the_screen_and_stays_one_line_in_a_drawing(qtbot: QtBot) -> None:
    swings = np.where(np.arange(4000) % 2, 1.0, 0.0)
    plot = shown(qtbot, Plot(content(swings)), 300, 160)
    assert plot.body.parts.curves[0].length > LONG
    image = plot.grab(plot.area().toRect()).toImage()
    wanted = plot.content.lines[0].paint(colours_of(plot))
    middle = [image.pixelColor(x, image.height() // 2) for x in range(20, image.width() - 20)]
    assert sum(abs(each.red() - wanted.red()) < 60 for each in middle) > 0.9 * len(middle)
    drawn = drawing_of(plot).svg()
    assert drawn.count("<polyline") + drawn.count("<path") < 60


def test_the_crosshair_moves_over_a_picture_that_is_not_drawn_again(plot: Plot) -> None:
    before, plain = plot.body._picture, plot.grab().toImage()
    plot.crosshair.move(50.0)
    pointed = plot.grab().toImage()
    assert plot.body._picture is before
    x = round(plot.place(50.0, 0.0).x())
    column = [y for y in range(pointed.height()) if pointed.pixel(x, y) != plain.pixel(x, y)]
    assert len(column) > 0.8 * plot.area().height()
    plot.crosshair.move(None)
    assert plot.grab().toImage() == plain


def test_words_that_have_no_room_in_their_row_are_left_out(qtbot: QtBot) -> None:
    histogram = shown(qtbot, Histogram([f"state {i}" for i in range(6)]), 200, 400)
    histogram.set_shares(np.full((6, 10), 0.1))
    histogram.now()
    assert len(histogram.body.parts.notes) == 6
    histogram.resize(200, 90)
    histogram.now()
    assert histogram.body.parts.notes == []


def test_lines_are_as_thick_on_a_screen_of_twice_the_pixels(qtbot: QtBot) -> None:
    made = content(np.linspace(0, 1, 30))
    made.lines = [replace(made.lines[0], width=6.0)]
    plot = shown(qtbot, Plot(made), 300, 200)
    wanted = plot.content.lines[0].paint(colours_of(plot))
    inked = []
    for scale in (1.0, 2.0):
        image = drawing_of(plot, scale).image()
        places = ((x, y) for x in range(image.width()) for y in range(image.height()))
        inked.append(sum(abs(image.pixelColor(x, y).red() - wanted.red()) < 12 for x, y in places))
    assert 3 < inked[1] / inked[0] < 6
