"""The arena as a page: which algorithm is nearest to the truth on the graphs of a folder, while it runs and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDoubleSpinBox,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import ArenaScore, ArenaScores
from mrfstudio.engine.protocol.requests.converge import RunArena, StopArena
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.table_keys import table_keys

COLUMNS = ("Graph", "Algorithm", "Error", "Estimate", "log Z error", "Seconds", "What it says")
HELP = (
    "The file.",
    "The algorithm.",
    "Mean Hellinger distance of its marginals from the published ones; 1 without an answer.",
    "What the algorithm expected that to be.",
    "How far its log Z is from the published one, or from an exact answer.",
    "How long it took.",
    "What was picked, how it ended, or why there is no answer.",
)
FIRST = ("auto", "bp")
EMPTY = (
    "Choose a folder with NAME.uai and NAME.uai.MAR, the published marginals. Each algorithm runs on every graph; "
    "results are kept in the folder, and what is there is not run again."
)


class ArenaPage(QWidget):
    """Folder, algorithms and seconds above; the table and two plots below."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller = controller
        self.folder = QLineEdit(placeholderText="Folder with graphs")
        self.folder.setAccessibleName("Folder with graphs")
        self.browse = QPushButton("Choose…")
        self.algorithms = QLineEdit(" ".join(FIRST))
        self.algorithms.setAccessibleName("Algorithms")
        self.algorithms.setToolTip(
            "Names with a space between them, such as auto bp gbp exact. "
            "pgmpy and libdai answer beside where they are installed."
        )
        self.seconds = QDoubleSpinBox(minimum=0.1, maximum=86_400.0, value=20.0, decimals=1, suffix=" s")
        self.seconds.setAccessibleName("Seconds for each run")
        self.seconds.setToolTip("How long each algorithm may take on a graph.")
        self.start, self.stop = QPushButton("Run"), QPushButton("Stop")
        self.status = QLabel(EMPTY, wordWrap=True)
        self.table = QTableWidget(0, len(COLUMNS))
        self.errors = Content("Errors", help=_help("Mean Hellinger errors"), across="graph", up="error")
        self.log_z = Content("log Z", help=_help("Errors of log Z"), across="graph", up="error of log Z")
        for content in (self.errors, self.log_z):
            content.empty = "Nothing yet"
        self._lay_out()
        self.browse.clicked.connect(self._choose)
        self.start.clicked.connect(self.run)
        self.stop.clicked.connect(self.end)
        self._show_running(False)

    def _lay_out(self) -> None:
        table, gap = self.table, px(self, 8)
        table.setHorizontalHeaderLabels(list(COLUMNS))
        for number, text in enumerate(HELP):
            item = table.horizontalHeaderItem(number)
            assert item is not None
            item.setToolTip(text)
        table.setAccessibleName("Scores")
        table_keys(table)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.verticalHeader().hide()
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        table.horizontalHeader().setSectionResizeMode(len(COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
        table.setSortingEnabled(True)
        table.horizontalHeader().setSortIndicator(2, Qt.SortOrder.DescendingOrder)
        first, second = QHBoxLayout(), QHBoxLayout()
        first.addWidget(self.folder, 1)
        first.addWidget(self.browse)
        second.addWidget(QLabel("Algorithms"))
        second.addWidget(self.algorithms, 1)
        for widget in (self.seconds, self.start, self.stop):
            second.addWidget(widget)
        plots = QWidget()
        row = QHBoxLayout(plots)
        row.setContentsMargins(0, 0, 0, 0)
        for content in (self.errors, self.log_z):
            plot = Plot(content)
            plot.whole_numbers = True  # places in a row of graphs
            row.addWidget(plot)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(table)
        parts.addWidget(plots)
        parts.setStretchFactor(0, 3)
        parts.setStretchFactor(1, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(gap, gap, gap, gap)
        column.setSpacing(gap)
        column.addLayout(first)
        column.addLayout(second)
        column.addWidget(self.status)
        column.addWidget(parts, 1)

    def _choose(self) -> None:
        found = QFileDialog.getExistingDirectory(self, "Folder with graphs", self.folder.text())
        if found:
            self.folder.setText(found)

    def run(self) -> None:
        """Run what the folder does not have yet."""
        if not self.folder.text().strip():
            self.status.setText(EMPTY)
            return
        asked = RunArena(self.folder.text().strip(), tuple(self.algorithms.text().split()), self.seconds.value())
        self._show_running(True)
        self.status.setText("Reading the folder …")
        self._controller.ask(asked, self._ended, self._refused, self.show_scores)

    def end(self) -> None:
        """Stop; what was done is kept."""
        self._controller.ask(StopArena(), lambda _: None)

    def _ended(self, scores: ArenaScores | None) -> None:
        self._show_running(False)
        if scores is None:
            self.status.setText("Stopped. Run goes on where it was.")
        else:
            self.show_scores(scores)

    def _refused(self, sentence: str) -> None:
        self._show_running(False)
        self.status.setText(sentence)

    def _show_running(self, running: bool) -> None:
        self.start.setEnabled(not running)
        self.stop.setEnabled(running)

    def show_scores(self, found: ArenaScores) -> None:
        """The scores so far, in the table and in the plots."""
        scores = found.scores
        names = [name for name, _ in found.means]
        means = ", ".join(f"{name} {mean:.4f}" for name, mean in found.means)
        done = f"{len(scores)} of {found.total} runs. Mean error: {means}."
        self.status.setText(f"{done} Kept in {found.file}.")
        table = self.table
        table.setSortingEnabled(False)
        table.setRowCount(len(scores))
        for row, score in enumerate(scores):
            for column, item in enumerate(_cells(score)):
                table.setItem(row, column, item)
        table.setSortingEnabled(True)
        _draw(self.errors, scores, names, lambda score: score.hellinger)
        _draw(self.log_z, scores, names, lambda score: score.log_z_error)


class _Number(QTableWidgetItem):
    """A number that sorts as one; what is not known comes last."""

    def __init__(self, value: float | None, digits: int) -> None:
        super().__init__("–" if value is None else f"{value:.{digits}f}")
        self.value = -1.0 if value is None else value
        self.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def __lt__(self, other: QTableWidgetItem) -> bool:
        return self.value < other.value if isinstance(other, _Number) else super().__lt__(other)


def _cells(score: ArenaScore) -> list[QTableWidgetItem]:
    said = QTableWidgetItem(score.said)
    said.setToolTip(score.said)
    return [
        QTableWidgetItem(score.graph),
        QTableWidgetItem(score.algorithm),
        _Number(score.hellinger, 4),
        _Number(score.estimate, 4),
        _Number(score.log_z_error, 3),
        _Number(score.seconds, 1),
        said,
    ]


def _draw(
    content: Content, scores: Sequence[ArenaScore], names: Sequence[str], value: Callable[[ArenaScore], float | None]
) -> None:
    """A line an algorithm: its graphs from the best to the worst."""
    lines = []
    for number, name in enumerate(names):
        known = (value(score) for score in scores if score.algorithm == name)
        up = np.sort(np.array([each for each in known if each is not None]))
        across = np.arange(1, len(up) + 1, dtype=float)
        lines.append(PlotLine(number, name, across, up, lane_paint(number), number, smoothed=False))
    content.lines = lines
    content.tell()


def _help(what: str) -> str:
    return f"{what}, for each algorithm its graphs from the best to the worst: the lower line is the better one."
