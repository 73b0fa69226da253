"""The canvas: painting never waits, tools make commands, hands find what they know."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QFocusEvent, QImage, QPointingDevice, QTabletEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.commands import ClearLayer, Command, Fill, Paint, PaintEllipse, PaintLasso, PaintRectangle, Step
from mrfstudio.engine.frames import NO_HINT
from mrfstudio.engine.raster import stroke_mask
from mrfstudio.ui.canvas import SEGMENT_TARGETS, Canvas
from mrfstudio.ui.canvas.overlays import Look, deviation
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.colours import DARK, LIGHT, rgb
from mrfstudio.ui.theme import palette_of
from tests.ui.pictures import assert_looks_like, beliefs, frame, given, lane, pixels, ring

LEFT, RIGHT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def canvas(qtbot: QtBot) -> Canvas:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.setPalette(palette_of(LIGHT))
    canvas.resize(400, 400)
    canvas.show()
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring())})))
    canvas.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    # The pointer rests where an earlier test left it, perhaps over this canvas.
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.Leave))
    return canvas


@pytest.fixture
def sent(canvas: Canvas) -> list[Command]:
    """Every command the canvas emits."""
    commands: list[Command] = []
    canvas.command.connect(commands.append)
    return commands


def at(canvas: Canvas, row: float, column: float) -> QPoint:
    """The middle of a pixel on the widget."""
    return canvas.transform.to_widget(column + 0.5, row + 0.5).toPoint()


def drag(canvas: Canvas, points: list[tuple[int, int]], button: Qt.MouseButton = LEFT) -> None:
    QTest.mousePress(canvas, button, NONE, at(canvas, *points[0]))
    for point in points[1:]:
        QTest.mouseMove(canvas, at(canvas, *point))
    QTest.mouseRelease(canvas, button, NONE, at(canvas, *points[-1]))


def wheel(canvas: Canvas, position: QPointF, amount: int, modifiers: Qt.KeyboardModifier = NONE) -> None:
    event = QWheelEvent(
        position,
        canvas.mapToGlobal(position),
        QPoint(),
        QPoint(0, amount),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def shown(canvas: Canvas) -> np.ndarray:
    """The colour in the middle of each pixel as it is on the screen, (h, w, 3)."""
    canvas.pointer = None
    image = pixels(canvas.grab().toImage())
    rows, columns = canvas.scene.shape
    scale = image.shape[1] / canvas.width()
    points = [[canvas.transform.to_widget(c + 0.5, r + 0.5) * scale for c in range(columns)] for r in range(rows)]
    return np.array([[image[int(p.y()), int(p.x())] for p in row] for row in points])


# Painting -------------------------------------------------------------------------------------------------------------


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
    assert (observed[2, 1:15] == 0).all()
    assert (observed[2:14, 14] == 0).all()


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
    assert [command.rectangle for command in sent if isinstance(command, PaintRectangle)] == [
        (2, 3, 3, 4),
        (14, 14, 2, 2),
    ]


def test_an_ellipse_may_reach_beyond_the_picture_and_is_drawn_at_once(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("ellipse")
    drag(canvas, [(10, 2), (4, 8)])
    assert sent == [PaintEllipse("observed", 0, (4, 2, 7, 7))]
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert observed[7, 5] == 0
    assert observed[4, 2] == 1  # the corner of its box
    assert drag(canvas, [(12, 12), (20, 20)]) is None
    assert sent[1:] == [PaintEllipse("observed", 0, (12, 12, 9, 9))]


def test_a_lasso_fills_what_it_goes_around_or_everything_but_it(canvas: Canvas, sent: list[Command]) -> None:
    QTest.keyClick(canvas, Qt.Key.Key_L)
    around = [(2, 2), (2, 10), (10, 10), (10, 2)]
    drag(canvas, around)
    assert [type(command) for command in sent] == [PaintLasso]
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert (observed[3:10, 3:10] == 0).all()
    assert observed[12, 12] == 1
    QTest.keyClick(canvas, Qt.Key.Key_X)
    drag(canvas, around, Qt.MouseButton.RightButton)
    assert [getattr(command, "outside", None) for command in sent] == [False, True]
    drag(canvas, [(5, 5), (5, 5)])  # a click goes around nothing
    assert len(sent) == 2


def test_an_ellipse_with_the_keyboard_takes_two_enters(canvas: Canvas, sent: list[Command]) -> None:
    for key in (Qt.Key.Key_C, Qt.Key.Key_Left, Qt.Key.Key_Return, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(canvas, key)
    assert sent == [PaintEllipse("observed", 0, (8, 7, 2, 2))]


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


# View -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", [120, -120, 360])
def test_the_wheel_zooms_at_the_cursor(canvas: Canvas, amount: int) -> None:
    place = QPointF(at(canvas, 4, 11))
    before = canvas.transform.to_image(place)
    scale = canvas.transform.scale
    wheel(canvas, place, amount)
    assert canvas.transform.scale != scale
    assert canvas.transform.to_image(place) == pytest.approx(before)


def test_ctrl_wheel_changes_the_brush_not_the_view(canvas: Canvas) -> None:
    scale, radius = canvas.transform.scale, canvas.tools.radius
    wheel(canvas, QPointF(200, 200), 120, Qt.KeyboardModifier.ControlModifier)
    assert canvas.tools.radius > radius
    assert canvas.transform.scale == scale


def test_middle_drag_and_space_drag_pan_and_paint_nothing(canvas: Canvas, sent: list[Command], qtbot: QtBot) -> None:
    canvas.zoom(2)
    played: list[bool] = []
    canvas.play_pause.connect(lambda: played.append(True))
    for button, space in ((MIDDLE, False), (LEFT, True)):
        left = canvas.transform.left
        if space:
            QTest.keyPress(canvas, Qt.Key.Key_Space)
        QTest.mousePress(canvas, button, NONE, QPoint(200, 200))
        QTest.mouseMove(canvas, QPoint(230, 200))
        QTest.mouseRelease(canvas, button, NONE, QPoint(230, 200))
        if space:
            QTest.keyRelease(canvas, Qt.Key.Key_Space)
        assert canvas.transform.left == pytest.approx(left + 30)
    assert sent == []
    assert played == []


def test_the_picture_cannot_be_lost(canvas: Canvas) -> None:
    canvas.set_transform(canvas.transform.moved(1e6, -1e6))
    assert canvas.visible_rectangle()[2] > 0
    assert canvas.visible_rectangle()[3] > 0


def test_a_fitted_picture_is_fitted_again_when_the_window_grows_and_a_zoomed_one_keeps_its_middle(
    canvas: Canvas,
) -> None:
    canvas.resize(600, 600)
    assert canvas.transform == Transform.fitting((16, 16), canvas.size().toSizeF())
    canvas.zoom(3)
    middle = canvas.transform.to_image(QPointF(300, 300))
    canvas.resize(500, 500)
    assert canvas.transform.to_image(QPointF(250, 250)) == pytest.approx(middle)


def test_view_changed_tells_which_pixels_are_seen(canvas: Canvas, qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.view_changed) as signal:
        canvas.zoom(8)
    top, left, height, width = signal.args[0]
    assert height < 16
    assert width < 16
    corner = canvas.transform.to_image(QPointF(0, 0))
    assert (top, left) == (int(corner[1]), int(corner[0]))


@pytest.mark.parametrize("zoom", [0.4, 1.0, 2.7])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_the_ring_is_as_large_as_what_is_painted(canvas: Canvas, zoom: float, ratio: float) -> None:
    """The ring's rightmost and lowest lines lie on the edge of the painted disc, at every zoom and pixel ratio."""
    canvas.set_layers((64, 64), {"observed": np.ones((64, 64), np.uint8)})
    canvas.zoom(zoom)
    canvas.set_radius(9)
    centre = canvas.transform.to_widget(32, 32)
    with_ring, without = (_rendered(canvas, ratio, pointer) for pointer in (centre, None))
    rows, columns = np.nonzero((with_ring != without).any(axis=2))
    middle = np.array([centre.y(), centre.x()]) * ratio
    radius = 9 * canvas.transform.scale * ratio
    line = 1.5 * ratio + 1.5  # half the line's width, and smoothing
    on_axis = np.abs(rows - middle[0]) < 1
    reach = np.abs(columns[on_axis] + 0.5 - middle[1]).max()
    assert abs(reach - radius) <= line


def _rendered(canvas: Canvas, ratio: float, pointer: QPointF | None) -> np.ndarray:
    canvas.pointer = pointer
    canvas.clearFocus()
    image = QImage(round(canvas.width() * ratio), round(canvas.height() * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    canvas.render(image)
    return pixels(image)


def test_moving_the_ring_repaints_only_around_it(canvas: Canvas, qtbot: QtBot) -> None:
    areas = []
    canvas._show_pointer(QPointF(100, 100))
    QApplication.processEvents()
    paint = canvas.paintEvent
    canvas.paintEvent = lambda event: (areas.append(event.region().boundingRect()), paint(event))  # type: ignore[method-assign, assignment]
    canvas._show_pointer(QPointF(104, 100))
    qtbot.waitUntil(lambda: bool(areas))
    assert areas[0].width() < 150
    del canvas.paintEvent


# Keys -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "tool"), [("b", "brush"), ("e", "eraser"), ("r", "rectangle"), ("f", "fill"), ("i", "inspect")]
)
def test_letters_choose_tools(canvas: Canvas, key: str, tool: str) -> None:
    canvas.choose_tool("fill" if tool != "fill" else "brush")
    QTest.keyClicks(canvas, key)
    assert canvas.tools.tool == tool


def test_digits_choose_labels_and_brackets_the_brush(canvas: Canvas) -> None:
    QTest.keyClicks(canvas, "3")
    assert canvas.tools.target is SEGMENT_TARGETS[2]
    QTest.keyClicks(canvas, "9")  # there is no ninth label
    assert canvas.tools.target is SEGMENT_TARGETS[2]
    radius = canvas.tools.radius
    QTest.keyClicks(canvas, "]]")
    assert canvas.tools.radius == radius + 1
    QTest.keyClicks(canvas, "[[[[")
    assert canvas.tools.radius == 0.5


def test_space_tapped_plays_and_dots_step(canvas: Canvas, sent: list[Command], qtbot: QtBot) -> None:
    with qtbot.waitSignal(canvas.play_pause):
        QTest.keyClick(canvas, Qt.Key.Key_Space)
    QTest.keyClicks(canvas, ".,")
    assert sent == [Step(1), Step(-1)]


def test_o_held_shows_what_was_observed_alone(canvas: Canvas) -> None:
    layers = given()
    observed = layers["observed"].copy()
    observed[2, 2] = 0
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring())}), layers={**layers, "observed": observed}))
    usual = shown(canvas)
    QTest.keyPress(canvas, Qt.Key.Key_O)
    original = shown(canvas)
    QTest.keyRelease(canvas, Qt.Key.Key_O)
    assert (original[8, 8] == rgb(LIGHT.paper)).all()
    assert (original[2, 2] == rgb(LIGHT.ink)).all()
    assert (usual[8, 8] != rgb(LIGHT.paper)).any()
    np.testing.assert_array_equal(shown(canvas), usual)


def test_keys_that_are_held_are_let_go_with_the_focus(canvas: Canvas) -> None:
    QTest.keyPress(canvas, Qt.Key.Key_O)
    QTest.keyPress(canvas, Qt.Key.Key_Space)
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusOut))
    assert not canvas.scene.original_only
    assert canvas.cursor().shape() == Qt.CursorShape.CrossCursor


def test_single_keys_act_only_with_focus_and_tab_moves_on(qtbot: QtBot) -> None:
    window, canvas, button = QWidget(), Canvas(), QPushButton("Next")
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(canvas)
    column.addWidget(button)
    window.show()
    window.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    QTest.keyClick(canvas, Qt.Key.Key_Tab)
    assert button.hasFocus()
    QTest.keyClicks(button, "e")
    assert canvas.tools.tool == "brush"


def test_a_shortcut_of_the_window_does_not_take_the_canvas_keys(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    canvas = Canvas(window)
    taken: list[str] = []
    from PySide6.QtGui import QShortcut

    QShortcut("Space", window, lambda: taken.append("space"))
    window.show()
    window.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    with qtbot.waitSignal(canvas.play_pause):
        QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert taken == []


def test_one_can_paint_with_the_keyboard_alone(canvas: Canvas, sent: list[Command]) -> None:
    QTest.keyClick(canvas, Qt.Key.Key_Left)  # shows the cursor, in the middle
    assert canvas.cursor_pixel == (8, 7)
    QTest.keyPress(canvas, Qt.Key.Key_Return)
    for _ in range(3):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyRelease(canvas, Qt.Key.Key_Return)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert np.argwhere(observed == 0).tolist() == [[8, 7], [8, 8], [8, 9], [8, 10]]
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    QTest.keyClick(canvas, Qt.Key.Key_Backspace)
    assert observed is not None
    erased = canvas.scene.layer("observed")
    assert erased is not None
    assert erased[8, 10] == 1
    assert len({command.stroke for command in sent}) == 2


def test_a_rectangle_with_the_keyboard_takes_two_enters(canvas: Canvas, sent: list[Command]) -> None:
    canvas.choose_tool("rectangle")
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert sent == []
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert sent == [PaintRectangle("observed", 0, (8, 7, 2, 2))]


def test_the_keyboard_cursor_stays_in_the_picture_and_in_view(canvas: Canvas) -> None:
    canvas.zoom(6)
    for _ in range(4):
        QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.cursor_pixel is not None
    row, column = canvas.cursor_pixel
    assert column == 15
    assert canvas.rect().contains(at(canvas, row, column))


# What is shown --------------------------------------------------------------------------------------------------------


def test_opacity_is_certainty(canvas: Canvas) -> None:
    labels = np.full((16, 16), 2)
    colours = []
    for certainty in (1.0, 0.5, 0.0):
        canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, certainty)})))
        colours.append(shown(canvas)[4, 4].astype(int))
    inside, paper = np.array(rgb(LIGHT.labels[2])), np.array(rgb(LIGHT.paper))
    distances = [np.abs(colour - paper).sum() for colour in colours]
    assert distances[0] > distances[1] > distances[2] == 0
    assert np.abs(colours[0] - inside).max() < 60


def test_contours_under_labels_stay_visible(canvas: Canvas) -> None:
    layers = given()
    observed = layers["observed"].copy()
    observed[1, 1] = 0
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring(), 1.0)}), layers={**layers, "observed": observed}))
    colours = shown(canvas).astype(int)
    assert np.abs(colours[1, 1] - colours[1, 3]).max() > 30


@pytest.mark.parametrize("name", ["decoded", "entropy", "residual", "difference", "clone", "ownership"])
def test_a_layer_is_seen_when_it_is_switched_on(canvas: Canvas, name: str) -> None:
    canvas.set_frame(frame(lane(pictures=all_pictures())))
    canvas.set_visible_layers({"observed": 1.0})
    without = shown(canvas)
    canvas.set_visible_layers({"observed": 1.0, name: 1.0})
    assert (shown(canvas) != without).any()


def test_the_residual_of_one_direction_differs_from_the_largest(canvas: Canvas) -> None:
    residual = np.full((8, 16, 16), 1e-6, np.float32)
    residual[3] = 1.0
    canvas.set_frame(frame(lane(pictures={"residual": residual})))
    canvas.set_visible_layers({"residual": 1.0})
    largest = shown(canvas)
    canvas.set_residual_direction(3)
    np.testing.assert_array_equal(shown(canvas), largest)
    canvas.set_residual_direction(0)
    assert (shown(canvas) != largest).any()


def test_pointing_at_a_clone_lights_its_pixels(canvas: Canvas) -> None:
    pictures = all_pictures()
    canvas.set_frame(frame(lane(pictures=pictures)))
    canvas.light_clone(5)
    lit = (shown(canvas) == rgb(LIGHT.highlight)).all(axis=2)
    np.testing.assert_array_equal(lit, pictures["clone"] == 5)
    later = np.roll(pictures["clone"], 1, axis=0)
    canvas.set_frame(frame(lane(pictures={**pictures, "clone": later})))
    np.testing.assert_array_equal((shown(canvas) == rgb(LIGHT.highlight)).all(axis=2), later == 5)
    canvas.light_clone(None)
    assert not (shown(canvas) == rgb(LIGHT.highlight)).all(axis=2).any()


def test_a_frame_of_a_part_is_drawn_where_it_belongs(canvas: Canvas) -> None:
    part = np.zeros((4, 6), np.uint8)
    canvas.set_frame(frame(layers={"observed": part}, rectangle=(5, 7, 4, 6)))
    inked = (shown(canvas) == rgb(LIGHT.ink)).all(axis=2)
    assert np.argwhere(inked).min(axis=0).tolist() == [5, 7]
    assert inked.sum() == 24


def test_strokes_fall_into_place_in_a_part_and_at_a_stride(canvas: Canvas) -> None:
    canvas.set_frame(frame(layers={"observed": np.ones((4, 4), np.uint8)}, rectangle=(4, 4, 8, 8), stride=2))
    drag(canvas, [(6, 4), (6, 11)])
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert np.argwhere(observed == 0).tolist() == [[1, 0], [1, 1], [1, 2], [1, 3]]


def test_stale_results_are_dimmed_after_a_while_not_blanked(canvas: Canvas, qtbot: QtBot) -> None:
    labels = np.full((16, 16), 2)
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, 1.0)})))
    fresh = shown(canvas)[4, 4].astype(int)
    canvas.posted(ClearLayer("hints"), 5)
    np.testing.assert_array_equal(shown(canvas)[4, 4], fresh)  # a frame or two late is not stale: nothing flickers
    qtbot.waitUntil(lambda: canvas.scene.dimmed)
    dimmed = shown(canvas)[4, 4].astype(int)
    paper = np.array(rgb(LIGHT.paper))
    assert 0 < np.abs(dimmed - paper).sum() < np.abs(fresh - paper).sum()
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, 1.0)}), applied=5))
    np.testing.assert_array_equal(shown(canvas)[4, 4], fresh)


def test_frames_are_shared_and_never_written_to(canvas: Canvas) -> None:
    layers = given()
    canvas.set_frame(frame(layers=layers))
    drag(canvas, [(3, 3), (9, 9)])
    assert (shown(canvas)[3, 3] == rgb(LIGHT.ink)).all()
    assert (layers["observed"] == 1).all()


def test_an_empty_canvas_says_what_belongs_there_and_takes_no_strokes(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 200)
    canvas.show()
    commands: list[Command] = []
    canvas.command.connect(commands.append)
    QTest.mouseClick(canvas, LEFT, NONE, QPoint(100, 100))
    assert commands == []
    assert len(np.unique(pixels(canvas.grab().toImage()).reshape(-1, 3), axis=0)) > 2  # there are words


def test_a_preview_shows_other_observations_and_goes_away(canvas: Canvas) -> None:
    before = shown(canvas)
    canvas.set_preview(np.zeros((16, 16), np.uint8))
    assert (shown(canvas) == rgb(LIGHT.ink)).all()
    canvas.set_preview(None)
    np.testing.assert_array_equal(shown(canvas), before)


def test_the_export_has_whole_pixels_and_no_ring(canvas: Canvas) -> None:
    canvas.pointer = QPointF(200, 200)
    image = canvas.drawing(scale=5).image()
    assert (image.width(), image.height()) == (80, 80)
    blocks = pixels(image).reshape(16, 5, 16, 5, 3)
    assert (blocks == blocks[:, :1, :, :1]).all()


def test_every_control_of_the_canvas_has_an_accessible_name(canvas: Canvas) -> None:
    assert canvas.accessibleName()
    assert "Enter" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert "row 9, column 8" in canvas.accessibleDescription()


def all_pictures() -> dict[str, np.ndarray]:
    """Every layer, on a disc."""
    labels = ring()
    y, x = np.indices(labels.shape)
    contour = labels == 0
    return {
        "belief": beliefs(labels, 0.8),
        "decoded": labels,
        "entropy": np.where(contour, 1.2, 0.1).astype(np.float32),
        "residual": np.stack([10.0 ** -((x + k) % 7) for k in range(8)]).astype(np.float32),
        "difference": (x / 15).astype(np.float32),
        "clone": np.where(contour, (x + y) % 7, -1).astype(np.int16),
        "ownership": np.where(contour, np.arctan2(y - 7.5, 7.5 - x), np.nan).astype(np.float32),
    }


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)
@pytest.mark.parametrize(
    "layers", ["observed belief hints", "decoded", "entropy", "residual", "difference", "clone", "observed ownership"]
)
def test_layers_look_as_they_did(qtbot: QtBot, colours: object, layers: str) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    dark = colours is DARK
    canvas.setPalette(palette_of(DARK if dark else LIGHT))
    layer = given()
    observed, hints = layer["observed"].copy(), layer["hints"].copy()
    observed[(ring() == 0) & (np.indices((16, 16)).sum(0) % 3 > 0)] = 0
    hints[2:5, 2:5], hints[7:9, 7:9] = 1, 2
    strength = layer["hints_strength"].copy()
    strength[:, :4] = 0.3
    given_layers = {"observed": observed, "hints": hints, "hints_strength": strength}
    canvas.set_frame(frame(lane(pictures=all_pictures()), layers=given_layers))
    canvas.set_visible_layers(dict.fromkeys(layers.split(), 1.0))
    canvas.set_residual_direction(2)
    assert_looks_like(
        canvas.drawing(scale=8).image(), f"canvas-{'dark' if dark else 'light'}-{layers.replace(' ', '-')}"
    )


def test_pixels_that_a_model_hardly_knows_still_differ_on_the_map_of_deviations() -> None:
    shades = deviation(np.array([[20, 40, 60]], np.float32) / 255, Look())
    assert len(np.unique(shades)) == 3
