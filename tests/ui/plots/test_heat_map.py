"""Heat maps of potentials."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.heat_map import DirectionMaps, HeatMap
from mrfstudio.ui.style.colours import DARK, LIGHT, Colours
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.pictures import assert_looks_like
from tests.ui.helpers.widgets import LEFT, emitted, shown


def test_a_heat_map_names_the_cell_under_the_pointer(qtbot: QtBot) -> None:
    heat = HeatMap("→ right")
    shown(qtbot, heat, 120, 140)
    heat.set_matrix(np.array([[0.0, 1.0], [2.0, 3.0]]), (0.0, 3.0))
    area = heat.area()
    assert heat._cell(*heat.at(area.center() + QPointF(5, -5))) == (0, 1)
    assert heat._cell(*heat.at(QPointF(area.right() + 2, area.top()))) is None
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


def turn(heat: HeatMap, at: QPointF, steps: int) -> bool:
    """Turn the wheel; whether the map took it."""
    keys, phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    button, turned = Qt.MouseButton.NoButton, QPoint(0, 120 * steps)
    wheel = QWheelEvent(at, heat.mapToGlobal(at), QPoint(), turned, button, keys, phase, False)
    QApplication.sendEvent(heat, wheel)
    return wheel.isAccepted()


def test_a_map_without_axes_zooms_pans_and_resets_and_never_shows_beyond_its_edge(qtbot: QtBot) -> None:
    heat = shown(qtbot, HeatMap("potentials"), 220, 240)
    heat.set_matrix(np.arange(60.0).reshape(6, 10))
    assert not turn(heat, heat.area().center(), -1)  # all of it is in sight: what is around it scrolls
    corner = heat.place(9.5, 5.5)
    assert heat._cell(*heat.at(corner)) == (5, 9)
    assert turn(heat, corner, 4)
    assert heat._cell(*heat.at(corner)) == (5, 9)
    (left, right), (low, high) = heat.span_x(), heat.span_y()
    assert (right - left, high - low) == pytest.approx((10 * 0.8**4, 6 * 0.8**4))
    heat.now()
    assert heat.body.box.viewRange()[0] == pytest.approx([left, right])
    heat.pan(QPointF(1000, 1000))
    assert (heat.span_x()[0], heat.span_y()[0]) == (0, 0)
    heat.pan(QPointF(-1000, -1000))
    assert (heat.span_x()[1], heat.span_y()[1]) == (10, 6)
    QTest.keyClick(heat, Qt.Key.Key_Up)
    assert heat.span_y()[1] < 6
    turn(heat, corner, -9)
    assert not heat.zoomed
    QTest.keyClick(heat, Qt.Key.Key_Plus)
    assert heat.zoomed
    heat.set_matrix(np.arange(60.0)[::-1].reshape(6, 10))
    assert heat.zoomed  # the next iteration
    QTest.keyClick(heat, Qt.Key.Key_Home)
    assert (heat.span_x(), heat.span_y()) == ((0, 10), (0, 6))


def test_a_large_map_keeps_its_cells_square_and_passes_clicks_on(qtbot: QtBot) -> None:
    heat = HeatMap("potentials")
    qtbot.addWidget(heat)
    heat.set_matrix(np.arange(60.0).reshape(6, 10))
    large = shown(qtbot, heat.twin(), 700, 300)
    area = large.area()
    assert area.width() / 10 == pytest.approx(area.height() / 6)
    picked = emitted(heat.picked)
    QTest.mouseClick(large, LEFT, pos=large.place(7.5, 2.5).toPoint())
    assert picked == [(2, 7)]


def test_a_direction_is_chosen_with_the_keyboard(qtbot: QtBot) -> None:
    maps = shown(qtbot, DirectionMaps(), 260, 260)
    chosen = emitted(maps.chosen)
    QTest.keyClick(maps.maps[2], Qt.Key.Key_Return)
    assert chosen == [2]
    assert maps.maps[2].focusPolicy() & Qt.FocusPolicy.TabFocus


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
