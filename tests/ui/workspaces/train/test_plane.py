"""The plane of Train, without an engine."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.training import PlanePicture, Snapshot
from mrfstudio.ui.style.colours import DARK, LIGHT, rgb
from mrfstudio.ui.workspaces.train.plane import PlaneCanvas
from mrfstudio.ui.workspaces.train.plane_picture import FINER, LEVELS, component_colours, level_lines, plane_image
from mrfstudio.ui.workspaces.train.query_wall import QueryWall
from mrfstudio.ui.workspaces.train.stage import PAINT, WAIT, TrainStage


def picture(components: int = 2, lines: int = 0) -> PlanePicture:
    density = np.zeros((8, 8), np.float32)
    density[:4] = 1.0
    shares = np.zeros((components, 8, 8), np.float32)
    if components:
        shares[0] = 1.0
    return PlanePicture(
        (-2.0, -2.0, 2.0, 2.0),
        density,
        shares,
        samples=np.zeros((3, 2), np.float32),
        sample_components=np.zeros(3, np.int64),
        points=np.array([[1.0, 1.0], [-1.0, -1.0]], np.float32),
        responsibilities=np.full((2, components), 1 / max(components, 1), np.float32),
        lines=np.tile(np.array([[0, 0, 1, 1, 0.5]], np.float32), (lines, 1)),
    )


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_the_density_is_below_and_has_the_hue_of_its_component(colours) -> None:  # type: ignore[no-untyped-def]
    image = plane_image(picture(), colours).astype(int)
    assert image.shape == (8 * FINER, 8 * FINER, 3)
    paper, hue = np.array(rgb(colours.paper)), component_colours(2, colours)[0].astype(int)
    assert np.abs(image[-3, 6] - paper).max() <= 1  # the highest row comes last, and nothing is there
    assert np.abs(image[2, 6] - hue).sum() < np.abs(image[2, 6] - paper).sum()


def test_lines_of_equal_density_are_circles_around_a_round_cloud() -> None:
    middles = (np.arange(60) + 0.5) / 60
    away = np.hypot(middles - 0.5, middles[:, None] - 0.5)
    lines = level_lines(np.exp(-0.5 * (away / 0.1) ** 2))
    ends = np.hypot(lines[:, [0, 2]] - 0.5, lines[:, [1, 3]] - 0.5)
    expected = 0.1 * np.sqrt(-2 * np.log(LEVELS))
    assert np.abs(ends[..., None] - expected).min(-1).max() < 0.003
    for radius in expected:  # each is closed: as long as its circle
        own = lines[np.abs(ends - radius).max(1) < 0.003]
        assert np.hypot(*(own[:, 2:] - own[:, :2]).T).sum() == pytest.approx(2 * np.pi * radius, rel=0.02)
    assert level_lines(np.zeros((5, 5), np.float32)).shape == (0, 4)


def test_lines_go_with_the_density(qtbot: QtBot) -> None:
    canvas = PlaneCanvas()
    qtbot.addWidget(canvas)
    canvas.set_picture(picture())
    (levels,) = canvas.content.shapes
    assert np.abs(levels.y).max() < 0.3  # the density ends in the middle
    canvas.set_layer("density", False)
    assert not canvas.content.shapes


def test_positions_and_points_are_each_others_inverse(qtbot: QtBot) -> None:
    canvas = PlaneCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 200)
    canvas.set_picture(picture())
    assert canvas.at(canvas.place(1.0, -0.5)) == pytest.approx((1.0, -0.5))
    assert canvas.place(0.0, 1.0).y() < canvas.place(0.0, 0.0).y()
    canvas.zoom(0.5, canvas.area().center(), across=True, up=True)
    assert canvas.at(canvas.place(1.0, -0.5)) == pytest.approx((1.0, -0.5))


def test_the_brush_adds_and_removes_while_a_run_goes_on(qtbot: QtBot) -> None:
    canvas = PlaneCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 300)
    canvas.set_picture(picture())
    heard: list[tuple] = []
    canvas.painted.connect(lambda add, erase: heard.append((add, erase)))
    middle = canvas.place(0.0, 0.0).toPoint()
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle)
    assert heard == []  # nobody would learn from it
    canvas.can_paint = True
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle)
    (added, erased), radius = heard[0], canvas.plane_radius
    assert len(added) == 5
    assert erased == ()
    assert all(np.hypot(*point) <= radius * 1.05 for point in added)
    qtbot.mouseClick(canvas, Qt.MouseButton.RightButton, pos=middle)
    assert heard[1][0] == ()
    assert heard[1][1][0][2] == pytest.approx(radius)
    qtbot.keyClick(canvas, Qt.Key.Key_BracketRight)
    assert canvas.plane_radius > radius


def test_the_stage_shows_the_plane_where_there_is_one(qtbot: QtBot) -> None:
    stage = TrainStage(QueryWall())
    qtbot.addWidget(stage)
    stage.set_snapshot(Snapshot("run", 1, 0.0, (), (), plane=picture(lines=2)))
    assert stage.currentIndex() == 1
    assert not stage.switches["plan"].isHidden()
    stage.set_snapshot(Snapshot("run", 2, 0.0, (), (), plane=picture()))
    assert stage.switches["plan"].isHidden()
    stage.set_snapshot(Snapshot("run", 3, 0.0, (), ()))
    assert stage.currentIndex() == 0
    stage.set_live(True)
    assert stage.hint.text() == PAINT
    stage.set_live(False)
    assert stage.hint.text() == WAIT


def test_the_plane_is_a_plot_that_zooms_pans_and_says_its_numbers(qtbot: QtBot) -> None:
    canvas = PlaneCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(400, 400)
    canvas.set_picture(picture(lines=3))
    canvas.set_layer("samples", True)
    canvas.now()
    radius, below = canvas.plane_radius, canvas.place(0.1, -1.1)
    assert "density <b>1</b>" in canvas.words_at(*canvas.at(below), below)
    assert "component 1 has 100% of it" in canvas.words_at(*canvas.at(below), below)
    canvas.zoom(0.5, canvas.area().center(), across=True, up=True)
    assert canvas.plane_radius == pytest.approx(radius / 2)  # the brush keeps its size on the screen
    qtbot.mousePress(canvas, Qt.MouseButton.MiddleButton, pos=QPoint(200, 200))
    before = canvas.span_x()
    moved = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(240, 200),
        canvas.mapToGlobal(QPointF(240, 200)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.MiddleButton,
        Qt.KeyboardModifier.NoModifier,
    )
    canvas.mouseMoveEvent(moved)
    assert canvas.span_x()[0] < before[0]
    qtbot.keyClick(canvas, Qt.Key.Key_Home)
    assert canvas.span_x() == (-2.0, 2.0)
    assert len(canvas.content.to_csv().splitlines()) == 1 + 2 + 3 + 64  # heading, points, samples, cells


def test_transport_without_components_is_drawn_in_one_colour(qtbot: QtBot) -> None:
    canvas = PlaneCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(200, 200)
    canvas.set_picture(picture(components=0, lines=3))
    canvas.set_layer("samples", True)
    assert not canvas.grab().isNull()


def test_where_there_is_little_room_the_stage_is_narrower_and_its_hint_is_a_tip(qtbot: QtBot) -> None:
    stage = TrainStage(QueryWall())
    qtbot.addWidget(stage)
    page = stage.widget(1)
    wide = page.minimumSizeHint()
    stage.set_narrow(True)
    assert page.minimumSizeHint().width() < wide.width()
    assert stage.plane.toolTip() == WAIT
    stage.set_live(True)
    assert stage.plane.toolTip() == PAINT
    stage.set_narrow(False)
    assert page.minimumSizeHint() == wide
    assert not stage.plane.toolTip()
