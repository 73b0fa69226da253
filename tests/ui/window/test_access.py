"""Everything can be reached with Tab, in the order in which it is seen, and has a name for who hears the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QSlider,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.window.dialogs.common import NewDrawing, TextDialog
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet
from mrfstudio.ui.window.tabbing import in_order
from mrfstudio.ui.workspaces.segment.example_dialog import ExampleDialog
from tests.ui.helpers.studio import Studio, studio_in

CONTROLS = (QAbstractButton, QSlider, QComboBox, QAbstractSpinBox, QLineEdit)


@pytest.fixture
def studio(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[Studio]:
    with studio_in(qtbot, theme, tmp_path) as made:
        made.start()
        made.until(lambda: made.controller.engine is not None)
        yield made
        made.window.show_workspace("segment")
        made.settle()


def spoken(widget: QWidget) -> str:
    """What a screen reader says of a widget."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def test_every_control_of_every_workspace_has_a_name_and_a_tip(studio: Studio) -> None:
    window = studio.window
    for name in ("segment", "photograph", "inpaint", "graph", "train"):
        window.choose_workspace(name)
        window.docks.controls.raise_()
        QApplication.processEvents()
        for place in (window.centre, *window.docks.shown(), window.docks.controls, window.docks.curves):
            for widget in in_order(place):
                assert spoken(widget), f"{name}: {widget}"
                assert widget.toolTip() or not isinstance(widget, CONTROLS), f"{name}: {spoken(widget)}"


def test_every_control_of_every_dialog_has_a_name_and_a_tip(studio: Studio) -> None:
    window, engine = studio.window, studio.controller.engine
    assert engine is not None
    dialogs: list[QDialog] = [
        NewDrawing(parent=window),
        ExampleDialog(studio.controller, engine.figures, studio.segment.first_example, window),
        ShortcutSheet(window),
        CommandPalette(window.menus.every_action(), window),
        TextDialog("About", "Words.", window),
    ]
    for dialog in dialogs:
        dialog.show()
        for widget in in_order(dialog):
            assert spoken(widget), f"{dialog.windowTitle()}: {widget}"
            plain = isinstance(widget.parentWidget(), QDialogButtonBox)  # OK and Cancel explain themselves
            assert plain or widget.toolTip() or not isinstance(widget, CONTROLS), f"{dialog}: {spoken(widget)}"
        dialog.close()
        dialog.deleteLater()
    studio.settle()


def test_tab_goes_through_the_controls_from_top_to_bottom(studio: Studio) -> None:
    window, panel = studio.window, studio.segment.panel
    panel.first.algorithm.setFocus()
    reached = []
    for _ in range(30):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.append(focused)
        window.focusNextPrevChild(True)
    names = [spoken(widget) for widget in reached]
    # The form is built again with every algorithm; Qt's own order would put it behind everything else.
    assert names.index("Iterations") < names.index("Damping") < names.index("Observed contours") < names.index("Labels")


def test_tab_comes_back_to_the_canvas_and_goes_both_ways(studio: Studio) -> None:
    window, canvas = studio.window, studio.canvas
    canvas.setFocus()
    window.focusNextPrevChild(True)
    after = QApplication.focusWidget()
    assert after is not canvas
    window.focusNextPrevChild(False)
    assert QApplication.focusWidget() is canvas
    steps = 0
    window.focusNextPrevChild(True)
    while QApplication.focusWidget() is not canvas:
        window.focusNextPrevChild(True)
        steps += 1
        assert steps < 200
    assert steps > 20


def test_what_gets_the_focus_is_scrolled_into_view(studio: Studio) -> None:
    truth = studio.segment.panel.layers.boxes["truth"]
    hints = studio.segment.panel.layers.sliders["hints"]
    hints.setFocus()
    studio.window.focusNextPrevChild(True)
    assert QApplication.focusWidget() is truth
    assert not truth.visibleRegion().isEmpty()
    assert truth.focusPolicy() & Qt.FocusPolicy.TabFocus
