"""Every action has somebody who does it, a name to be found by, and an explanation."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QScrollBar,
    QWhatsThis,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.window.actions import specs
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet, rank
from tests.ui.helpers.studio import Studio, studio_in


def test_every_action_is_done_by_somebody_and_no_key_is_taken_twice(studio: Studio) -> None:
    done: set[str] = set()
    for workspace in ("train", "graph", "inpaint", "repair", "photograph", "segment"):
        studio.window.show_workspace(workspace)
        done |= {spec.name for _, spec in specs() if spec in studio.window._handlers()}
    assert {spec.name for _, spec in specs()} == done
    keys = [key for _, spec in specs() for key in spec.keys]
    assert len(keys) == len(set(keys))


def test_every_control_explains_itself(studio: Studio) -> None:
    kinds = (QAbstractButton, QComboBox, QAbstractSlider, QAbstractSpinBox)
    own = [w for w in studio.window.findChildren(QWidget) if isinstance(w, kinds) and w.isVisible()]
    silent = [w for w in own if not w.toolTip() and not isinstance(w, QScrollBar) and "qt_" not in w.objectName()]
    assert silent == []


def test_the_palette_finds_an_action_by_a_part_of_its_name_and_runs_it(studio: Studio) -> None:
    palette = CommandPalette(studio.window.menus.every_action(), studio.window)
    palette.search.setText("spur edg")
    assert palette.results.topLevelItemCount() == 1
    studio.qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.chosen is studio.window.actions_["add_edges"]
    palette.deleteLater()


def test_the_palette_names_panels_as_such_and_leaves_out_those_of_other_workspaces(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.window.choose_workspace("inpaint")
        studio.window.show_workspace("segment")
        palette = CommandPalette(studio.window.menus.every_action(), studio.window)
        items = [palette.results.topLevelItem(row) for row in range(palette.results.topLevelItemCount())]
        names = [item.text(0) for item in items if item is not None]
        assert {"Clone browser", "Panels: Clones"} <= set(names)
        assert "Clones" not in names
        assert not [name for name in names if "Gallery" in name]  # of Inpaint
        studio.settle()


def test_the_palette_also_searches_what_actions_do_and_says_when_there_is_nothing(studio: Studio) -> None:
    palette = CommandPalette(studio.window.menus.every_action(), studio.window)
    palette.show()
    palette.search.setText("noise")
    found = {palette.results.topLevelItem(row).text(0) for row in range(palette.results.topLevelItemCount())}  # type: ignore[union-attr]
    assert {"Add spurious edges", "Delete contour pixels"} <= found
    assert not palette.nothing.isVisible()
    palette.search.setText("qqqq")
    assert palette.results.topLevelItemCount() == 0
    assert palette.nothing.isVisible()
    palette.close()
    palette.deleteLater()


def test_words_that_begin_with_what_was_typed_come_first() -> None:
    names = ["Last iteration", "Step back", "Restart"]
    assert sorted(names, key=lambda name: rank("st", name) or (9, 9))[0] == "Step back"
    assert rank("xyz", "Step back") is None
    assert rank("spbk", "Step back") is not None


def test_the_sheet_lists_every_key(studio: Studio) -> None:
    sheet = ShortcutSheet(studio.window)
    shown = {label.text() for label in sheet.findChildren(QWidget) if hasattr(label, "text")}
    assert {"Undo", "Clone browser", "Compare", "Whole picture"} <= shown
    sheet.deleteLater()


def test_what_is_this_has_an_answer_wherever_a_tool_tip_is(studio: Studio) -> None:
    studio.do("whats_this")
    assert QWhatsThis.inWhatsThisMode()
    QWhatsThis.leaveWhatsThisMode()
    silent = [w for w in studio.window.findChildren(QWidget) if w.toolTip() and not w.whatsThis()]
    assert silent == []
    assert "wheel zooms" in studio.segment.canvas.whatsThis()
