"""All runs in a table: sorted by any column, ticked ones drawn together, renamed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QSortFilterProxyModel, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.training import RunNote
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.table_keys import table_keys
from mrfstudio.ui.workspaces.train.run_model import COLUMNS, SORT, RunModel

NO_RUNS = (
    "No runs yet. Press Start: the run appears here, and stays until you delete it.\n"
    "Tick several to compare their curves."
)
NARROW_ROW = 3  # buttons in a row where there is little room


class RunTable(QWidget):
    """The table with its buttons. What is pressed is told, not done."""

    opened = Signal(str)
    drawn_changed = Signal(str, bool)
    renamed = Signal(str, str)
    duplicate = Signal(str)
    delete = Signal(list)
    resume = Signal(str)
    averaged = Signal(bool)
    """Runs that differ only in their seed are to be drawn as one curve, or each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = RunModel(self)
        self.sorted = QSortFilterProxyModel(self)
        self.sorted.setSourceModel(self.model)
        self.sorted.setSortRole(SORT)
        self.sorted.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.sorted.setFilterKeyColumn(-1)
        self.filter, self.average = QLineEdit(), QCheckBox("Mean over seeds")
        self.filter.setPlaceholderText("Filter: part of a name, a model, a value…")
        self.filter.setAccessibleName("Filter runs")
        self.filter.setToolTip("Only runs with this text in any column are shown.")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self.sorted.setFilterFixedString)
        self.average.setToolTip(
            "Draw runs that differ only in their seed as one curve, with a band from lowest to highest."
        )
        self.average.toggled.connect(self.averaged)
        self.view = self._view()
        self.empty = QLabel("Runs are read as soon as the engine is loaded.")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        self.empty.setProperty("role", "muted")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.buttons: dict[str, QPushButton] = {}
        self._row = QGridLayout()
        for name, text, help, act in (
            ("show", "Show", "Look at this run: its curves, its answers, its snapshots. (Return)", self.show_chosen),
            (
                "resume",
                "Resume",
                "Go on with a run that was stopped or interrupted; one that has ended gets more time.",
                self.resume_chosen,
            ),
            ("rename", "Rename", "Give the run another name. (F2)", self.rename_chosen),
            ("duplicate", "Duplicate", "Take its plan as that of the next run, to change it.", self.duplicate_chosen),
            ("delete", "Delete", "Remove the run and all it wrote; Undo brings it back. (Delete)", self.delete_chosen),
        ):
            button = QPushButton(text)
            button.setToolTip(help)
            button.setAutoDefault(False)
            button.clicked.connect(act)
            self.buttons[name] = button
        self.set_narrow(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        head = QHBoxLayout()
        head.addWidget(self.filter, 1)
        head.addWidget(self.average)
        column.addLayout(head)
        column.addWidget(self.stack, 1)
        column.addLayout(self._row)
        self.model.renamed.connect(self.renamed)
        self.model.ticked.connect(self.drawn_changed)
        self._show_buttons()

    def set_narrow(self, narrow: bool) -> None:
        """Buttons in one row, or in two where there is little room."""
        in_a_row = NARROW_ROW if narrow else len(self.buttons)
        for index, button in enumerate(self.buttons.values()):
            self._row.removeWidget(button)
            self._row.addWidget(button, *divmod(index, in_a_row))
        for column in range(len(self.buttons) + 1):
            self._row.setColumnStretch(column, int(column == in_a_row))

    def _view(self) -> QTableView:
        view = QTableView()
        view.setModel(self.sorted)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)  # F2 renames from every column
        view.setSortingEnabled(True)
        view.sortByColumn(len(COLUMNS) - 1, Qt.SortOrder.DescendingOrder)
        view.setShowGrid(False)
        view.setAlternatingRowColors(True)
        view.setWordWrap(False)
        view.verticalHeader().hide()
        header = view.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        table_keys(view)
        view.setAccessibleName("Runs")
        view.doubleClicked.connect(lambda _: self.show_chosen())
        view.activated.connect(lambda _: self.show_chosen())
        view.selectionModel().selectionChanged.connect(self._show_buttons)
        return view

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_notes(self, notes: Sequence[RunNote]) -> None:
        self.model.set_notes(notes)
        self.empty.setText(NO_RUNS)
        self.stack.setCurrentWidget(self.view if notes else self.empty)
        if notes:
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
        self.view.verticalHeader().setDefaultSectionSize(px(self, 28))
        self.view.resizeColumnsToContents()
        self.view.setColumnWidth(0, max(self.view.columnWidth(0), px(self, 130)))
        # Columns whose words grow while a run goes on have room for what will come.
        for title, words in (("Best", "NCE 0.888, IoU 0.888"), ("Steps", "888,888"), ("Time", "88 min 88 s")):
            column = [each.title for each in COLUMNS].index(title)
            room = self.fontMetrics().horizontalAdvance(words) + px(self, 16)
            self.view.setColumnWidth(column, max(self.view.columnWidth(column), room))

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
        self.buttons["resume"].setEnabled(one is not None and (one.resumable or one.extendable) and not one.elsewhere)
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
        if event.type() == QEvent.Type.FontChange:  # when the table has the new font too
            QTimer.singleShot(0, self, self.fit_columns)
        elif event.type() == QEvent.Type.PaletteChange:
            self.model.refresh()
