"""Tables of any order: a map of two axes, and a tree of slices for the others."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from mrfstudio.ui.widgets.bars import Bars
from mrfstudio.ui.workspaces.converge.inspecting.table_map import TableMap
from tests.ui.helpers.widgets import LEFT, emitted, shown

CARDS = (2, 3, 4, 3)
AXES = tuple((f"x{axis}", tuple(f"s{state}" for state in range(states))) for axis, states in enumerate(CARDS))


def table() -> np.ndarray:
    values = np.random.default_rng(5).uniform(0.1, 0.9, CARDS)
    values[1, 2, 3, 0] = 1.0
    values[:, 0] = 0.0
    return values


def test_a_tree_shows_every_slice_and_begins_at_the_one_with_the_largest_entry(qtbot: QtBot) -> None:
    map_, values = TableMap(), table()
    shown(qtbot, map_, 360, 500)
    map_.show_table(values, AXES)
    tree = map_.tree
    assert tree.isVisible()
    assert tree.topLevelItemCount() == 3
    assert tree.path == (2, 3)
    assert map_.which.text() == "x1 = s2, x2 = s3"
    np.testing.assert_array_equal(map_.grid.values, values[:, 2, 3, :])
    forbidden = tree.topLevelItem(0)
    assert forbidden is not None
    assert (forbidden.text(0), forbidden.text(2)) == ("x1 = s0", "forbidden")
    branch = tree.topLevelItem(1)
    assert branch is not None
    assert not branch.childCount()  # made when it is opened
    branch.setExpanded(True)
    assert [branch.child(row).text(0) for row in range(4)] == [f"x2 = s{state}" for state in range(4)]
    assert [branch.child(row).text(2) for row in range(4)] == [f"{values[:, 1, s].max():.3g}" for s in range(4)]
    tree.setCurrentItem(branch)  # of a branch the slice with its largest entry
    best = int(values[:, 1].max((0, 2)).argmax())
    np.testing.assert_array_equal(map_.grid.values, values[:, 1, best, :])


def test_another_map_follows_and_a_picked_entry_has_the_place_of_its_slice(qtbot: QtBot) -> None:
    map_ = TableMap()
    follower = TableMap(followed=map_)
    for each in (map_, follower):
        shown(qtbot, each, 360, 500)
        each.show_table(table(), AXES)
    picked = emitted(map_.picked)
    map_.tree.choose((1, 2))
    np.testing.assert_array_equal(follower.grid.values, table()[:, 1, 2, :])
    assert not follower.tree.isVisible()
    qtbot.mouseClick(map_.grid, LEFT, pos=map_.grid.place(2.5, 1.5).toPoint())
    assert picked == [(1, 1, 2, 2)]
    changed = table()
    changed[0, 1, 2, 0] = 0.95
    map_.show_table(changed, AXES)  # the same slice, with other numbers
    assert map_.tree.path == (1, 2)
    item = map_.tree.currentItem()
    assert item is not None
    assert item.text(2) == "0.95"


def test_pairs_and_single_variables_have_no_tree(qtbot: QtBot) -> None:
    map_ = TableMap()
    shown(qtbot, map_, 300, 300)
    map_.show_table(table(), AXES)
    map_.show_table(np.eye(3), (AXES[1], AXES[3]))
    assert not map_.tree.isVisible()
    np.testing.assert_array_equal(map_.grid.values, np.eye(3))
    map_.show_table(np.array([0.2, 1.0]), AXES[:1])
    assert map_.grid.values.shape == (2, 1)


def test_a_dragged_bar_says_its_gesture_in_all_its_digits(qtbot: QtBot) -> None:
    bars = Bars()
    shown(qtbot, bars, 300, 60)
    bars.show_values(("a", "b"), np.array([0.3, 0.7]), editable=True)
    changed = emitted(bars.changed)
    qtbot.mousePress(bars, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(150, 5))
    qtbot.mouseMove(bars, QPoint(180, 5))
    qtbot.mouseRelease(bars, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(180, 5))
    gestures = {gesture for _, gesture in changed}
    assert len(changed) >= 2
    assert gestures == {bars._gesture}
    assert bars._gesture > 1 << 31  # the milliseconds of today are in it
    assert all(sum(values) == 1 or abs(sum(values) - 1) < 1e-9 for values, _ in changed)
