"""Heat maps of potentials."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF
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
