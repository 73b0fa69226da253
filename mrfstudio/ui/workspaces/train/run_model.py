"""All runs as rows of a table: what each column says and is sorted by."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.training import RunNote
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.train.run_plots import metric_words
from mrfstudio.ui.workspaces.train.training_bar import STATES, duration

Index = QModelIndex | QPersistentModelIndex
SORT = Qt.ItemDataRole.UserRole
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NUMBERS = ("Seed", "Steps", "Time")


@dataclass(frozen=True)
class RunColumn:
    """A column: its title, what it says of a run, and what it is sorted by."""

    title: str
    text: Callable[[RunNote], str]
    key: Callable[[RunNote], Any]
    help: str


def best_words(note: RunNote) -> str:
    """The metric that matters, and a second one: `NCE 0.083, IoU 0.94`."""
    return ", ".join(f"{metric_words(name)} {value:.3g}" for name, value in list(note.scores.items())[:2])


def begun(made: str) -> str:
    """`2026-03-07T09:30:12` as a person reads it, with the year only where it is another one."""
    try:
        then = datetime.datetime.fromisoformat(made)
    except ValueError:
        return made
    day = f"{then.day} {MONTHS[then.month - 1]}"
    return f"{day} {then:%H:%M}" if then.year == datetime.date.today().year else f"{day} {then.year}"


def _best_key(note: RunNote) -> float:
    first = next(iter(note.scores.values()), None)
    return float("inf") if first is None else first if note.better == "lower" else -first


def _state(note: RunNote) -> str:
    return STATES.get(note.state, note.state) + (" elsewhere" if note.elsewhere and note.active else "")


def _file(data: str) -> str:
    name, colon, path = data.partition(":")
    return f"{name}:{path.rsplit('/', 1)[-1]}" if colon else name


COLUMNS = (
    RunColumn(
        "Name", lambda note: note.name, lambda note: note.name.lower(), "Tick a run to draw its curves; F2 renames it."
    ),
    RunColumn("State", _state, lambda note: note.state, "How the run stands."),
    RunColumn("Model", lambda note: note.plan.model, lambda note: note.plan.model, "What was trained."),
    RunColumn("Learner", lambda note: note.plan.learner, lambda note: note.plan.learner, "How it was trained."),
    RunColumn("Data", lambda note: _file(note.plan.data), lambda note: note.plan.data, "What it was trained on."),
    RunColumn("Seed", lambda note: str(note.plan.seed), lambda note: note.plan.seed, "Where its random numbers began."),
    RunColumn(
        "Best", best_words, _best_key, "The best validation: the metric that selects the model, and a second one."
    ),
    RunColumn("Steps", lambda note: f"{note.step:,}", lambda note: note.step, "Batches so far."),
    RunColumn(
        "Time", lambda note: duration(note.seconds), lambda note: note.seconds, "Time of training, without pauses."
    ),
    RunColumn("Begun", lambda note: begun(note.made), lambda note: note.made, "When it was started."),
)


def options_of(note: RunNote) -> dict[str, Any]:
    """Everything that was chosen for a run, by name; what is not in it has its usual value."""
    return {**note.plan.options, **note.options}


def differing(notes: Sequence[RunNote]) -> tuple[RunColumn, ...]:
    """A column for every parameter in which the runs differ."""
    chosen = [options_of(note) for note in notes]
    names = dict.fromkeys(name for options in chosen for name in options)
    found = []
    for name in names:
        values = {repr(options.get(name)) for options in chosen}
        if len(values) > 1:
            found.append(_option_column(name))
    return tuple(found)


def _option_column(name: str) -> RunColumn:
    def text(note: RunNote) -> str:
        value = options_of(note).get(name)
        return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    def key(note: RunNote) -> Any:
        value = options_of(note).get(name)
        # Numbers by their value, words behind them, what is usual last: one column may have all of them.
        number = isinstance(value, int | float)
        return f"{value:+024.9f}" if number else f"~{value}" if value is not None else "~~"

    words = name.replace("_", " ")
    return RunColumn(words, text, key, f"The option {words}; empty where a run has its usual value.")


class RunModel(QAbstractTableModel):
    """The runs as rows. `drawn` maps runs to the number of their colour."""

    renamed = Signal(str, str)
    ticked = Signal(str, bool)

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._owner = owner
        self.columns: tuple[RunColumn, ...] = COLUMNS
        """Those of every table, then the parameters in which these runs differ."""
        self.notes: list[RunNote] = []
        self.drawn: dict[str, int] = {}

    def set_notes(self, notes: Sequence[RunNote]) -> None:
        """Other runs, or the same ones with other numbers: then the selection stays."""
        columns = (*COLUMNS, *differing(notes))
        same = [each.title for each in columns] == [each.title for each in self.columns]
        if same and [note.run for note in notes] == [note.run for note in self.notes]:
            self.notes = list(notes)
            self.refresh()
            return
        self.beginResetModel()
        self.notes, self.columns = list(notes), columns
        self.endResetModel()

    def set_note(self, note: RunNote) -> None:
        for row, old in enumerate(self.notes):
            if old.run == note.run:
                self.notes[row] = note
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))

    def refresh(self) -> None:
        if self.notes:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.notes) - 1, len(self.columns) - 1))

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.notes)

    def columnCount(self, parent: Index | None = None) -> int:
        return len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            if role == Qt.ItemDataRole.ToolTipRole:
                return f"{self.columns[section].help} Click to sort."
            if role == Qt.ItemDataRole.TextAlignmentRole and self.columns[section].title in NUMBERS:
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
        note, column = self.notes[index.row()], self.columns[index.column()]
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
    lines += [f"begun {note.made.replace('T', ' ')}"] if note.made else []
    lines += [note.sentence] if note.sentence else []
    lines += [f"{metric_words(name)}: {value:.4g}" for name, value in note.scores.items()]
    lines += [f"<code>{note.plan.command()}</code>"] if note.state != "damaged" else []
    return "<br>".join(lines)
