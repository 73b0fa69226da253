"""Zoom, pan and the ring of the brush."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.canvas.transform import Transform
from tests.ui.helpers.canvas import LEFT, MIDDLE, NONE, at
from tests.ui.helpers.pictures import pixels


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
