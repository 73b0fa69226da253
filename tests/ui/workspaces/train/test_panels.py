"""The parts of the Train workspace, without an engine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.training import Panel, RunNote, Snapshot, TrainingPlan
from mrfstudio.ui.canvas.overlays import LayerStyle, layer_picture
from mrfstudio.ui.plots.probabilities import CalibrationPlot
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.workspaces.train.checkpoint_bar import CheckpointBar
from mrfstudio.ui.workspaces.train.model_picture import ModelPicture
from mrfstudio.ui.workspaces.train.query_wall import QueryWall
from mrfstudio.ui.workspaces.train.run_model import best_words
from mrfstudio.ui.workspaces.train.run_plots import LOSS, RunPlots, StepPlot, metric_words
from mrfstudio.ui.workspaces.train.run_series import RunCurves, RunSeries
from mrfstudio.ui.workspaces.train.run_table import RunTable
from mrfstudio.ui.workspaces.train.training_bar import TrainingBar, duration


def columns(steps: list[int], **others: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in {"step": steps, **others}.items()}


def snapshot(step: int = 3, queries: int = 4) -> Snapshot:
    given = np.ones((6, 8), np.uint8)
    answer = np.full((6, 8, 3), 1 / 3, np.float32)
    panels = (
        Panel("given", "observed", given, "What is seen."),
        Panel("answer", "belief", answer, "What is believed."),
    )
    inside = tuple(Panel(str(i), "belief", np.full((3, 3, 3), 1 / 3), "A clone.", "clones") for i in range(16))
    return Snapshot(
        "run",
        step,
        1.0,
        (panels,) * queries,
        (*inside, Panel("right", "signed", np.eye(18), "", "potentials")),
        ("CONTOUR", "OUT", "IN"),
        np.full((3, 20), 0.05),
        np.array([[0.1, 0.2, 0.5], [math.nan, math.nan, 0.0], [0.9, 0.8, 0.5]]),
        "What is asked.",
    )


# Numbers --------------------------------------------------------------------------------------------------------------


def test_a_series_keeps_every_step_and_fills_columns_that_come_late() -> None:
    series = RunSeries()
    for start in range(1, 3000, 7):
        steps = list(range(start, start + 7))
        series.extend(columns(steps, loss=[float(step) for step in steps]))
    assert series.last_step == 3003
    assert series.known("loss")[1].tolist() == list(range(1, 3004))
    series.extend(columns([3004], loss=[1.0], late=[5.0]))
    assert series.known("late")[0].tolist() == [3004]
    assert math.isnan(series.column("late")[0])


def test_the_validation_at_the_end_completes_the_last_step() -> None:
    series = RunSeries(columns([1, 2], loss=[0.5, 0.4]))
    series.extend({"step": np.array([2.0]), "loss": np.array([np.nan]), "validation/iou": np.array([0.9])})
    assert len(series) == 2
    assert series.known("loss")[1].tolist() == [0.5, 0.4]
    assert series.known("validation/iou")[0].tolist() == [2]


def test_steps_after_a_resume_replace_those_that_were_lost() -> None:
    series = RunSeries(columns([1, 2, 3, 4], loss=[4.0, 3.0, 2.0, 1.0]))
    series.extend(columns([3, 4, 5], loss=[0.3, 0.2, 0.1]))
    assert series.column("step").tolist() == [1, 2, 3, 4, 5]
    assert series.column("loss").tolist() == [4.0, 3.0, 0.3, 0.2, 0.1]


def test_names_of_metrics_read_like_words() -> None:
    assert metric_words("nce_bits") == "NCE"
    assert metric_words("iou_without_evidence") == "IoU without evidence"


@pytest.mark.parametrize(("seconds", "words"), [(4.4, "4 s"), (125, "2 min 05 s"), (7260, "2 h 01 min")])
def test_durations_are_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# Plots ----------------------------------------------------------------------------------------------------------------


def test_the_axis_of_the_loss_is_as_somebody_switches_it(qtbot: QtBot, theme: Theme) -> None:
    plot = StepPlot(LOSS, raw="loss")
    qtbot.addWidget(plot)
    plot.resize(300, 150)
    curves = RunCurves()
    curves.lanes[0] = RunSeries(columns([1, 2, 3], loss=[1.0, 0.2, 0.1], smoothed_loss=[1.0, 0.5, -0.1]))
    plot.set_logarithmic(y=True)
    plot.draw(curves, 3)  # type: ignore[arg-type]
    assert plot.points(curves.lanes[0])[1].tolist() == pytest.approx(
        [0.0, math.log10(0.5)]
    )  # a negative loss has no place
    plot.set_logarithmic(y=False)
    plot.draw(curves, 3)  # type: ignore[arg-type]
    assert plot.points(curves.lanes[0])[1].tolist() == [1.0, 0.5, -0.1]
    assert plot.range is not None
    assert plot.range[0] < -0.1
    plot.grab()


def test_plots_without_anything_to_show_leave_room_to_the_others(qtbot: QtBot, theme: Theme) -> None:
    plots = RunPlots()
    qtbot.addWidget(plots)
    assert not plots.empty.isHidden()
    curves = RunCurves()
    curves.lanes[0] = RunSeries(columns([1, 2], loss=[1.0, 0.5], smoothed_loss=[1.0, 0.7], gradient_norm=[1.0, 2.0]))
    curves.titles[0] = "mine"
    plots.set_runs(curves, (), "bits")
    assert plots.empty.isHidden()
    assert not plots.loss.isHidden()
    assert plots.converged.isHidden()
    assert all(plot.isHidden() for plot in plots.validation)
    plots.set_metrics((), "bits", expecting=True)
    plots.draw(2)
    assert not any(plot.isHidden() for plot in plots.validation)  # in a run that goes on nothing jumps when they come
    curves.lanes[0].extend(columns([3], loss=[0.4], converged=[0.5], **{"validation/iou": [0.7]}))
    plots.set_metrics(("iou",), "bits")
    plots.draw(3)
    assert not plots.converged.isHidden()
    assert [plot.isHidden() for plot in plots.validation] == [False, True]
    plots.set_snapshot(snapshot())
    assert plots.histogram.labels == ("CONTOUR", "OUT", "IN")
    assert not plots.calibration.isHidden()
    plots.resize(900, 150)
    plots.grab()
    with qtbot.waitSignal(plots.picked) as caught:
        qtbot.mouseClick(plots.loss, Qt.MouseButton.LeftButton, pos=plots.loss.place(7, 0).toPoint())
    assert caught.args == [7]


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_queries_and_insides_are_drawn_without_overlap(qtbot: QtBot, theme: Theme, mode: str) -> None:
    theme.set_mode(mode)  # type: ignore[arg-type]
    wall, picture = QueryWall(), ModelPicture()
    for widget, size in ((wall, (600, 300)), (picture, (240, 400))):
        qtbot.addWidget(widget)
        widget.resize(*size)
    wall.set_snapshot(snapshot())
    picture.set_panels(snapshot().pictures)
    for widget in (wall, picture):
        image = widget.grab().toImage()
        assert len({image.pixel(x, y) for x in range(0, 200, 5) for y in range(0, 200, 5)}) > 3
    for widget, count, area in ((wall, 8, (600, 300)), (picture, 17, (240, 400))):
        places = [hung.place for hung in widget.hung]
        assert len(places) == count
        assert not any(a.intersects(b) for i, a in enumerate(places) for b in places[:i])
        assert max(place.right() for place in places) <= area[0]
        assert max(place.bottom() for place in places) <= area[1]


def test_a_pixel_of_an_answer_says_its_numbers_and_the_wall_zooms(qtbot: QtBot, theme: Theme) -> None:
    wall = QueryWall()
    qtbot.addWidget(wall)
    wall.resize(600, 300)
    wall.set_snapshot(snapshot())
    hung = next(each for each in wall.hung if each.panel.title == "answer")
    array, (left, top, wide, high) = hung.panel.array, hung.place.getRect()
    row, column = array.shape[0] - 1, 1
    x, y = left + (column + 0.5) / array.shape[1] * wide, top + (row + 0.5) / array.shape[0] * high
    words = wall.words_at(x, y, wall.place(x, y))
    assert f"row {row}, column {column}" in words
    shares = [f"{share:.1%}" for share in np.atleast_1d(array[row, column])]
    assert all(share in words for share in shares)
    wall.zoom(0.25, wall.place(x, y))
    assert wall.zoomed
    assert wall.words_at(x, y, wall.place(x, y)) == words
    wall.now()
    assert len(wall.body.parts.images) == len(wall.hung)
    wall.reset()
    assert wall.span_x() == (0.0, 600.0)
    table = wall.content.to_csv()
    assert table.count("\n") == 1 + 4 * 6 * 8 * (1 + 3)  # a heading, and of four queries what is given and three labels
    assert '"query 2, answer, label 0, row 0",1,0.333' in table


def test_a_layer_of_another_version_is_drawn_by_its_numbers(qtbot: QtBot, theme: Theme) -> None:
    picture = ModelPicture()
    qtbot.addWidget(picture)
    picture.resize(200, 200)
    picture.set_panels([Panel("odd", "from the future", np.eye(5))])
    assert not picture.grab().toImage().isNull()


def test_a_signed_picture_is_paper_at_zero() -> None:
    pixels = layer_picture("signed", np.array([[-2.0, 0.0, 2.0]]), LayerStyle())
    assert pixels is not None
    assert pixels[0, 1] == layer_picture("signed", np.zeros((1, 1)), LayerStyle())[0, 0]  # type: ignore[index]
    assert len(set(pixels[0].tolist())) == 3


def test_calibration_passes_over_empty_bins(qtbot: QtBot, theme: Theme) -> None:
    plot = CalibrationPlot()
    qtbot.addWidget(plot)
    plot.resize(120, 120)
    accent = QColor(colours_of(plot).accent)

    def dotted(predicted: float, observed: float) -> bool:
        """Whether there is a dot where this answer belongs."""
        x, y = plot.place(predicted, observed).toTuple()
        image = plot.grab().toImage()
        near = [image.pixelColor(round(x) + dx, round(y) + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
        return all(colour == accent for colour in near)

    assert not dotted(0.1, 0.2)
    plot.set_points(snapshot().calibration)
    assert dotted(0.1, 0.2)
    assert dotted(0.9, 0.8)
    assert not dotted(0.5, 0.3)
    plot.set_points(np.full((3, 3), math.nan))
    assert not dotted(0.1, 0.2)


# Controls -------------------------------------------------------------------------------------------------------------


def test_the_slider_follows_the_newest_snapshot_until_it_is_dragged(qtbot: QtBot, theme: Theme) -> None:
    bar = CheckpointBar()
    qtbot.addWidget(bar)
    asked: list[int] = []
    bar.chosen.connect(asked.append)
    bar.set_steps((0, 10))
    bar.set_steps((0, 10, 20))
    assert asked == [10, 20]
    bar.slider.setValue(0)
    bar.set_steps((0, 10, 20, 30))
    assert asked == [10, 20, 0]
    bar.go_near(25)
    assert asked[-1] == 20
    bar.set_steps((0, 30, 40))  # 20 was thinned out
    assert asked[-1] == 0
    bar.follow.click()
    assert asked[-1] == 40
    bar.go_near(10**6)  # a click after the end means the newest, also one that is still on its way
    bar.set_steps((0, 30, 40, 50))
    assert asked[-1] == 50


def test_buttons_make_sense_in_every_state(qtbot: QtBot, theme: Theme) -> None:
    bar = TrainingBar()
    qtbot.addWidget(bar)

    def enabled() -> list[bool]:
        return [button.isEnabled() for button in (bar.start_button, bar.pause_button, bar.step_button, bar.stop_button)]

    run = RunNote("r", "mine", TrainingPlan("grid", "query", "border"), "running", step=5)
    assert enabled() == [False, False, False, False]
    bar.set_state(None, None, True)
    assert enabled() == [True, False, False, False]
    assert not bar.use_button.isEnabled()
    bar.set_state(run, run, True)
    assert enabled() == [False, True, True, True]
    bar.set_state(run, run, True, stopping=True)
    assert enabled() == [False, False, False, False]
    stopped = RunNote("r", "mine", TrainingPlan("grid", "query", "border"), "interrupted", step=5)
    bar.set_state(None, stopped, True)
    assert enabled() == [True, True, False, False]
    assert bar.pause_button.text() == "Resume"
    bar.set_state(
        None, RunNote("r", "mine", TrainingPlan("grid", "query", "border"), "interrupted", step=5, elsewhere=True), True
    )
    assert enabled() == [True, False, False, False]


def test_the_table_sorts_the_best_first_whatever_better_means(qtbot: QtBot, theme: Theme) -> None:
    table = RunTable()
    qtbot.addWidget(table)
    assert table.stack.currentWidget() is table.empty
    notes = [
        RunNote("a", "low", TrainingPlan("grid", "query", "border"), "finished", scores={"nce_bits": 0.3, "iou": 0.9}),
        RunNote("b", "lowest", TrainingPlan("grid", "query", "border"), "stopped", scores={"nce_bits": 0.1}),
        RunNote("c", "none", TrainingPlan("grid", "query", "border"), "running"),
    ]
    table.set_notes(notes)
    assert best_words(notes[0]) == "NCE 0.3, IoU 0.9"
    table.view.sortByColumn(6, Qt.SortOrder.AscendingOrder)
    assert [table.sorted.index(row, 0).data() for row in range(3)] == ["lowest", "low", "none"]
    table.choose("c")
    assert [note.run for note in table.chosen] == ["c"]
    assert not table.buttons["delete"].isEnabled()  # it runs
    table.choose("b")
    assert table.buttons["resume"].isEnabled()
    with qtbot.waitSignal(table.delete) as caught:
        qtbot.mouseClick(table.buttons["delete"], Qt.MouseButton.LeftButton)
    assert caught.args == [["b"]]
    assert all(widget.toolTip() for widget in table.buttons.values())
    assert isinstance(table.view, QWidget)


@pytest.mark.parametrize("make", [QueryWall, ModelPicture])
def test_words_that_stay_the_same_paint_nothing(
    qtbot: QtBot, theme: Theme, monkeypatch: pytest.MonkeyPatch, make: type[QueryWall | ModelPicture]
) -> None:
    """They are said again five times a second while a run goes on."""
    widget = make()
    qtbot.addWidget(widget)
    updates: list[str] = []
    monkeypatch.setattr(widget, "update", lambda: updates.append(widget.empty_text))
    for text in ("wait", "wait", "none"):
        widget.set_empty_text(text)
    assert updates == ["wait", "none"]


def test_runs_that_differ_only_in_their_seed_are_one_curve_with_a_band(qtbot: QtBot, theme: Theme) -> None:
    curves = RunCurves()
    for lane, loss in enumerate(([1.0, 0.5, 0.2], [3.0, 1.5, 0.4, 0.1])):
        curves.lanes[lane] = RunSeries(columns(list(range(1, len(loss) + 1)), smoothed_loss=loss))
        curves.titles[lane] = f"run {lane}"
    plot = StepPlot(LOSS)
    qtbot.addWidget(plot)
    plot.draw(curves, 3)
    assert len(plot.content.lines) == 2
    curves.alike = {0: 0, 1: 0}
    plot.draw(curves, 3)
    (line,) = plot.content.lines
    assert line.x.tolist() == [1, 2, 3]
    assert line.y.tolist() == pytest.approx([2.0, 1.0, 0.3])
    assert line.low is not None
    assert line.high is not None
    assert (line.low.tolist(), line.high.tolist()) == ([1.0, 0.5, 0.2], [3.0, 1.5, 0.4])
    assert line.name == "run 0, mean of 2 seeds"


def test_the_table_has_a_column_for_every_parameter_that_differs_and_filters(qtbot: QtBot, theme: Theme) -> None:
    def note(run: str, **options: object) -> RunNote:
        return RunNote(run, run, TrainingPlan("grid", "query", "border", options=options), "finished")

    table = RunTable()
    qtbot.addWidget(table)
    table.set_notes([note("first", clones=16, epochs=2), note("second", clones=8, epochs=2), note("third", epochs=2)])
    titles = [column.title for column in table.model.columns]
    assert titles[-1] == "clones"
    assert "epochs" not in titles
    column = len(titles) - 1
    table.view.sortByColumn(column, Qt.SortOrder.AscendingOrder)
    shown = [table.sorted.index(row, column).data() for row in range(3)]
    assert shown == ["8", "16", ""]
    table.filter.setText("seco")
    assert table.sorted.rowCount() == 1
