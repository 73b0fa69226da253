"""The list of layers: what is shown, and how strongly."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.widgets.layer_list import LayerList
from tests.ui.helpers.widgets import LEFT, emitted, shown


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
