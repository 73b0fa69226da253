"""The panels: what they show is what frames say, what they emit is what a person did, nothing moves by itself."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QScrollArea, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.answers import CloneGallery, Guarantee, Swings, Tip
from mrfstudio.engine.catalogue import Entry, Field, Parameters, choice, flag, integer, number, text
from mrfstudio.engine.commands import Command, Pause, Play, Restart, Scrub, SetSpeed, Step
from mrfstudio.engine.frames import Scalars
from mrfstudio.ui.canvas import SEGMENT_TARGETS, TOOLS, Canvas
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.colours import DARK, LIGHT, Colours, rgb
from mrfstudio.ui.panels.advice_bar import AdviceBar
from mrfstudio.ui.panels.axes import next_end, roomy, thinned, tick_texts, ticks
from mrfstudio.ui.panels.badge import Badge, sentence
from mrfstudio.ui.panels.clone_browser import CloneBrowser
from mrfstudio.ui.panels.curves import Curves
from mrfstudio.ui.panels.heat_map import DirectionMaps, HeatMap
from mrfstudio.ui.panels.histogram import Histogram
from mrfstudio.ui.panels.inspector import Inspector
from mrfstudio.ui.panels.iteration_strip import MOST, IterationStrip
from mrfstudio.ui.panels.layer_list import LayerList
from mrfstudio.ui.panels.legend import Legend
from mrfstudio.ui.panels.number_box import NumberBox, Scale
from mrfstudio.ui.panels.parameter_form import ParameterForm
from mrfstudio.ui.panels.series import Series
from mrfstudio.ui.panels.tool_palette import ToolPalette
from mrfstudio.ui.panels.transport import TransportBar
from mrfstudio.ui.theme import Theme, palette_of
from tests.ui.pictures import assert_looks_like, beliefs, frame, lane, pixels, ring

LEFT = Qt.MouseButton.LeftButton


class Settings(Parameters):
    """One field of every kind."""

    name = "settings"
    damping: float = number(0.0, "Keeps part of the old message.", low=0, high=1, high_open=True)
    tolerance: float = number(
        1e-6, "Converged below this.", low=0, high=1, low_open=True, logarithmic=True, unit="bits"
    )
    iterations: int = integer(15, "How many.", low=1, high=1000)
    temperature: float = number(1.0, "1 is sum-product.", low=0)
    schedule: str = choice("parallel", ("parallel", "sequential"), "Which order.")
    normalise: bool = flag(True, "Whether.")
    path: str = text("here", "Where.")
    kernel: str = choice("auto", ("auto", "generic"), "Which code.", advanced=True)


ENTRY: Entry = Settings.entry()


def shown(qtbot: QtBot, widget: QWidget, width: int = 400, height: int = 300) -> None:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    widget.activateWindow()


def emitted(signal: object) -> list:
    seen: list = []
    signal.connect(lambda *values: seen.append(values[0] if len(values) == 1 else values))  # type: ignore[attr-defined]
    return seen


# Transport ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def transport(qtbot: QtBot) -> TransportBar:
    bar = TransportBar()
    shown(qtbot, bar, 700, 50)
    return bar


def test_transport_buttons_send_what_they_say(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.set_state(7, playing=False, newest=9)
    for button in (transport.restart, transport.back, transport.play, transport.forward):
        QTest.mouseClick(button, LEFT)
    transport.set_state(7, playing=True, newest=9)
    QTest.mouseClick(transport.play, LEFT)
    assert sent == [Restart(), Step(-1), Play(), Step(1), Pause()]


def test_transport_shows_iteration_and_end(transport: TransportBar) -> None:
    transport.set_frame(frame(lane(7, base=0, limit=15), iteration=7, newest=9))
    assert transport.counter.text() == "iteration 7 / 15"
    assert (transport.slider.minimum(), transport.slider.value(), transport.slider.maximum()) == (0, 7, 15)
    transport.set_frame(frame(lane(17, base=15, limit=15), iteration=17, newest=17, oldest=3))
    assert transport.counter.text() == "iteration 17 / 30"
    assert transport.slider.minimum() == 3


def test_frames_do_not_scrub_by_themselves(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    for iteration in range(20):
        transport.set_frame(frame(lane(iteration), iteration=iteration, newest=iteration, speed=10.0))
    transport.set_state(2, playing=False, newest=9)
    transport.set_state(5, playing=False, oldest=4, newest=9)  # old iterations were forgotten under the handle
    assert sent == []
    assert transport.speed.currentText() == "10 a second"


def test_scrubbing_goes_where_the_handle_is_but_not_beyond_what_was_computed(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.set_state(9, playing=False, newest=9)
    transport.slider.setValue(4)
    transport.set_state(4, playing=False, newest=9)
    transport.slider.setValue(14)
    assert sent == [Scrub(4), Scrub(9)]
    assert transport.slider.value() == 9


def test_the_hand_on_the_slider_wins_over_frames(transport: TransportBar) -> None:
    transport.set_state(9, playing=True, newest=9)
    transport.slider.setSliderDown(True)
    transport.slider.setValue(3)
    transport.set_state(9, playing=True, newest=9)
    assert transport.slider.value() == 3
    transport.slider.setSliderDown(False)


def test_speed_from_one_a_second_to_as_fast_as_possible(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.speed.activated.emit(0)
    transport.speed.activated.emit(transport.speed.count() - 1)
    assert sent == [SetSpeed(1.0), SetSpeed(None)]


def test_the_first_iteration_has_nothing_before_it(transport: TransportBar) -> None:
    transport.set_state(3, playing=False, oldest=3)
    assert not transport.back.isEnabled()
    transport.set_state(4, playing=False, oldest=3)
    assert transport.back.isEnabled()


def test_nothing_in_the_transport_moves_while_numbers_grow(transport: TransportBar) -> None:
    places = set()
    for iteration in (0, 9, 10, 99, 1234):
        transport.set_state(iteration, playing=True, newest=iteration)
        QApplication.processEvents()
        places.add((transport.slider.geometry().getRect(), transport.speed.geometry().getRect()))
    assert len(places) == 1


def test_clicking_a_button_leaves_the_keys_with_the_canvas(transport: TransportBar, qtbot: QtBot) -> None:
    for button in (transport.restart, transport.back, transport.play, transport.forward):
        assert button.focusPolicy() == Qt.FocusPolicy.TabFocus


# Badge ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("converged", "converged in 12 iterations, residual 3e-7"),
        ("running", "running at iteration 12, residual 3e-7"),
        ("iteration limit", "iteration limit after 12 iterations, residual 3e-7"),
        ("diverging", "diverging at iteration 12, residual 3e-7"),
        ("paused", "paused at iteration 12, residual 3e-7"),
    ],
)
def test_the_badge_says_its_state_with_the_residual(qtbot: QtBot, status: str, words: str) -> None:
    badge = Badge()
    qtbot.addWidget(badge)
    badge.set_lane(lane(12, status=status, residual=3e-7))
    assert badge.text == words
    assert badge.accessibleName() == words
    assert badge.toolTip()


def test_the_badge_copes_with_what_is_not_known() -> None:
    assert sentence("idle", 0, None) == "nothing computed yet"
    assert sentence("converged", 1, None) == "converged in 1 iteration"
    assert sentence("running", 3, math.nan) == "running at iteration 3"
    assert sentence("diverging", 3, math.inf).endswith("residual infinite")
    assert sentence("stopped", 3, None, "left the finite range") == "stopped at iteration 3: left the finite range"


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)
def test_badges_differ_by_shape_not_only_by_colour(qtbot: QtBot, colours: Colours) -> None:
    shapes = set()
    for status in ("running", "paused", "converged", "iteration limit", "diverging", "stopped"):
        badge = Badge()
        qtbot.addWidget(badge)
        badge.setPalette(palette_of(colours))
        badge.set_status(status, 3)  # type: ignore[arg-type]
        image = pixels(badge.mark.grab().toImage())
        drawn = np.abs(image.astype(int) - rgb(colours.window)).max(axis=2) > 60
        assert drawn.any()
        shapes.add(drawn.tobytes())
    assert len(shapes) == 6


# Parameter form -------------------------------------------------------------------------------------------------------


@pytest.fixture
def form(qtbot: QtBot) -> ParameterForm:
    form = ParameterForm()
    form.set_entry(ENTRY)
    shown(qtbot, form, 320, 600)
    return form


def box(form: ParameterForm, name: str) -> NumberBox:
    editor = form.row(name).editor
    assert isinstance(editor, NumberBox)
    return editor


def write(editor: NumberBox, words: str) -> None:
    editor.setFocus()
    editor.selectAll()
    QTest.keyClicks(editor, words)


def test_a_form_has_every_field_at_its_default(form: ParameterForm) -> None:
    assert form.values() == {field.name: field.default for field in ENTRY.fields}


def test_a_box_has_a_word_for_a_zero_that_is_no_number(qtbot: QtBot) -> None:
    editor = NumberBox(Field("iterations", "integer", 0, "Stop after.", low=0, high=99, zero="as lane A"))
    shown(qtbot, editor, 120, 30)
    edits = emitted(editor.edited)
    assert editor.lineEdit().text() == "as lane A"
    editor.stepBy(2)
    assert editor.lineEdit().text() == "2"
    editor.selectAll()
    QTest.keyClicks(editor, "0")
    assert edits[-1] == 0
    editor.clearFocus()
    editor.set_value(0)
    assert editor.lineEdit().text() == "as lane A"
    editor.stepBy(1)
    editor.selectAll()
    QTest.keyClicks(editor, "as lane A")
    assert edits[-1] == 0


def test_swings_and_a_guarantee_can_both_be_true(qtbot: QtBot) -> None:
    bar = AdviceBar()
    shown(qtbot, bar, 900, 40)
    bar.set_swings(Swings(0, 9, np.full((4, 2), 2, np.int16), 8, 2, (Tip("Damp: 0.5", "why", "bp", {}),)))
    assert bar.text.startswith("All messages oscillate")
    bar.set_guarantee(Guarantee(0, 1, guaranteed=True))
    assert "still swing" in bar.text
    assert "guaranteed" in bar.text
    bar.set_guarantee(Guarantee(0, 2))
    assert bar.text.startswith("All messages oscillate")
    bar.set_swings(None)
    assert "messages" not in bar.text


def test_advice_without_a_swinging_edge_is_shown_too(qtbot: QtBot) -> None:
    bar = AdviceBar()
    shown(qtbot, bar, 900, 40)
    tip = Tip("Double loop", "why", "gbp", {"method": "double-loop"})
    followed = emitted(bar.chosen)
    bar.set_swings(Swings(0, 9, np.zeros((4, 2), np.int16), tips=(tip,)))
    assert "regions do not settle" in bar.text
    assert bar.buttons[0].text() == "Double loop"
    bar.buttons[0].click()
    assert followed == [tip]


def test_typed_values_are_emitted_in_their_own_type(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    write(box(form, "iterations"), "7")
    write(box(form, "tolerance"), "1e-3")
    assert [(name, value) for name, value, _ in changes if value in (7, 1e-3)] == [
        ("iterations", 7),
        ("tolerance", 1e-3),
    ]
    assert isinstance(form.values()["iterations"], int)


def test_a_decimal_comma_is_understood(form: ParameterForm) -> None:
    write(box(form, "damping"), "0,25")
    assert form.values()["damping"] == 0.25


def test_what_does_not_fit_is_said_kindly_and_not_emitted(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    write(box(form, "damping"), "1")
    problem = form.row("damping").problem
    assert problem.isVisible()
    assert "expected a number in [0, 1)" in problem.text()
    assert changes == []
    QTest.keyClick(box(form, "damping"), Qt.Key.Key_Escape)
    assert not problem.isVisible()
    assert box(form, "damping").lineEdit().text() == "0"
    write(box(form, "iterations"), "many")
    assert form.row("iterations").problem.isVisible()
    box(form, "damping").setFocus()
    assert not form.row("iterations").problem.isVisible()
    assert box(form, "iterations").lineEdit().text() == "15"


def test_sliders_reach_their_ends_and_respect_open_ones(form: ParameterForm) -> None:
    for name, low, high in (("damping", 0.0, 0.999), ("iterations", 1, 1000)):
        slider = form.row(name).slider
        assert slider is not None
        slider.setValue(slider.maximum())
        assert form.values()[name] == high
        slider.setValue(0)
        assert form.values()[name] == low
    slider = form.row("tolerance").slider
    assert slider is not None
    slider.setValue(0)
    assert 0 < form.values()["tolerance"] < 1e-6


def test_a_logarithmic_slider_gives_each_decade_the_same_room() -> None:
    scale = Scale(next(field for field in ENTRY.fields if field.name == "tolerance"))
    rooms = np.diff([scale.position(10.0**power) for power in (-5, -4, -3, -2, -1)])
    assert rooms.max() - rooms.min() <= 1
    assert rooms.min() > 50


def test_one_drag_is_one_gesture_and_two_are_two(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    slider = form.row("damping").slider
    assert slider is not None
    for end in (300, 600):
        slider.setSliderDown(True)
        for position in range(end - 50, end, 10):
            slider.setValue(position)
        slider.setSliderDown(False)
    gestures = [gesture for _, _, gesture in changes]
    assert len(changes) == 10
    assert len(set(gestures[:5])) == 1
    assert len(set(gestures)) == 2


def test_arrows_step_the_number_and_stop_at_open_ends(form: ParameterForm) -> None:
    editor = box(form, "iterations")
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_Up)
    assert form.values()["iterations"] == 16
    assert box(form, "damping").stepEnabled() == NumberBox.StepEnabledFlag.StepUpEnabled


def test_values_from_elsewhere_are_shown_and_not_emitted(form: ParameterForm) -> None:
    changes = emitted(form.changed)
    form.set_values({"damping": 0.5, "schedule": "sequential", "normalise": False, "path": "there", "other": 3})
    assert changes == []
    assert form.values() | {"damping": 0.5, "schedule": "sequential"} == form.values()
    slider = form.row("damping").slider
    assert slider is not None
    assert slider.value() == 500


def test_defaults_go_back_in_one_gesture(form: ParameterForm) -> None:
    form.set_values({"damping": 0.5, "iterations": 3})
    changes = emitted(form.changed)
    form.reset()
    assert {(name, value) for name, value, _ in changes} == {("damping", 0.0), ("iterations", 15)}
    assert len({gesture for _, _, gesture in changes}) == 1


def test_every_field_has_help_with_its_range_and_an_accessible_name(form: ParameterForm) -> None:
    for field in ENTRY.fields:
        row = form.row(field.name)
        assert field.help in row.editor.toolTip()
        assert field.option in row.editor.toolTip()
        assert row.editor.accessibleName()
        assert field.help in row.editor.accessibleDescription()
    assert "Tolerance (bits)" in {label.text() for label in form.findChildren(QLabel)}


def test_advanced_fields_wait_behind_a_fold(form: ParameterForm) -> None:
    row = form.row("kernel")
    assert not row.isVisible()
    fold = next(button for button in form.findChildren(QToolButton) if "Advanced" in button.text())
    QTest.mouseClick(fold, LEFT)
    assert row.isVisible()


def test_scrolling_over_a_form_changes_nothing(form: ParameterForm, qtbot: QtBot) -> None:
    changes = emitted(form.changed)
    for name in ("damping", "schedule", "iterations"):
        editor = form.row(name).editor
        editor.clearFocus()
        place = QPointF(editor.rect().center())
        event = QWheelEvent(
            place,
            editor.mapToGlobal(place),
            QPoint(),
            QPoint(0, -240),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(editor, event)
    assert changes == []


def test_an_entry_without_parameters_says_so(qtbot: QtBot) -> None:
    form = ParameterForm()
    shown(qtbot, form)
    assert any("Nothing to adjust" in label.text() for label in form.findChildren(QLabel))


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_no_text_of_a_form_is_cut(theme: Theme, qtbot: QtBot, scale: float) -> None:
    theme.set_scale(scale)
    area, form = QScrollArea(), ParameterForm()
    form.set_entry(ENTRY)
    area.setWidgetResizable(True)
    area.setWidget(form)
    shown(qtbot, area, round(300 * scale), 500)
    for name in form.values():
        row = form.row(name)
        for widget in row.findChildren(QWidget):
            words = widget.text() if hasattr(widget, "text") and callable(widget.text) else ""
            if words and widget.isVisible() and not isinstance(widget, QComboBox):
                assert widget.width() >= widget.fontMetrics().horizontalAdvance(words), (name, words)
                assert widget.height() >= widget.fontMetrics().height() - 1, (name, words)


# Curves ---------------------------------------------------------------------------------------------------------------


def scalars(first: int, last: int, rate: float = 0.5) -> list[Scalars]:
    return [Scalars(i, rate**i, 100 + i / 10, 1 - rate**i, rate**i) for i in range(first, last)]


@pytest.fixture
def curves(qtbot: QtBot) -> Curves:
    curves = Curves()
    shown(qtbot, curves, 900, 160)
    return curves


def test_curves_keep_every_point_of_every_frame(curves: Curves) -> None:
    sizes = np.random.default_rng(0).integers(0, 90, 40)
    first = 1
    for size in sizes:
        curves.set_frame(frame(lane(first, scalars=scalars(first, first + size)), iteration=first))
        first += int(size)
    series = curves.series.lanes[0]
    np.testing.assert_array_equal(series.iterations, np.arange(1, first))
    assert len(curves.plots["residual"].points(series)[0]) == first - 1


def test_a_cut_timeline_forgets_what_came_after(curves: Curves) -> None:
    curves.set_frame(frame(lane(20, scalars=scalars(1, 21)), iteration=20))
    curves.set_frame(frame(lane(9, scalars=scalars(8, 10, rate=0.9)), iteration=9, cut=7))
    series = curves.series.lanes[0]
    assert series.iterations.tolist() == list(range(1, 10))
    assert series.values("residual")[7] == pytest.approx(0.9**8)
    curves.set_frame(frame(lane(0), iteration=0, cut=0))
    assert len(series) == 0


def test_a_lane_that_is_gone_takes_its_curve_along(curves: Curves) -> None:
    curves.set_frame(frame(lane(5, scalars=scalars(1, 6)), lane(5, number=1, scalars=scalars(1, 6, 0.8)), iteration=5))
    assert set(curves.series.lanes) == {0, 1}
    curves.set_frame(frame(lane(6, scalars=scalars(6, 7)), iteration=6))
    assert set(curves.series.lanes) == {0}


def test_axes_stand_still_while_points_arrive(curves: Curves) -> None:
    plot = curves.plots["residual"]
    seen = []
    for iteration in range(1, 16):
        curves.set_frame(frame(lane(iteration, scalars=scalars(iteration, iteration + 1)), iteration=iteration))
        seen.append((plot.end, plot.range, plot.area()))
    assert len({(end, span) for end, span, _ in seen}) == 1
    assert len({area.getRect() for _, _, area in seen}) == 1


def test_ranges_only_grow_and_in_round_steps() -> None:
    assert [next_end(i) for i in (0, 15, 16, 21, 60, 101, 5000)] == [15, 15, 20, 50, 100, 200, 5000]
    assert roomy((0.0, 1.0), 0.2, 0.9) == (0.0, 1.0)
    low, high = roomy((0.0, 1.0), -0.5, 0.9)
    assert low < -0.5
    assert high == 1.0
    assert roomy((-5.0, 0.0), -7.3, 0.0, whole=True) == (-8.0, 0.0)
    assert roomy(None, 3.0, 3.0)[0] < 3.0 < roomy(None, 3.0, 3.0)[1]


@pytest.mark.parametrize("span", [(0.0, 1.0), (-105.3, -99.8), (0.0, 50_000.0), (1.0, 1.0001)])
def test_ticks_are_few_round_and_told_apart(span: tuple[float, float]) -> None:
    found = ticks(span, 6)
    assert 1 <= len(found) <= 7
    assert all(span[0] - 1e-9 <= value <= span[1] + 1e-9 for value in found)
    assert len(set(tick_texts(found))) == len(found)
    assert tick_texts([-3.0, 0.0], logarithmic=True) == ["10⁻³", "1"]


def test_thinning_loses_no_peak() -> None:
    x = np.arange(100_000.0)
    y = np.zeros_like(x)
    y[12_345], y[77_777] = 5.0, -3.0
    few_x, few_y = thinned(x, y, 300)
    assert len(few_x) <= 4 * 300
    assert few_y.max() == 5.0
    assert few_y.min() == -3.0
    assert (np.diff(few_x) >= 0).all()


def test_lanes_differ_in_colour_and_dashes(curves: Curves) -> None:
    curves.setPalette(palette_of(LIGHT))
    inked = []
    for index in (0, 1, 2):
        curves.set_frame(frame(lane(12, number=index, scalars=scalars(1, 13, 0.5)), iteration=0))
        plot = curves.plots["residual"]
        image = pixels(plot.grab(plot.area().toRect()).toImage()).astype(int)
        inked.append((np.abs(image - rgb(LIGHT.lanes[index])).max(axis=2) < 24).sum())
    assert min(inked) > 30
    assert inked[1] < 0.85 * inked[0]  # dashes and dots leave gaps
    assert inked[2] < 0.75 * inked[0]


def test_clicking_a_curve_goes_to_that_iteration(curves: Curves) -> None:
    sent = emitted(curves.command)
    curves.set_frame(frame(lane(12, scalars=scalars(1, 13)), iteration=12))
    plot = curves.plots["residual"]
    QTest.mouseClick(plot, LEFT, pos=plot.place(6, -1).toPoint())
    assert sent == [Scrub(6)]


def test_plots_without_truth_are_left_out(curves: Curves) -> None:
    assert curves.empty.isVisible()
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.5, 100.0)]), iteration=1))
    assert not curves.empty.isVisible()
    visible = {name for name, plot in curves.plots.items() if plot.isVisible()}
    assert visible == {"residual", "log_partition"}


def test_scores_go_when_the_next_picture_has_no_truth(curves: Curves) -> None:
    first = frame(lane(1, scalars=scalars(1, 3)), iteration=2)
    curves.set_frame(replace(first, layers={"observed": np.zeros((2, 2)), "truth": np.zeros((2, 2))}))
    assert curves.plots["iou"].isVisible()
    drawn = frame(lane(1, scalars=[Scalars(1, 0.5, 100.0)]), iteration=1)
    curves.set_frame(replace(drawn, layers={"observed": np.zeros((2, 2))}, serial=first.serial + 1, cut=0))
    visible = {name for name, plot in curves.plots.items() if plot.isVisible()}
    assert visible == {"residual", "log_partition"}


def test_free_energy_is_minus_log_z_and_missing_values_are_gaps(curves: Curves) -> None:
    rows = [Scalars(1, 0.5, 100.0), Scalars(2, 0.4, None), Scalars(3, 0.0, 101.0)]
    curves.set_frame(frame(lane(3, scalars=rows), iteration=3))
    x, y = curves.plots["log_partition"].points(curves.series.lanes[0])
    assert x.tolist() == [1, 3]
    assert y.tolist() == [-100.0, -101.0]
    assert np.isfinite(curves.plots["residual"].points(curves.series.lanes[0])[1]).all()


def test_the_table_of_curves_holds_every_number(curves: Curves) -> None:
    curves.set_frame(frame(lane(3, scalars=[Scalars(1, 0.1, None, 0.5), Scalars(2, 1 / 3, -2.0)]), iteration=2))
    rows = list(csv.DictReader(io.StringIO(curves.to_csv())))
    assert [row["iteration"] for row in rows] == ["1", "2"]
    assert float(rows[1]["residual"]) == 1 / 3
    assert rows[0]["log_partition"] == ""


def test_a_repeated_iteration_replaces_the_old_one() -> None:
    series = Series()
    series.extend(scalars(1, 1000))
    series.extend(scalars(500, 502, rate=0.9))
    assert series.iterations.tolist() == list(range(1, 502))


# Histogram, strip, layers, legend -------------------------------------------------------------------------------------


def test_the_histogram_draws_taller_bars_for_more_pixels(qtbot: QtBot) -> None:
    histogram = Histogram()
    histogram.setPalette(palette_of(LIGHT))
    shown(qtbot, histogram, 260, 200)
    shares = np.zeros((3, 20), np.float32)
    shares[:, 0], shares[2, 19] = 0.25, 1.0
    histogram.set_lane(lane(pictures={"histogram": shares}))
    image = pixels(histogram.grab().toImage())
    inside = np.abs(image.astype(int) - rgb(LIGHT.labels[2])).max(axis=2) < 8
    left, right = inside[:, :30].sum(0).max(), inside[:, -30:].sum(0).max()
    assert 1.7 < right / left < 2.4  # square roots: 1 is twice as tall as 0.25


@pytest.fixture
def strip(qtbot: QtBot) -> IterationStrip:
    strip = IterationStrip()
    shown(qtbot, strip, 600, 64)
    return strip


def small(iteration: int) -> np.ndarray:
    return (beliefs(ring(), iteration / 15) * 255).astype(np.uint8)


def test_the_strip_collects_pictures_and_a_click_goes_there(strip: IterationStrip) -> None:
    sent = emitted(strip.command)
    for iteration in range(1, 9):
        strip.set_frame(frame(lane(iteration, strip=((iteration, small(iteration)),)), iteration=iteration))
    assert sorted(strip.pictures) == list(range(1, 9))
    QTest.mouseClick(strip, LEFT, pos=strip.place(3).center().toPoint())
    QTest.mouseClick(strip, LEFT, pos=strip.place(12).center().toPoint())  # not computed yet
    assert sent == [Scrub(3)]


def test_the_strip_follows_edits_and_cuts(strip: IterationStrip) -> None:
    strip.set_frame(frame(lane(15, strip=tuple((i, small(i)) for i in range(1, 16))), iteration=15))
    strip.set_frame(frame(lane(8, strip=((8, small(8)),)), iteration=8, cut=7))
    assert sorted(strip.pictures) == list(range(1, 9))
    strip.set_frame(frame(lane(9, base=8, strip=((9, small(1)),)), iteration=9, cut=8))
    assert strip.place(9).left() < 20
    assert strip.iteration_at(strip.place(9).center().x()) == 9
    assert strip.iteration_at(strip.place(10).center().x()) is None


def test_pictures_stay_for_who_goes_back_before_an_edit_and_forward_again(strip: IterationStrip) -> None:
    strip.set_frame(frame(lane(15, strip=tuple((i, small(i)) for i in range(1, 16))), iteration=15))
    strip.set_frame(frame(lane(30, base=15, strip=tuple((i, small(i - 15)) for i in range(16, 31))), iteration=30))
    for base, iteration in ((0, 4), (15, 20)):
        strip.set_frame(frame(lane(iteration, base=base), iteration=iteration))
        shown = range(base + 1, base + 16)
        assert [strip.iteration_at(strip.place(i).center().x()) for i in shown] == list(shown)
    for first in range(30, 900, 15):
        many = tuple((i, small(1)) for i in range(first + 1, first + 16))
        strip.set_frame(frame(lane(first + 15, base=first, strip=many), iteration=first + 15))
    assert len(strip.pictures) <= MOST
    assert set(range(886, 901)) <= set(strip.pictures)


def test_each_lane_has_a_strip_of_its_own(strip: IterationStrip) -> None:
    one, two = small(2), small(9)
    strip.set_frame(frame(lane(1, strip=((1, one),)), lane(1, number=1, strip=((1, two),)), iteration=1))
    assert strip.pictures[1] is one
    strip.lane = 1
    assert strip.pictures[1] is two
    strip.set_frame(frame(lane(2, number=1), iteration=2))
    strip.lane = 0
    assert strip.pictures == {}


def test_arrow_keys_walk_along_the_strip(strip: IterationStrip) -> None:
    sent = emitted(strip.command)
    strip.set_frame(frame(lane(5, strip=tuple((i, small(i)) for i in range(1, 6))), iteration=4))
    strip.setFocus()
    QTest.keyClick(strip, Qt.Key.Key_Left)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert sent == [Scrub(3), Scrub(5)]


def test_places_of_the_strip_are_there_before_their_pictures(strip: IterationStrip) -> None:
    before = [strip.place(i) for i in range(1, 16)]
    strip.set_frame(frame(lane(5, strip=tuple((i, small(i)) for i in range(1, 6))), iteration=5))
    assert [strip.place(i) for i in range(1, 16)] == before
    assert all(place.right() <= strip.width() for place in before)


def test_the_layer_list_tells_what_is_shown_and_how_strongly(qtbot: QtBot) -> None:
    layers = LayerList(SEGMENT_LAYERS)
    shown(qtbot, layers)
    assert layers.visible() == {"observed": 1.0, "belief": 1.0, "hints": 1.0}
    changes = emitted(layers.changed)
    QTest.mouseClick(layers.boxes["entropy"], LEFT, pos=QPoint(8, layers.boxes["entropy"].height() // 2))
    layers.sliders["entropy"].setValue(10)
    assert layers.visible()["entropy"] == 0.5
    assert len(changes) == 2


def test_the_direction_is_asked_only_while_the_residual_is_shown(qtbot: QtBot) -> None:
    layers = LayerList(SEGMENT_LAYERS)
    shown(qtbot, layers)
    assert not layers.directions.isVisible()
    layers.set_shown("residual", True)
    assert layers.directions.isVisible()
    assert layers.directions.count() == 9
    assert layers.direction is None
    layers.choose_direction(3)
    assert layers.direction == 3
    assert "down-left" in layers.directions.currentText()


def test_setting_layers_from_elsewhere_is_one_change(qtbot: QtBot) -> None:
    layers = LayerList(SEGMENT_LAYERS)
    shown(qtbot, layers)
    changes = emitted(layers.changed)
    layers.set_visible({"entropy": 0.5, "observed": 1.0})
    assert layers.visible() == {"observed": 1.0, "entropy": 0.5}
    assert len(changes) == 1


def test_the_legend_explains_exactly_what_is_shown_with_units(qtbot: QtBot) -> None:
    legend = Legend(SEGMENT_LAYERS)
    shown(qtbot, legend)
    legend.set_visible_layers(["entropy"])
    assert legend.bars["entropy"].isVisible()
    assert not legend.bars["residual"].isVisible()
    assert not legend.swatches.isVisible()
    assert legend.bars["entropy"].accessibleName() == "Entropy in bits, from 0 to 1.58"
    legend.set_visible_layers(["observed", "belief"])
    assert legend.swatches.accessibleName() == "Colours: contour seen, CONTOUR, OUT, IN"


# Tools ----------------------------------------------------------------------------------------------------------------


def test_the_palette_and_the_canvas_agree(qtbot: QtBot) -> None:
    canvas = Canvas()
    palette = ToolPalette(canvas)
    qtbot.addWidget(canvas)
    shown(qtbot, palette, 200, 420)
    for tool in TOOLS:
        QTest.mouseClick(palette.tools[tool.name], LEFT)
        assert canvas.tools.tool == tool.name
    canvas.choose_tool("brush")
    assert palette.tools["brush"].isChecked()
    QTest.mouseClick(palette.targets[2], LEFT)
    assert canvas.tools.target is SEGMENT_TARGETS[2]
    assert palette.strength.isEnabled()
    canvas.choose_target(0)
    assert not palette.strength.isEnabled()  # what was observed was observed
    canvas.set_radius(3)
    assert palette.size_label.text() == "Size 6 px"
    palette.brush_size.setValue(0)
    assert canvas.tools.radius == 0.5


# Clones and inspector -------------------------------------------------------------------------------------------------


def gallery(clones: int = 8) -> CloneGallery:
    use = np.arange(clones, dtype=np.float32)
    use[3] = 0
    patches = np.tile(beliefs(ring(9)), (clones, 1, 1, 1))
    potentials = np.random.default_rng(0).normal(size=(4, clones + 2, clones + 2)).astype(np.float32)
    ownership = np.linspace(0, 3, clones).astype(np.float32)
    ownership[5] = np.nan
    return CloneGallery("grid-border-16", 100, use / use.sum(), patches, potentials, ownership)


@pytest.fixture
def browser(qtbot: QtBot) -> CloneBrowser:
    browser = CloneBrowser()
    shown(qtbot, browser, 420, 420)
    browser.set_gallery(gallery())
    QApplication.processEvents()
    return browser


def test_the_gallery_shows_used_clones_and_lists_the_others(browser: CloneBrowser) -> None:
    assert browser.model.clones == [7, 6, 5, 4, 2, 1]
    assert browser.unused.text() == "Unused: 0, 3"
    assert "6 of 8" in browser.title.text()


def test_the_gallery_can_be_ordered(browser: CloneBrowser) -> None:
    browser.order.setCurrentIndex(1)
    browser.order.activated.emit(1)
    assert browser.model.clones == [1, 2, 4, 5, 6, 7]
    browser.order.setCurrentIndex(2)
    browser.order.activated.emit(2)
    assert browser.model.clones == [1, 2, 4, 6, 7, 5]  # 5 leans nowhere


def test_hovering_and_clicking_a_clone_tell_which(browser: CloneBrowser) -> None:
    hovered, chosen = emitted(browser.hovered), emitted(browser.chosen)
    viewport = browser.view.viewport()
    place = browser.view.visualRect(browser.model.index(2)).center()
    QTest.mouseMove(viewport, place)
    QTest.mouseClick(viewport, LEFT, pos=place)
    assert hovered[0] == 5
    assert chosen == [5]


def test_arrow_keys_go_through_the_gallery(browser: CloneBrowser) -> None:
    browser.view.setFocus()
    browser.view.setCurrentIndex(browser.model.index(0))
    hovered = emitted(browser.hovered)
    QTest.keyClick(browser.view, Qt.Key.Key_Right)
    assert hovered == [6]


def test_clones_are_described_in_words(browser: CloneBrowser) -> None:
    words = browser.model.index(0).data(Qt.ItemDataRole.ToolTipRole)
    assert words == "Clone 7: chosen by 28.0% of the contour pixels, expects IN left."
    assert "does not lean" in browser.model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)


def test_an_empty_gallery_says_what_belongs_there(browser: CloneBrowser) -> None:
    browser.set_gallery(None)
    assert not browser.view.isVisible()
    assert "clone" in browser.title.text()
    browser.set_progress(3, 10)
    assert "3 of 10" in browser.title.text()


DETAILS = {"pixel": (3, 5), "labels": {"CONTOUR": 0.9, "OUT": 0.07, "IN": 0.03}, "clones": [(6, 0.6), (2, 0.3)]}


def test_the_inspector_lists_labels_clones_and_four_potentials(qtbot: QtBot) -> None:
    inspector = Inspector()
    shown(qtbot, inspector, 320, 640)
    assert "Inspect tool" in inspector.heading.text()
    inspector.set_details(DETAILS)
    inspector.set_gallery(gallery())
    assert "row 3, column 5" in inspector.heading.text()
    assert inspector.clones.accessibleDescription() == "clone 6 60.0%, clone 2 30.0%"
    assert sum(heat.isVisible() for heat in inspector.maps) == 4
    hovered = emitted(inspector.clone_hovered)
    inspector.clones.setFocus()
    QTest.keyClick(inspector.clones, Qt.Key.Key_Down)
    assert hovered == [6]
    assert [heat.marked_row for heat in inspector.maps] == [6] * 4
    inspector.set_details({})
    assert not inspector.clones.isVisible()


def test_a_heat_map_names_the_cell_under_the_pointer(qtbot: QtBot) -> None:
    heat = HeatMap("→ right")
    shown(qtbot, heat, 120, 140)
    heat.set_matrix(np.array([[0.0, 1.0], [2.0, 3.0]]), (0.0, 3.0))
    area = heat.area()
    assert heat.cell_at(area.center() + QPointF(5, -5)) == (0, 1)
    assert heat.cell_at(QPointF(area.right() + 2, area.top())) is None
    picked = emitted(heat.picked)
    QTest.mouseClick(heat, LEFT, pos=(area.bottomLeft() + QPointF(4, -4)).toPoint())
    assert picked == [(1, 0)]


def test_direction_maps_stand_where_their_direction_points(qtbot: QtBot) -> None:
    maps = DirectionMaps()
    shown(qtbot, maps, 260, 260)
    residual = np.full((8, 6, 6), 1e-6, np.float32)
    maps.set_residual(residual)
    QApplication.processEvents()
    centre = maps.maps[None].geometry().center()
    assert maps.maps[0].geometry().center().x() > centre.x()  # right
    assert maps.maps[5].geometry().center().y() < centre.y()  # up
    chosen = emitted(maps.chosen)
    QTest.mouseClick(maps.maps[1], LEFT)
    QTest.mouseClick(maps.maps[None], LEFT)
    assert chosen == [1, None]
    maps.set_residual(residual[:4])
    assert len(maps.maps) == 5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)
def test_potentials_look_as_they_did(qtbot: QtBot, colours: Colours) -> None:
    heat = HeatMap("")
    heat.setPalette(palette_of(colours))
    qtbot.addWidget(heat)
    heat.resize(100, 120)
    heat.set_matrix(np.linspace(-2, 2, 100).reshape(10, 10), (-2.0, 2.0), "diverging")
    heat.mark_row(3)
    area = heat.area().toRect()
    assert_looks_like(heat.grab(area).toImage().scaled(80, 80), f"heat-map-{colours.name}", most=0.03)


# All of them ----------------------------------------------------------------------------------------------------------


def all_panels() -> list[QWidget]:
    form = ParameterForm()
    form.set_entry(ENTRY)
    browser, inspector, curves, histogram = CloneBrowser(), Inspector(), Curves(), Histogram()
    browser.set_gallery(gallery())
    inspector.set_details(DETAILS)
    inspector.set_gallery(gallery())
    curves.set_frame(frame(lane(9, scalars=scalars(1, 10)), iteration=9))
    histogram.set_shares(np.full((3, 20), 0.05, np.float32))
    others: list[QWidget] = [TransportBar(), Badge(), IterationStrip(), LayerList(SEGMENT_LAYERS), DirectionMaps()]
    return [form, browser, inspector, curves, histogram, Legend(SEGMENT_LAYERS), *others]


def test_panels_follow_the_theme_and_the_font_while_they_are_shown(theme: Theme, qtbot: QtBot) -> None:
    for panel in all_panels():
        shown(qtbot, panel, 700, 500)
        light = pixels(panel.grab().toImage())
        height = panel.sizeHint().height()
        theme.set_mode("dark")
        dark = pixels(panel.grab().toImage())
        assert light.mean() > 170 > 110 > dark.mean(), type(panel).__name__
        theme.set_scale(2.0)
        QApplication.processEvents()
        panel.grab()
        assert panel.sizeHint().height() > 1.1 * height, type(panel).__name__
        theme.set_scale(1.0)
        theme.set_mode("light")
        panel.close()


def test_everything_that_takes_focus_has_a_name_and_a_tip(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    for panel in [*all_panels(), ToolPalette(canvas)]:
        qtbot.addWidget(panel)
        for widget in [panel, *panel.findChildren(QWidget)]:
            inner = isinstance(widget.parent(), NumberBox) or widget.window() is not panel  # the latter are pop-ups
            if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or inner:
                continue
            named = widget.accessibleName() or (widget.text() if hasattr(widget, "text") else "")
            assert named, (type(panel).__name__, widget)


def test_commands_are_plain_values(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.toggle_play()
    assert all(isinstance(command, Command) for command in sent)
