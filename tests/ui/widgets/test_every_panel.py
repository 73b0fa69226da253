"""What holds for every panel: theme, font, focus and names."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.plots.curves import CurvePlots
from mrfstudio.ui.plots.heat_map import DirectionMaps
from mrfstudio.ui.plots.probabilities import Histogram
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.widgets.badge import Badge
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.widgets.layer_list import LayerList
from mrfstudio.ui.widgets.legend import Legend
from mrfstudio.ui.widgets.number_box import NumberBox
from mrfstudio.ui.widgets.parameter_form import ParameterForm
from mrfstudio.ui.widgets.tool_palette import ToolPalette
from mrfstudio.ui.widgets.transport import TransportBar
from mrfstudio.ui.workspaces.segment.clone_browser import CloneBrowser
from mrfstudio.ui.workspaces.segment.inspector import Inspector
from tests.ui.helpers.pictures import frame, lane, pixels
from tests.ui.helpers.widgets import DETAILS, ENTRY, gallery, scalars, shown


def all_panels() -> list[QWidget]:
    form = ParameterForm()
    form.set_entry(ENTRY)
    browser, inspector, curves, histogram = CloneBrowser(), Inspector(), CurvePlots(), Histogram()
    browser.set_gallery(gallery())
    inspector.set_details(DETAILS)
    inspector.set_gallery(gallery())
    curves.set_frame(frame(lane(9, scalars=scalars(1, 10)), iteration=9))
    histogram.set_shares(np.full((3, 20), 0.05, np.float32))
    others: list[QWidget] = [TransportBar(), Badge(), IterationStrip(), LayerList(SEGMENT_LAYERS), DirectionMaps()]
    return [form, browser, inspector, curves, histogram, Legend(SEGMENT_LAYERS), *others]


def test_panels_follow_the_theme_and_the_font_while_they_are_shown(theme: Theme, qtbot: QtBot) -> None:
    for panel in all_panels():
        shown(qtbot, panel, 700, 500)
        light = pixels(panel.grab().toImage())
        height = panel.sizeHint().height()
        theme.set_mode("dark")
        dark = pixels(panel.grab().toImage())
        assert light.mean() > 170 > 110 > dark.mean(), type(panel).__name__
        theme.set_scale(2.0)
        QApplication.processEvents()
        panel.grab()
        assert panel.sizeHint().height() > 1.1 * height, type(panel).__name__
        theme.set_scale(1.0)
        theme.set_mode("light")
        panel.close()


def test_everything_that_takes_focus_has_a_name_and_a_tip(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    for panel in [*all_panels(), ToolPalette(canvas)]:
        qtbot.addWidget(panel)
        for widget in [panel, *panel.findChildren(QWidget)]:
            inner = isinstance(widget.parent(), NumberBox) or widget.window() is not panel  # the latter are pop-ups
            if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or inner:
                continue
            named = widget.accessibleName() or (widget.text() if hasattr(widget, "text") else "")
            assert named, (type(panel).__name__, widget)
