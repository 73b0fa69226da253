"""The lane manager: lanes added, named, chosen, moved and removed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import AddLane, RemoveLane, RenameLane
from mrfstudio.ui.workspaces.shared.lane_manager import LaneManager
from tests.ui.helpers.lanes import LOADED, three
from tests.ui.helpers.pictures import frame, lane
from tests.ui.helpers.widgets import LEFT, emitted, shown


@pytest.fixture
def manager(qtbot: QtBot) -> LaneManager:
    made = shown(qtbot, LaneManager(), 300, 240)
    made.on_loaded(LOADED, "graph")
    made.set_frame(three())
    return made


def test_buttons_add_copy_and_remove_lanes(manager: LaneManager, qtbot: QtBot) -> None:
    seen = emitted(manager.command)
    manager.algorithm.setCurrentIndex(1)
    qtbot.mouseClick(manager.add, LEFT)
    qtbot.mouseClick(manager.rows[0].copy, LEFT)
    qtbot.mouseClick(manager.rows[3].remove, LEFT)
    assert seen == [
        AddLane("grid-border-16", "mean-field"),
        AddLane("grid-border-16", "bp", {"damping": 0.25}),
        RemoveLane(3),
    ]


def test_a_name_is_typed_into_its_row_and_frames_do_not_take_it_away(manager: LaneManager, qtbot: QtBot) -> None:
    seen = emitted(manager.command)
    field = manager.rows[1].name
    assert field.placeholderText() == "mean-field"
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "a bound")
    manager.set_frame(three())
    assert field.text() == "a bound"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert seen == [RenameLane(1, "a bound")]
    field.clearFocus()
    manager.set_frame(frame(*three().lanes[:1], lane(5, number=1, title="from a file"), *three().lanes[2:]))
    assert manager.rows[1].name.text() == "from a file"


def test_two_lanes_are_chosen_and_change_places(manager: LaneManager, qtbot: QtBot) -> None:
    assert manager.pair == (0, 1)
    pairs = emitted(manager.pair_changed)
    manager.rows[3].sides[1].click()
    manager.rows[3].sides[0].click()
    assert pairs == [(0, 3), (3, 0)]
    assert manager.rows[3].sides[0].isChecked()
    assert manager.rows[0].sides[1].isChecked()
    manager.set_frame(frame(*three().lanes[:2]))  # lane 3 is gone
    assert manager.pair == (0, 1)


def test_one_lane_has_no_sides_and_cannot_be_removed_and_six_are_the_most(qtbot: QtBot) -> None:
    made = shown(qtbot, LaneManager(), 300, 240)
    made.on_loaded(LOADED, "graph")
    made.set_frame(frame(lane(1)))
    assert not made.rows[0].sides[0].isVisible()
    assert not made.rows[0].remove.isEnabled()
    assert made.add.isEnabled()
    made.set_frame(frame(*(lane(1, number=number) for number in range(6))))
    assert not made.add.isEnabled()
    assert "remove one first" in made.add.toolTip()
    assert not made.rows[2].copy.isEnabled()
    assert made.rows[2].remove.isEnabled()


def test_everything_in_the_manager_has_a_tool_tip_and_a_key(manager: LaneManager) -> None:
    row = manager.rows[0]
    for widget in (manager.algorithm, manager.add, row.name, *row.sides, row.copy, row.remove):
        assert widget.toolTip()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
