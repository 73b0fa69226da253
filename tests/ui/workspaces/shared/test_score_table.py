"""The table of scores: sorted as asked, still while lanes run, copied in full."""

from __future__ import annotations

import csv
import io

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mrfstudio.ui.workspaces.shared.score_table import COLUMNS, ScoreTable
from tests.ui.helpers.lanes import ENTRIES, compared, score, three
from tests.ui.helpers.pictures import frame
from tests.ui.helpers.widgets import shown


@pytest.fixture
def table(qtbot: QtBot) -> ScoreTable:
    made = shown(qtbot, ScoreTable(), 900, 260)
    made.set_frame(three(), ENTRIES)
    return made


def column(name: str) -> int:
    return [each.name for each in COLUMNS].index(name)


def letters(table: ScoreTable) -> str:
    return "".join(str(row.values["lane"]) for row in table.scores.rows)


def test_every_column_sorts_both_ways_and_what_is_missing_comes_last(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    assert letters(table) == "BAD"
    table.sortByColumn(column("l1"), Qt.SortOrder.DescendingOrder)
    assert letters(table) == "ABD"
    table.sortByColumn(column("status"), Qt.SortOrder.DescendingOrder)
    assert letters(table) == "ADB"
    for index in range(len(COLUMNS)):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            table.sortByColumn(index, order)
            assert sorted(letters(table)) == ["A", "B", "D"]


def test_rows_keep_their_places_while_lanes_run_and_are_sorted_when_they_rest(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    turned = compared(score(0, l1=0.01), score(1, l1=0.05), score(3, l1=0.02))
    table.set_frame(three(comparison=turned, playing=True), ENTRIES)
    assert letters(table) == "BAD"
    table.set_frame(three(comparison=turned), ENTRIES)
    assert letters(table) == "ADB"


def test_the_table_goes_out_in_full_as_it_is_sorted(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [row["lane"] for row in rows] == ["B", "A", "D"]
    assert float(rows[1]["l1"]) == 0.2
    assert rows[1]["title"] == "bp, damping 0.25"
    assert float(rows[0]["milliseconds"]) == 2.0
    assert rows[2]["l1"] == ""
    table.copy()
    assert QGuiApplication.clipboard().text() == table.as_text("\t")


def test_the_copy_key_copies(table: ScoreTable, qtbot: QtBot) -> None:
    QGuiApplication.clipboard().clear()
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().startswith("lane\ttitle")


def test_lanes_come_and_go(table: ScoreTable) -> None:
    table.set_frame(frame(*three().lanes[:1]), ENTRIES)
    assert letters(table) == "A"
    model = table.model()
    assert model.rowCount() == 1
    assert model.data(model.index(0, column("l1"))) == "–"
    table.set_frame(three(), ENTRIES)
    assert letters(table) == "ABD"


def test_what_does_not_fit_gives_way_instead_of_scrolling(table: ScoreTable, qtbot: QtBot) -> None:
    counts = []
    table.left_out.connect(counts.append)
    hidden = []
    for width in (1200, 700, 460, 340):
        table.resize(width, 200)
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
        hidden.append({c.name for i, c in enumerate(COLUMNS) if table.isColumnHidden(i)})
    assert not hidden[0]
    assert hidden[0] <= hidden[1] < hidden[2] < hidden[3]
    assert {"lane", "title", "l1_pairs", "log_partition_error"}.isdisjoint(hidden[3])
    assert counts[-1] == len(hidden[3])
    assert table.to_csv().splitlines()[0] == ",".join(c.name for c in COLUMNS)
