"""All runs in a table: sorted by any column, ticked ones drawn together, renamed in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.training_frames import RunNote
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.panels.run_plots import metric_words
from mrfstudio.ui.panels.training_bar import STATES, duration
from mrfstudio.ui.theme import px

Index = QModelIndex | QPersistentModelIndex
SORT = Qt.ItemDataRole.UserRole
NUMBERS = ("Seed", "Steps", "Time")
MOST_DRAWN = 5
"""Runs drawn besides the one that is looked at: as many as there are colours."""


@dataclass(frozen=True)
class Column:
    """A column: its title, what it says of a run, and what it is sorted by."""

    title: str
    text: Callable[[RunNote], str]
    key: Callable[[RunNote], Any]
    help: str


def best_words(note: RunNote) -> str:
    """The metric that matters, and a second one: `NCE 0.083, IoU 0.94`."""
    return ", ".join(f"{metric_words(name)} {value:.4g}" for name, value in list(note.scores.items())[:2])


def _best_key(note: RunNote) -> float:
    first = next(iter(note.scores.values()), None)
    return float("inf") if first is None else first if note.better == "lower" else -first


def _state(note: RunNote) -> str:
    return STATES.get(note.state, note.state) + (" elsewhere" if note.elsewhere and note.active else "")


def _file(data: str) -> str:
    name, colon, path = data.partition(":")
    return f"{name}:{path.rsplit('/', 1)[-1]}" if colon else name


COLUMNS = (
    Column(
        "Name", lambda note: note.name, lambda note: note.name.lower(), "Tick a run to draw its curves; F2 renames it."
    ),
    Column("State", _state, lambda note: note.state, "How the run stands."),
    Column("Model", lambda note: note.plan.model, lambda note: note.plan.model, "What was trained."),
    Column("Learner", lambda note: note.plan.learner, lambda note: note.plan.learner, "How it was trained."),
    Column("Data", lambda note: _file(note.plan.data), lambda note: note.plan.data, "What it was trained on."),
    Column("Seed", lambda note: str(note.plan.seed), lambda note: note.plan.seed, "Where its random numbers began."),
    Column("Best", best_words, _best_key, "The best validation: the metric that selects the model, and a second one."),
    Column("Steps", lambda note: f"{note.step:,}", lambda note: note.step, "Batches so far."),
    Column("Time", lambda note: duration(note.seconds), lambda note: note.seconds, "Time of training, without pauses."),
    Column("Begun", lambda note: note.made.replace("T", " ")[:16], lambda note: note.made, "When it was started."),
)


class RunModel(QAbstractTableModel):
    """The runs as rows. `drawn` maps runs to the number of their colour."""

    renamed = Signal(str, str)
    ticked = Signal(str, bool)

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._owner = owner
        self.notes: list[RunNote] = []
        self.drawn: dict[str, int] = {}

    def set_notes(self, notes: Sequence[RunNote]) -> None:
        """Other runs, or the same ones with other numbers: then the selection stays."""
        if [note.run for note in notes] == [note.run for note in self.notes]:
            self.notes = list(notes)
            self.refresh()
            return
        self.beginResetModel()
        self.notes = list(notes)
        self.endResetModel()

    def set_note(self, note: RunNote) -> None:
        for row, old in enumerate(self.notes):
            if old.run == note.run:
                self.notes[row] = note
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    def refresh(self) -> None:
        if self.notes:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.notes) - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.notes)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return COLUMNS[section].title
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"{COLUMNS[section].help} Click to sort."
            if role == Qt.ItemDataRole.TextAlignmentRole and COLUMNS[section].title in NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if index.column() == 0:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
            if self.notes[index.row()].state != "damaged":
                flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        note, column = self.notes[index.row()], COLUMNS[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return column.text(note)
        if role == SORT:
            return column.key(note)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(note)
        if role == Qt.ItemDataRole.TextAlignmentRole and column.title in NUMBERS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if index.column() == 0 and role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if note.run in self.drawn else Qt.CheckState.Unchecked
        if index.column() == 0 and role == Qt.ItemDataRole.DecorationRole:
            return self._swatch(self.drawn.get(note.run))
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self.notes[index.row()].run
        if role == Qt.ItemDataRole.CheckStateRole:
            self.ticked.emit(run, Qt.CheckState(value) == Qt.CheckState.Checked)
            return True
        if role == Qt.ItemDataRole.EditRole and str(value).strip():
            self.renamed.emit(run, str(value))
            return True
        return False

    def _swatch(self, lane: int | None) -> QPixmap:
        """The colour of a run's curves; nothing where it is not drawn, in the same place."""
        side = px(self._owner, 10)
        pixmap = QPixmap(side, side)
        pixmap.fill(Qt.GlobalColor.transparent)
        if lane is not None:
            colours = colours_of(self._owner)
            painter = QPainter(pixmap)
            painter.setPen(QColor(colours.surface))  # seen on a selected row too
            painter.setBrush(QColor(colours.lanes[lane % len(colours.lanes)]))
            painter.drawRect(0, 0, side - 1, side - 1)
            painter.end()
        return pixmap


def tip(note: RunNote) -> str:
    """Everything about a run that a row has no room for."""
    lines = [f"<b>{note.name}</b>"]
    lines += [note.sentence] if note.sentence else []
    lines += [f"{metric_words(name)}: {value:.4g}" for name, value in note.scores.items()]
    lines += [f"<code>{note.plan.command()}</code>"] if note.state != "damaged" else []
    return "<br>".join(lines)


class RunTable(QWidget):
    """The table with its buttons. What is pressed is told, not done."""

    opened = Signal(str)
    drawn_changed = Signal(str, bool)
    renamed = Signal(str, str)
    duplicate = Signal(str)
    delete = Signal(list)
    resume = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = RunModel(self)
        self.sorted = QSortFilterProxyModel(self)
        self.sorted.setSourceModel(self.model)
        self.sorted.setSortRole(SORT)
        self.view = self._view()
        self.empty = QLabel(
            "No runs yet. Press Start: the run appears here, and stays until you delete it.\n"
            "Tick several to compare their curves."
        )
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setProperty("role", "muted")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout()
        for name, text, help, act in (
            ("show", "Show", "Look at this run: its curves, its answers, its snapshots. (Return)", self.show_chosen),
            ("resume", "Resume", "Go on with a run that was stopped or interrupted.", self.resume_chosen),
            ("rename", "Rename", "Give the run another name. (F2)", self.rename_chosen),
            ("duplicate", "Duplicate…", "Take its plan as that of the next run, to change it.", self.duplicate_chosen),
            ("delete", "Delete…", "Remove the run and everything it wrote. (Delete)", self.delete_chosen),
        ):
            button = QPushButton(text)
            button.setToolTip(help)
            button.setAutoDefault(False)
            button.clicked.connect(act)
            self.buttons[name] = button
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.stack, 1)
        column.addLayout(row)
        self.model.renamed.connect(self.renamed)
        self.model.ticked.connect(self.drawn_changed)
        self._show_buttons()

    def _view(self) -> QTableView:
        view = QTableView()
        view.setModel(self.sorted)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        view.setSortingEnabled(True)
        view.sortByColumn(len(COLUMNS) - 1, Qt.SortOrder.DescendingOrder)
        view.setShowGrid(False)
        view.setAlternatingRowColors(True)
        view.setWordWrap(False)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(px(self, 28))
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        view.setTabKeyNavigation(False)
        view.setAccessibleName("Runs")
        view.doubleClicked.connect(lambda _: self.show_chosen())
        view.activated.connect(lambda _: self.show_chosen())
        view.selectionModel().selectionChanged.connect(self._show_buttons)
        return view

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_notes(self, notes: Sequence[RunNote]) -> None:
        first = not self.model.notes
        self.model.set_notes(notes)
        self.stack.setCurrentWidget(self.view if notes else self.empty)
        if first and notes:
            self.fit_columns()
        self._show_buttons()

    def set_note(self, note: RunNote) -> None:
        """One run has moved on."""
        self.model.set_note(note)
        self._show_buttons()

    def set_drawn(self, drawn: Mapping[str, int]) -> None:
        """Which runs are drawn, in which colour."""
        self.model.drawn = dict(drawn)
        self.model.refresh()

    def fit_columns(self) -> None:
        """As wide as their words, names not narrower than a usual one."""
        self.view.resizeColumnsToContents()
        self.view.setColumnWidth(0, max(self.view.columnWidth(0), px(self, 150)))
        best = [column.title for column in COLUMNS].index("Best")
        self.view.setColumnWidth(best, max(self.view.columnWidth(best), px(self, 190)))

    @property
    def chosen(self) -> list[RunNote]:
        """The selected runs, as they are sorted."""
        rows = self.view.selectionModel().selectedRows() if self.view.selectionModel() else []
        return [self.model.notes[self.sorted.mapToSource(index).row()] for index in sorted(rows, key=lambda i: i.row())]

    def choose(self, run: str) -> None:
        """Select a run."""
        for row, note in enumerate(self.model.notes):
            if note.run == run:
                self.view.selectRow(self.sorted.mapFromSource(self.model.index(row, 0)).row())

    def _show_buttons(self) -> None:
        chosen = self.chosen
        one = chosen[0] if len(chosen) == 1 else None
        whole = one is not None and one.state != "damaged"
        self.buttons["show"].setEnabled(whole)
        self.buttons["rename"].setEnabled(whole)
        self.buttons["duplicate"].setEnabled(whole)
        self.buttons["resume"].setEnabled(one is not None and one.resumable and not one.elsewhere)
        self.buttons["delete"].setEnabled(bool(chosen) and not any(note.active for note in chosen))

    # What is done -----------------------------------------------------------------------------------------------------

    def show_chosen(self) -> None:
        if self.buttons["show"].isEnabled():
            self.opened.emit(self.chosen[0].run)

    def resume_chosen(self) -> None:
        if self.buttons["resume"].isEnabled():
            self.resume.emit(self.chosen[0].run)

    def rename_chosen(self) -> None:
        """Edit the name in its place."""
        rows = self.view.selectionModel().selectedRows()
        if len(rows) == 1:
            self.view.setFocus()
            self.view.edit(rows[0])

    def duplicate_chosen(self) -> None:
        if self.buttons["duplicate"].isEnabled():
            self.duplicate.emit(self.chosen[0].run)

    def delete_chosen(self) -> None:
        if self.buttons["delete"].isEnabled():
            self.delete.emit([note.run for note in self.chosen])

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.model.refresh()
        elif event.type() == QEvent.Type.FontChange:
            self.view.verticalHeader().setDefaultSectionSize(px(self, 28))
            self.fit_columns()
