"""What is painted between two pictures that stand still is what Qt's scene paints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.content import Content, PlotLevel, PlotLine, PlotMark
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import Colours
from tests.ui.helpers.widgets import shown

X = np.arange(1.0, 41.0)


def line(key: int, y: np.ndarray, **more: object) -> PlotLine:
    def paint(colours: Colours) -> QColor:
        return QColor(colours.lanes[key])

    return PlotLine(key, f"line {key}", np.arange(1.0, len(y) + 1), y, paint, key, **more)  # type: ignore[arg-type]


@pytest.fixture
def plot(qtbot: QtBot) -> Plot:
    content = Content("residual", "nats", "What is left.", "iteration")
    low, high = 1 / X - 0.02, 1 / X + 0.1
    content.lines = [line(0, 1 / X, low=low, high=high), line(1, 0.5 + 0.3 * np.sin(X)), line(2, X / 50, named=False)]
    content.levels, content.marks, content.present = [PlotLevel("exact", 0.4)], [PlotMark(12.0, "damping")], 30.0
    return shown(qtbot, Plot(content), 420, 220)


def by_the_scene(plot: Plot) -> np.ndarray:
    body = plot.body
    picture = body._blank()
    painter = QPainter(picture)
    body.render(painter, QRectF(body.rect()), body.rect())
    painter.end()
    return pixels(picture.toImage())


def pixels(image: QImage) -> np.ndarray:
    """(height, width, 4) int of a picture."""
    plain = image.convertToFormat(QImage.Format.Format_RGBA8888)
    return np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.width(), 4).astype(int)


def quick(plot: Plot) -> np.ndarray:
    plot.now()
    assert plot.body._picture is not None
    return pixels(plot.body._picture.toImage())


@pytest.mark.parametrize("logarithmic", [False, True])
def test_curves_bands_marks_levels_and_axes_are_where_the_scene_has_them(plot: Plot, logarithmic: bool) -> None:
    plot.set_logarithmic(x=logarithmic, y=logarithmic)
    made, scene = quick(plot), by_the_scene(plot)
    assert len(np.unique(scene.reshape(-1, 4), axis=0)) > 20  # there is something to see
    assert np.abs(made - scene).max() <= 2


def test_what_stands_still_is_drawn_again_as_soon_as_it_changes(plot: Plot) -> None:
    content = plot.content
    for change in (
        lambda: plot.zoom(0.5, plot.area().center()),
        lambda: content.switch(1),
        lambda: setattr(content, "marks", [PlotMark(20.0, "damping")]),
        lambda: setattr(content, "levels", []),
        lambda: setattr(content, "present", None),
        lambda: setattr(content, "lines", [replace(content.lines[0], y=content.lines[0].y + 0.1)]),
        lambda: plot.resize(300, 160),
    ):
        before = quick(plot)
        change()
        after = quick(plot)
        assert after.shape != before.shape or (after != before).any()
        assert np.abs(after - by_the_scene(plot)).max() <= 2


def test_only_curves_are_drawn_while_points_arrive(plot: Plot, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(plot)
    rendered: list[object] = []
    render = plot.body.render
    monkeypatch.setattr(plot.body, "render", lambda *given: rendered.append(render(*given)))
    plot.zoom_x = plot.span_x()
    plot.zoom_y = plot.span_y()
    before = quick(plot)
    plot.content.lines = [line(0, 0.9 / X)]
    plot.content.present = 31.0
    after = quick(plot)
    assert rendered == []
    assert (before != after).any()
    plot.zoom(0.5, plot.area().center())
    quick(plot)
    assert len(rendered) == 2, "what is behind the curves and what is above them, once each"


def test_a_line_that_fills_its_columns_is_solid_and_keeps_its_peaks(plot: Plot) -> None:
    y = np.tile([0.0, 1.0], 10_000)
    y[7777] = 3.0
    plot.content.lines = [line(1, y)]
    plot.content.levels, plot.content.marks = [], []
    made = quick(plot)
    item = plot.body.parts.curves[0]
    assert item.dense
    assert item.opts["pen"].dashPattern(), "in a file it has its dashes"
    body = plot.body
    column = round(plot.place(7778.0, 0.0).x() - body.x())
    colour = np.array(item.opts["pen"].color().getRgb())
    near = made[:, column - 4 : column + 5]
    tallest = np.flatnonzero((np.abs(near - colour).max(axis=2) <= 2).any(axis=1)).min()
    assert tallest == pytest.approx(plot.place(0.0, 3.0).y() - body.y(), abs=2)
    high, low = (round(plot.place(0.0, height).y() - body.y()) for height in (1.0, 0.0))
    filled = made[high + 3 : low - 2, round(plot.place(5000.0, 0.0).x() - body.x())]
    assert len(filled) > 20
    away = np.abs(filled - colour).max(axis=1)
    assert (away > 2).sum() <= 2, "dashes leave holes"  # a line of the grid lies above it
