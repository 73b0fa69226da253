"""How far each lane is from the reference, in a table that sorts by any column, copies and exports."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from mrfstudio.engine.protocol.catalogue import Entry
from mrfstudio.engine.protocol.frames import Frame, LaneFrame, LaneScore
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.badge import short, status_colour
from mrfstudio.ui.widgets.lane_names import LETTERS, lane_colour, lane_title
from mrfstudio.ui.widgets.table_keys import table_keys

Index = QModelIndex | QPersistentModelIndex
NOTHING = "–"
WIDEST = {
    "lane": "AA", "title": "alpha-bp, alpha 0.55", "status": "iteration limit", "iterations": "10000",
    "l1": "8.8e-88", "l1_pairs": "8.8e-88", "largest": "8.8e-88", "correlation": "-0.8888",
}  # fmt: skip
NARROWEST = "alpha-bp, α"
"""A name that is cut no further."""
FIRST_TO_GO = ("correlation", "largest", "milliseconds", "iterations", "residual", "status", "l1")
"""Columns that give way where the table is too narrow for all, in turn."""
HERE = QModelIndex()


@dataclass(frozen=True)
class ScoreColumn:
    """One column: how it is called on screen and in files, and what it says."""

    name: str
    title: str
    help: str
    numeric: bool = True


COLUMNS = (
    ScoreColumn("lane", "Lane", "The lane's letter and colour.", numeric=False),
    ScoreColumn("title", "Name", "The lane's name, or its algorithm and what is not as usual about it.", numeric=False),
    ScoreColumn("l1", "ℓ1", "Mean difference of a node's probabilities from the reference."),
    ScoreColumn("l1_pairs", "ℓ1 pairs", "The same over nodes and pairs of neighbours, as in the tables of [Liu20]."),
    ScoreColumn("largest", "Largest", "The largest difference of a probability of any node."),
    ScoreColumn("correlation", "ρ", "Pearson's correlation of the nodes' probabilities with the reference's."),
    ScoreColumn("log_partition_error", "Δ log Z", "log Z as the lane estimates it, minus the exact one."),
    ScoreColumn("milliseconds", "ms", "Milliseconds of one iteration: the median of the last ones."),
    ScoreColumn("iterations", "Iter.", "Iterations since evidence or a parameter last changed."),
    ScoreColumn("residual", "Residual", "The largest change of a message in the last iteration."),
    ScoreColumn("status", "State", "Whether messages have come to rest.", numeric=False),
)


@dataclass(frozen=True)
class ScoreRow:
    """What the table shows of one lane; numbers that have no meaning are None."""

    number: int
    status: str
    values: Mapping[str, Any]


def rows_of(frame: Frame, entries: Mapping[str, Entry]) -> list[ScoreRow]:
    """The rows of a frame, in the order of the lanes."""
    scores = {} if frame.comparison is None else {score.lane: score for score in frame.comparison.scores}
    return [_row(lane, scores.get(lane.lane), entries) for lane in frame.lanes]


def _row(lane: LaneFrame, score: LaneScore | None, entries: Mapping[str, Entry]) -> ScoreRow:
    values: dict[str, Any] = {"lane": LETTERS[lane.lane], "title": lane_title(lane, entries), "status": lane.status}
    values["residual"] = lane.residual
    if score is not None:
        seconds = score.seconds
        values |= {"iterations": score.iterations, "milliseconds": None if seconds is None else 1e3 * seconds}
        values |= {name: getattr(score, name) for name in ("l1", "l1_pairs", "largest", "correlation")}
        values["log_partition_error"] = score.log_partition_error
    return ScoreRow(lane.lane, lane.status, values)


class ScoreModel(QAbstractTableModel):
    """Rows in the order that was asked for; missing numbers stand last, whichever way it is sorted."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[ScoreRow] = []
        self._given: list[ScoreRow] = []
        self._widget = parent
        self._by, self._descending = 0, False
        self._wanted = ""

    def set_filter(self, words: str) -> None:
        """Only rows with these words in any column."""
        self._wanted = words.lower()
        self.beginResetModel()
        self.rows = self._sorted()
        self.endResetModel()

    def _fits(self, row: ScoreRow) -> bool:
        return any(self._wanted in str(shown(value)).lower() for value in row.values.values())

    def set_rows(self, rows: Sequence[ScoreRow], *, sort: bool) -> None:
        """Show other values. Lanes stay in their places unless `sort`, so that nothing jumps while they run."""
        before = [row.number for row in self.rows]
        self._given = list(rows)
        if sort or self._wanted or {row.number for row in rows} != set(before):
            ordered = self._sorted()
        else:
            by_number = {row.number: row for row in rows}
            ordered = [by_number[number] for number in before if number in by_number]
        if len(ordered) != len(self.rows):
            self.beginResetModel()
            self.rows = ordered
            self.endResetModel()
            return
        self.rows = ordered
        if ordered:
            self.dataChanged.emit(self.index(0, 0), self.index(len(ordered) - 1, len(COLUMNS) - 1))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._by, self._descending = max(column, 0), order == Qt.SortOrder.DescendingOrder
        self.layoutAboutToBeChanged.emit()
        self.rows = self._sorted()
        self.layoutChanged.emit()

    def _sorted(self) -> list[ScoreRow]:
        name = COLUMNS[self._by].name
        given = [row for row in self._given if not self._wanted or self._fits(row)]
        known = [row for row in given if row.values.get(name) is not None]
        missing = [row for row in given if row.values.get(name) is None]
        return sorted(known, key=lambda row: row.values[name], reverse=self._descending) + missing

    def rowCount(self, parent: Index = HERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = HERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column, row = COLUMNS[index.column()], self.rows[index.row()]
        value = row.values.get(column.name)
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return str(value) if column.name == "title" else column.help
        return self._look(role, column, row, colours_of(self._widget))

    def _look(self, role: int, column: ScoreColumn, row: ScoreRow, colours: Colours) -> QColor | None:
        if role == Qt.ItemDataRole.DecorationRole and column.name == "lane":
            return lane_colour(row.number, colours)
        if role == Qt.ItemDataRole.ForegroundRole and column.name == "status":
            return QColor(status_colour(row.status, colours))  # type: ignore[arg-type]  # it came from a lane
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        return f"<b>{column.title}</b><br>{column.help}<br>Click to sort by it." if role == 3 else None  # ToolTipRole

    def follow_theme(self) -> None:
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(COLUMNS) - 1))


def shown(value: Any) -> str:
    """A value in few characters; a dash where there is none."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return f"{value:.4f}" if 0.01 <= abs(value) < 100 else short(value)
    return str(value)


class ScoreTable(QTableView):
    """The table. Ctrl+C copies it as text that spreadsheets understand.

    What does not fit beside each other is left out in turn rather than scrolled; copies and files have everything.
    """

    left_out = Signal(int)
    """How many columns do not fit now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scores = ScoreModel(self)
        self.setModel(self.scores)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        table_keys(self)
        self.setAccessibleName("Lanes against the reference")
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(lambda at: self.column_menu().popup(header.mapToGlobal(at)))
        self._unwanted: set[str] = set()
        shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self.copy)
        self._widths: dict[str, int] = {}
        self._fit()

    def set_frame(self, frame: Frame, entries: Mapping[str, Entry]) -> None:
        """Show a frame's lanes; they are put in order again when nothing runs."""
        self.scores.set_rows(rows_of(frame, entries), sort=not frame.playing)

    def copy(self) -> None:
        """The whole table to the clipboard, tabs between the columns."""
        QGuiApplication.clipboard().setText(self.as_text("\t"))

    def to_csv(self) -> str:
        """The whole table as it is sorted, numbers in full."""
        return self.as_text(",")

    def as_text(self, between: str) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=between, lineterminator="\n")
        writer.writerow(column.name for column in COLUMNS)
        for row in self.scores.rows:
            values = (row.values.get(column.name) for column in COLUMNS)
            writer.writerow(
                "" if value is None else repr(value) if isinstance(value, float) else value for value in values
            )
        return out.getvalue()

    def column_menu(self) -> QMenu:
        """Which columns are shown, each with what it says."""
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for column in COLUMNS[2:]:
            action = menu.addAction(f"{column.title}: {column.help}")
            action.setCheckable(True)
            action.setChecked(column.name not in self._unwanted)
            action.toggled.connect(lambda on, name=column.name: self.want(name, on))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def want(self, name: str, on: bool) -> None:
        """Show a column, or do not."""
        self._unwanted = self._unwanted - {name} if on else self._unwanted | {name}
        self._choose_columns()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 520), px(self, 190))

    def minimumSizeHint(self) -> QSize:
        """Room for six lanes."""
        return QSize(px(self, 240), px(self, 196))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()
        elif event.type() == QEvent.Type.PaletteChange and hasattr(self, "scores"):
            self.scores.follow_theme()

    def _fit(self) -> None:
        """Columns as wide as their heads and the longest usual number: they stay while values change."""
        metrics = self.fontMetrics()
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(round(metrics.height() * 1.35))
        for column in COLUMNS:
            room = WIDEST.get(column.name, "-8.8e-88")
            head = metrics.horizontalAdvance(column.title) + px(self, 12)  # with the arrow of the order
            self._widths[column.name] = max(metrics.horizontalAdvance(room), head) + px(self, 14)
        self._choose_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose_columns()

    def _choose_columns(self) -> None:
        """As many columns as fit, and the rest of the room for the name."""
        room, widths = self.viewport().width(), dict(self._widths)
        usual = widths["title"]
        widths["title"] = self.fontMetrics().horizontalAdvance(NARROWEST) + px(self, 14)
        unwanted: set[str] = getattr(self, "_unwanted", set())
        hidden: list[str] = []
        for name in unwanted:
            del widths[name]
        for name in FIRST_TO_GO:
            if sum(widths.values()) <= room:
                break
            if name in widths:
                hidden.append(name)
                del widths[name]
        widths["title"] = min(usual, widths["title"] + max(room - sum(widths.values()), 0))
        before = sum(self.isColumnHidden(index) and column.name not in unwanted for index, column in enumerate(COLUMNS))
        for index, column in enumerate(COLUMNS):
            self.setColumnHidden(index, column.name in hidden or column.name in unwanted)
            if column.name in widths:
                self.setColumnWidth(index, widths[column.name])
        if len(hidden) != before:
            self.left_out.emit(len(hidden))
