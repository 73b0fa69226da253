"""Suspects: messages, factors and variables by what speaks against them, loops through the worst, and remedies."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import FoundLoop, Suspect, Suspects, Trial
from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.elided import ElidedButton
from mrfstudio.ui.widgets.table_keys import table_keys

COLUMNS = ("Name", "Swing", "Period", "Change", "Energy", "Error")
WIDEST = ("", "0.000", "12", "0.0e-00", "-00.0%", "0.000")
"""What a column must have room for; names take the rest."""
HELP = (
    "What it is.",
    "How far its probabilities swing.",
    "Iterations after which they come back; ~ swings without a period.",
    "How much it changed in the last iteration.",
    "Its part of the Bethe free energy.",
    "How far its marginal is from the exact one, where that can be computed.",
)
HEADING_ROOM = 28
"""Design pixels beside the letters of a number's column: headings are bold, and one has an arrow."""
WIDEST_NAME = 180
"""Design pixels that names take at most before the table scrolls; longer ones lose their middle."""
NARROWEST = 60
"""Design pixels that a name has at least; where that is too much the table scrolls."""
KINDS = {"": "Everything", "message": "Messages", "factor": "Factors", "variable": "Variables"}
MOST_SHOWN = 300
MOST_REMEDIES = 5
EMPTY = "What keeps this run from settling is listed here, the worst first."


class SuspectsPanel(QWidget):
    """A table that can be sorted, filtered and searched; a row chosen is shown on the canvas."""

    chosen = Signal(object)
    """A `Suspect`."""
    loop_chosen = Signal(object)
    """A `FoundLoop`."""
    followed = Signal(object)
    """A `Tip`."""
    trials_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._found: Suspects | None = None
        self._graph: GraphFrame | None = None
        self._shown: list[Suspect] = []
        self._trials: tuple[Trial, ...] = ()
        self.summary = QLabel(EMPTY, wordWrap=True)
        self.kind, self.search = ChoiceBox(10), QLineEdit(placeholderText="Find by name")
        for name, title in KINDS.items():
            self.kind.addItem(title, name)
        self.kind.setAccessibleName("Kind of suspects")
        self.search.setAccessibleName("Find suspects by name")
        self.search.setClearButtonEnabled(True)
        self.table = QTableWidget(0, len(COLUMNS))
        self._prepare_table()
        self.loops = [ElidedButton() for _ in range(5)]
        self.remedies = [ElidedButton() for _ in range(MOST_REMEDIES)]
        self.try_all = QPushButton("Try remedies in a copy")
        self.try_all.setToolTip("Run what may help beside this run; the buttons then say what each would do.")
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        above: tuple[QWidget, ...] = (self.summary, self.kind, self.search)
        for widget in above:
            column.addWidget(widget)
        column.addWidget(self.table, 1)
        self.loop_heading = QLabel("<b>Strongest loops through the worst message</b>", wordWrap=True)
        for widget in (self.loop_heading, *self.loops, self.try_all, *self.remedies):
            column.addWidget(widget)
        for number, button in enumerate(self.loops):
            button.setProperty("role", "plain")
            button.clicked.connect(lambda _=False, number=number: self._show_loop(number))
        for number, button in enumerate(self.remedies):
            button.clicked.connect(lambda _=False, number=number: self.followed.emit(self._trials[number].tip))
        self.kind.activated.connect(lambda _: self._fill())
        self.search.textChanged.connect(lambda _: self._fill())
        self.try_all.clicked.connect(self._try)
        MinimumWidth(self, 380)
        self.set_suspects(None, None)
        self.set_trials(())

    def _prepare_table(self) -> None:
        table = self.table
        table.setHorizontalHeaderLabels(list(COLUMNS))
        for column, text in enumerate(HELP):
            item = table.horizontalHeaderItem(column)
            assert item is not None
            item.setToolTip(text)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.verticalHeader().hide()
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._size_columns()
        table.setSortingEnabled(True)
        header.setSortIndicator(1, Qt.SortOrder.DescendingOrder)
        table.setAccessibleName("Suspects")
        table_keys(table)
        table.itemSelectionChanged.connect(self._select)

    def _size_columns(self) -> None:
        metrics = self.fontMetrics()
        self.table.horizontalHeader().setMinimumSectionSize(px(self, NARROWEST))
        for column in range(1, len(COLUMNS)):
            widest = max(metrics.horizontalAdvance(text) for text in (COLUMNS[column], WIDEST[column]))
            self.table.setColumnWidth(column, widest + px(self, HEADING_ROOM))  # bold, with an arrow where it sorts
        self._fit_names()
        self.table.verticalHeader().setDefaultSectionSize(metrics.height() + px(self, 6))

    def _fit_names(self) -> None:
        """Names have the room that they need, up to a limit, and all that the numbers leave."""
        table, metrics = self.table, self.fontMetrics()
        names = [item.text() for row in range(table.rowCount()) if (item := table.item(row, 0)) is not None]
        widest = max(map(metrics.horizontalAdvance, names), default=0) + px(self, 12)
        others = sum(table.columnWidth(column) for column in range(1, len(COLUMNS)))  # 0 where hidden
        table.setColumnWidth(0, max(min(widest, px(self, WIDEST_NAME)), table.viewport().width() - others))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_names()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "table"):
            self._size_columns()

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_suspects(self, found: Suspects | None, graph: GraphFrame | None) -> None:
        """Show what was found; None shows what belongs here."""
        self._found, self._graph = found, graph
        self._fill()
        for number, button in enumerate(self.loops):
            loop = found.loops[number] if found is not None and number < len(found.loops) else None
            button.setVisible(loop is not None)
            if loop is not None and graph is not None:
                button.set_words(loop_text(loop, graph), "Show this loop on the canvas.")
        self.loop_heading.setVisible(found is not None and bool(found.loops))

    def set_trials(self, trials: tuple[Trial, ...]) -> None:
        """What each remedy would do, those that settle first."""
        order = sorted(trials, key=lambda trial: (not trial.converged, not trial.iterations, trial.iterations))
        self._trials = tuple(order[:MOST_REMEDIES])
        self.try_all.setEnabled(True)
        self.try_all.setText("Try remedies in a copy")
        for number, button in enumerate(self.remedies):
            button.setVisible(number < len(self._trials))
            if number < len(self._trials):
                trial = self._trials[number]
                button.set_words(f"{trial.tip.title}, {trial.text}", f"{trial.tip.reason} Undo takes it back.")

    def _try(self) -> None:
        self.try_all.setEnabled(False)
        self.try_all.setText("Trying …")
        self.trials_wanted.emit()

    def _fill(self) -> None:
        """The rows that fit kind and name."""
        found, graph, table = self._found, self._graph, self.table
        kind, words = self.kind.currentData(), self.search.text().strip().lower()
        rows: list[tuple[str, Suspect]] = []
        if found is not None and graph is not None:
            for suspect in found.rows:
                if kind and suspect.kind != kind:
                    continue
                name = suspect_name(suspect, graph)
                if words in name.lower():
                    rows.append((name, suspect))
        rows.sort(key=lambda each: (-each[1].amplitude, -each[1].residual))
        table.blockSignals(True)
        table.setSortingEnabled(False)
        table.setRowCount(min(len(rows), MOST_SHOWN))
        self._shown = [suspect for _, suspect in rows[:MOST_SHOWN]]
        for row, (name, suspect) in enumerate(rows[:MOST_SHOWN]):
            for column, (text, value) in enumerate(_cells(name, suspect)):
                item = _Cell(text, value, row, column)
                item.setToolTip(name)
                table.setItem(row, column, item)
        for column, known in ((4, lambda each: each.share), (5, lambda each: each.wrong)):
            nobody = all(known(suspect) is None for suspect in self._shown)
            table.setColumnHidden(column, nobody)  # names get the room
        table.setSortingEnabled(True)
        table.blockSignals(False)
        self._fit_names()
        more = f"; the first {MOST_SHOWN} are shown" if len(rows) > MOST_SHOWN else ""
        self.summary.setText(EMPTY if found is None else f"{summary(found)} {len(rows)} rows{more}.")

    def _select(self) -> None:
        items = self.table.selectedItems()
        if items and isinstance(items[0], _Cell) and items[0].row_number < len(self._shown):
            self.chosen.emit(self._shown[items[0].row_number])

    def _show_loop(self, number: int) -> None:
        if self._found is not None and number < len(self._found.loops):
            self.loop_chosen.emit(self._found.loops[number])


class _Cell(QTableWidgetItem):
    """Sorted by its number, not by its text."""

    def __init__(self, text: str, value: float, row: int, column: int) -> None:
        super().__init__(text)
        self.value, self.row_number = value, row
        if column:
            self.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def __lt__(self, other: Any) -> bool:
        if self.column() == 0:
            return bool(self.text() < other.text())
        return bool(self.value < other.value)


def summary(found: Suspects) -> str:
    """What the messages of a table do, in a sentence."""
    worst = [each for each in found.rows if each.kind == "message"]
    swinging = sum(each.period != 0 for each in worst)
    still = f"{swinging} of the {len(worst)} worst messages swing" if swinging else "no message swings"
    return f"Iteration {found.iteration}: {'converged' if found.converged else still}."


def _cells(name: str, suspect: Suspect) -> list[tuple[str, float]]:
    period = "" if suspect.period == 0 else "~" if suspect.period < 0 else str(suspect.period)
    share = "" if suspect.share is None else f"{100 * suspect.share:.1f}%".replace("-0.0%", "0.0%")
    wrong = "" if suspect.wrong is None else f"{suspect.wrong:.3f}"
    return [
        (name, 0.0),
        (f"{suspect.amplitude:.3f}" if suspect.amplitude else "0", suspect.amplitude),
        (period, float(suspect.period)),
        (f"{suspect.residual:.1e}", suspect.residual),
        (share, abs(suspect.share or 0.0)),
        (wrong, suspect.wrong or 0.0),
    ]


def suspect_name(suspect: Suspect, graph: GraphFrame) -> str:
    """What a row is about, in words."""
    if suspect.kind == "variable":
        return graph.name(suspect.number)
    if suspect.kind == "factor":
        return f"({', '.join(graph.name(node) for node in graph.scope(suspect.number))})"
    factor, pairs = graph.factor_of(suspect.number), 2 * len(graph.edges)
    node = int(
        graph.edges.ravel()[suspect.number] if suspect.number < pairs else graph.stars[suspect.number - pairs, 1]
    )
    others = [graph.name(other) for other in graph.scope(factor) if other != node]
    return f"{', '.join(others)} → {graph.name(node)}"


def loop_text(loop: FoundLoop, graph: GraphFrame) -> str:
    """A loop in a line: who is on it, how much comes back, whether it is frustrated."""
    names = [graph.name(node) for node in loop.variables]
    shown = names if len(names) <= 5 else [*names[:3], "…", names[-1]]
    frustrated = ", frustrated" if loop.sign < 0 else ""
    return f"{' – '.join(shown)}: {loop.strength:.2g} comes back{frustrated}"


def nodes_of(suspect: Suspect, graph: GraphFrame) -> tuple[list[int], int | None]:
    """The nodes to look at, and the factor."""
    if suspect.kind == "variable":
        return [suspect.number], None
    factor = suspect.number if suspect.kind == "factor" else graph.factor_of(suspect.number)
    return list(graph.scope(factor)), factor


def axis_of(link: int, graph: GraphFrame) -> int:
    """Which variable of its factor a link leads to."""
    pairs = 2 * len(graph.edges)
    if link < pairs:
        return link % 2
    first = int(np.argmax(graph.stars[:, 0] == graph.stars[link - pairs, 0]))
    return link - pairs - first
