"""The palette of tools."""

from __future__ import annotations

from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.canvas import SEGMENT_TARGETS, TOOLS, Canvas
from mrfstudio.ui.widgets.tool_palette import ToolPalette
from tests.ui.helpers.widgets import LEFT, shown


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


def test_the_slider_reaches_further_on_large_pictures(qtbot: QtBot) -> None:
    canvas = Canvas()
    palette = ToolPalette(canvas)
    qtbot.addWidget(canvas)
    shown(qtbot, palette, 200, 420)
    palette.set_largest(100.0)
    canvas.set_radius(30.0)
    assert palette.brush_size.value() < palette.brush_size.maximum()
    palette.brush_size.setValue(palette.brush_size.maximum())
    assert canvas.tools.radius == 100.0
