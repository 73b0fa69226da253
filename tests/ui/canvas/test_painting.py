"""Painting never waits, and every tool makes its command."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QPointingDevice, QTabletEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Command, Fill, Paint, PaintEllipse, PaintLasso, PaintRectangle
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.protocol.raster import stroke_mask
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.style.colours import LIGHT, rgb
from tests.ui.helpers.canvas import LEFT, NONE, RIGHT, at, drag, shown
from tests.ui.helpers.pictures import frame, given


def test_a_stroke_is_drawn_before_the_engine_answers(canvas: Canvas, sent: list[Command]) -> None:
    drag(canvas, [(3, 2), (3, 9)])
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[3, 2:10] == 0).all()
    assert (shown(canvas)[3, 2:10] == rgb(LIGHT.ink)).all()


def test_fast_strokes_have_no_gaps_and_are_one_undo_step(canvas: Canvas, sent: list[Command]) -> None:
    drag(canvas, [(2, 1), (2, 14), (13, 14)])
    strokes = [command for command in sent if isinstance(command, Paint)]
    assert len({stroke.stroke_id for stroke in strokes}) == 1
    assert all(a.points[-1] == b.points[0] for a, b in itertools.pairwise(strokes))
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[2, 1:14] == 0).all()
    assert (observed[3:14, 14] == 0).all()


def test_two_strokes_are_two_undo_steps(canvas: Canvas, sent: list[Command]) -> None:
    drag(canvas, [(2, 1), (2, 3)])
    drag(canvas, [(5, 1), (5, 3)])
    assert len({command.stroke for command in sent}) == 2


def test_what_is_drawn_at_once_is_what_the_engine_will_paint(canvas: Canvas, sent: list[Command]) -> None:
    canvas.set_radius(2.5)
    drag(canvas, [(4, 4), (9, 11)])
    expected = np.ones((16, 16), bool)
    for command in sent:
        assert isinstance(command, Paint)
        top, left, mask = stroke_mask(command.points, command.radius, (16, 16))
        expected[top : top + mask.shape[0], left : left + mask.shape[1]] &= ~mask
    np.testing.assert_array_equal(canvas.scene.layer("observed"), expected)


def test_a_frame_takes_over_strokes_that_it_shows_and_keeps_later_ones(canvas: Canvas) -> None:
    number = iter(range(1, 100))
    canvas.command.connect(lambda command: canvas.posted(command, next(number)))
    drag(canvas, [(3, 3), (3, 3)])
    drag(canvas, [(8, 8), (8, 8)])
    answered = given()
    observed = answered["observed"].copy()
    observed[3, 3] = 0
    canvas.set_frame(frame(layers={**answered, "observed": observed}, applied=1))
    layer = canvas.scene.layer("observed")
    assert layer is not None
    assert layer[3, 3] == 0
    assert layer[8, 8] == 0
    assert len(canvas.scene.pending.edits) == 1
    # The engine refused the second stroke: its frame says so by not showing it.
    canvas.set_frame(frame(layers={**answered, "observed": observed}, applied=2))
    assert canvas.scene.layer("observed") is observed


def test_the_right_button_erases_with_every_tool(canvas: Canvas, sent: list[Command]) -> None:
    drag(canvas, [(5, 5), (5, 6)], RIGHT)
    canvas.choose_tool("rectangle")
    drag(canvas, [(1, 1), (4, 4)], RIGHT)
    canvas.choose_tool("fill")
    QTest.mouseClick(canvas, RIGHT, NONE, at(canvas, 2, 2))
    assert {type(command) for command in sent} == {Paint, PaintRectangle, Fill}
    assert {command.value for command in sent} == {-1}  # type: ignore[attr-defined]


def test_erasing_empties_pixels_at_once(canvas: Canvas) -> None:
    drag(canvas, [(5, 2), (5, 9)])
    canvas.choose_tool("eraser")
    drag(canvas, [(5, 4), (5, 6)])
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert observed[5, 2:10].tolist() == [0, 0, 1, 1, 1, 0, 0, 0]


def test_hints_carry_their_label_and_strength(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_target(2)
    canvas.set_strength(0.5)
    drag(canvas, [(4, 4), (4, 5)])
    assert isinstance(sent[0], Paint)
    assert (sent[0].layer, sent[0].value, sent[0].strength) == ("hints", 2, 0.5)
    hints, strength = canvas.scene.layer("hints"), canvas.scene.layer("hints_strength")
    assert hints is not None
    assert strength is not None
    assert hints[4, 4] == 2
    assert strength[4, 4] == 0.5
    assert (hints == NO_HINT).sum() == 16 * 16 - 2


def test_observed_contours_are_never_soft(canvas: Canvas, sent: list[Command]) -> None:
    canvas.set_strength(0.5)
    drag(canvas, [(4, 4), (4, 5)])
    assert all(command.strength == 1.0 for command in sent if isinstance(command, Paint))


def test_a_second_button_does_not_disturb_a_stroke(canvas: Canvas, sent: list[Command]) -> None:
    QTest.mousePress(canvas, LEFT, NONE, at(canvas, 2, 2))
    QTest.mousePress(canvas, RIGHT, NONE, at(canvas, 2, 2))
    QTest.mouseMove(canvas, at(canvas, 2, 9))
    QTest.mouseRelease(canvas, RIGHT, NONE, at(canvas, 2, 9))
    QTest.mouseMove(canvas, at(canvas, 2, 12))
    QTest.mouseRelease(canvas, LEFT, NONE, at(canvas, 2, 12))
    assert {command.value for command in sent if isinstance(command, Paint)} == {0}
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[2, 2:13] == 0).all()


def test_shift_click_draws_a_straight_line_from_the_last_point(canvas: Canvas, sent: list[Command]) -> None:
    QTest.mouseClick(canvas, LEFT, NONE, at(canvas, 2, 2))
    QTest.mouseClick(canvas, LEFT, Qt.KeyboardModifier.ShiftModifier, at(canvas, 2, 12))
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[2, 2:13] == 0).all()


def test_a_rectangle_covers_the_pixels_of_both_corners_and_stays_inside(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("rectangle")
    drag(canvas, [(4, 3), (2, 6)])
    drag(canvas, [(14, 14), (20, 20)])
    canvas.choose_target(2)
    drag(canvas, [(14, 14), (20, 20)])
    assert [command.rectangle for command in sent if isinstance(command, PaintRectangle)] == [
        (2, 3, 3, 4),
        (14, 14, 7, 7),  # an outline that goes on beyond the picture
        (14, 14, 2, 2),
    ]


def test_an_ellipse_may_reach_beyond_the_picture_and_is_drawn_at_once(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("ellipse")
    drag(canvas, [(10, 2), (4, 8)])
    assert sent == [PaintEllipse("observed", 0, (4, 2, 7, 7), outline=True)]
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[7, [2, 8]] == 0).all()  # a line
    assert observed[7, 5] == 1  # around nothing
    assert observed[4, 2] == 1  # the corner of its box
    assert drag(canvas, [(12, 12), (20, 20)]) is None
    assert sent[1:] == [PaintEllipse("observed", 0, (12, 12, 9, 9), outline=True)]


def test_a_lasso_draws_its_line_and_erases_what_it_goes_around_or_everything_but_it(
    canvas: Canvas, sent: list[Command]
) -> None:
    QTest.keyClick(canvas, Qt.Key.Key_L)
    around = [(2, 2), (2, 10), (10, 10), (10, 2)]
    drag(canvas, around)
    assert [type(command) for command in sent] == [PaintLasso]
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[[2, 10], 2:11] == 0).all()
    assert (observed[3:10, 3:10] == given()["observed"][3:10, 3:10]).all()
    QTest.keyClick(canvas, Qt.Key.Key_X)
    drag(canvas, around, Qt.MouseButton.RightButton)
    assert [getattr(command, "outside", None) for command in sent] == [False, True]
    drag(canvas, [(5, 5), (5, 5)])  # a click goes around nothing
    assert len(sent) == 2


@pytest.mark.parametrize("tool", ["rectangle", "ellipse", "lasso"])
def test_contours_are_outlines_hints_are_areas_and_shift_fills(canvas: Canvas, sent: list[Command], tool: str) -> None:
    canvas.choose_tool(tool)
    around = [(2, 2), (2, 12), (12, 12)] if tool == "lasso" else [(2, 2), (12, 12)]
    for target, held in ((0, NONE), (0, Qt.KeyboardModifier.ShiftModifier), (2, NONE)):
        canvas.choose_target(target)
        QTest.mousePress(canvas, LEFT, held, at(canvas, *around[0]))
        for point in around[1:]:
            QTest.mouseMove(canvas, at(canvas, *point))
        QTest.mouseRelease(canvas, LEFT, held, at(canvas, *around[-1]))
    assert [(command.layer, command.outline) for command in sent] == [  # type: ignore[attr-defined]
        ("observed", True),
        ("observed", False),
        ("hints", False),
    ]
    inside = (5, 9)
    hints = canvas.scene.layer("hints")
    assert hints is not None
    assert hints[inside] == 2


def test_an_ellipse_with_the_keyboard_takes_two_enters(canvas: Canvas, sent: list[Command]) -> None:
    for key in (Qt.Key.Key_C, Qt.Key.Key_Left, Qt.Key.Key_Return, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(canvas, key)
    assert sent == [PaintEllipse("observed", 0, (8, 7, 2, 2), outline=True)]


def test_escape_forgets_a_rectangle_being_drawn(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("rectangle")
    QTest.mousePress(canvas, LEFT, NONE, at(canvas, 2, 2))
    QTest.mouseMove(canvas, at(canvas, 8, 8))
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.mouseRelease(canvas, LEFT, NONE, at(canvas, 8, 8))
    assert sent == []


def test_fill_names_its_pixel_and_ignores_clicks_beside_the_picture(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("fill")
    QTest.mouseClick(canvas, LEFT, NONE, at(canvas, 7, 9))
    QTest.mouseClick(canvas, LEFT, NONE, QPoint(1, 1))
    assert sent == [Fill("observed", 0, 7, 9)]


def test_inspecting_reports_the_pixel_and_paints_nothing(canvas: Canvas, sent: list[Command], qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.pixel_clicked) as signal:
        QTest.mouseClick(canvas, LEFT, Qt.KeyboardModifier.AltModifier, at(canvas, 5, 6))
    assert signal.args == [5, 6]
    canvas.choose_tool("inspect")
    with qtbot.waitSignal(canvas.pixel_clicked):
        QTest.mouseClick(canvas, LEFT, NONE, at(canvas, 5, 6))
    assert sent == []


@pytest.mark.parametrize("pressure_counts", [True, False])
def test_a_pen_presses_wider_strokes_and_its_other_end_erases(
    canvas: Canvas, sent: list[Command], pressure_counts: bool
) -> None:
    canvas.set_radius(4)
    canvas.pen_pressure = pressure_counts
    tip, eraser = QPointingDevice.PointerType.Pen, QPointingDevice.PointerType.Eraser
    for pointer in (tip, eraser):
        for kind in (QEvent.Type.TabletPress, QEvent.Type.TabletRelease):
            _pen(canvas, kind, pointer, pressure=0.5)
    strokes = [command for command in sent if isinstance(command, Paint)]
    assert [stroke.value for stroke in strokes] == [0, -1]
    assert {stroke.radius for stroke in strokes} == ({2.0} if pressure_counts else {4.0})


def _pen(canvas: Canvas, kind: QEvent.Type, pointer: QPointingDevice.PointerType, pressure: float) -> None:
    device = QPointingDevice(
        "pen", 7, QPointingDevice.DeviceType.Stylus, pointer, QPointingDevice.Capability.Pressure, 1, 1
    )
    place = QPointF(at(canvas, 8, 8))
    event = QTabletEvent(kind, device, place, place, pressure, 0, 0, 0, 0, 0, NONE, LEFT, LEFT)
    QApplication.sendEvent(canvas, event)
