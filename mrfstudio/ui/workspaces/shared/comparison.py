"""Lanes side by side: residuals, free energies against exact, marginals against exact, and all scores in a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QSplitter, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Entry
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.ui.export.pictures import CSV, ExportError, ask_path, save_text
from mrfstudio.ui.plots.curves import CurvePlots
from mrfstudio.ui.plots.scatter import MarginalScatter
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.elided import Elided
from mrfstudio.ui.widgets.lane_names import LETTERS, lane_title
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.shared.score_table import ScoreTable

TALL = 340
"""Design pixels of height from which on there is room for plots above the table."""


class ComparisonPanel(QWidget):
    """Fed by frames alone: a view that asks for `comparison` fills it.

    `command` goes back in time when a curve is clicked; `reference_changed` asks for another reference, a lane's number
    or None for exact inference; `message` is one sentence for the message bar.
    """

    command = Signal(object)
    reference_changed = Signal(object)
    message = Signal(str)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._entries: dict[str, Entry] = {}
        self._titles: tuple[tuple[int, str], ...] = ()
        self._words, self._hidden = "", 0
        self.curves = CurvePlots(("residual", "log_partition"))
        self.curves.command.connect(self.command)
        MinimumWidth(self.curves, 300)
        self.scatter, self.table = MarginalScatter(), ScoreTable()
        self.text = Elided(role="muted")
        self.table.left_out.connect(self._left_out)
        self.reference, self.copy, self.export = ChoiceBox(18), QPushButton("Copy"), QPushButton("Export…")
        self.columns, self.filter = QPushButton("Columns"), QLineEdit()
        self._heads = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._rows = (QHBoxLayout(), QHBoxLayout())
        self._dress()
        self.plots = _split(((self.curves, 4), (self.scatter, 2)))
        self.parts = _split(((self.plots, 1), (self.table, 1)))
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        column.setSpacing(px(self, 4))
        column.addLayout(self._head())
        column.addWidget(self.parts, 1)
        self.setAccessibleName("Comparison of lanes")
        self._show_reference(())

    def _dress(self) -> None:
        self.reference.setToolTip(
            "What the lanes are compared with: exact inference where it can be computed, or a lane."
        )
        self.reference.setAccessibleName("Reference")
        self.reference.activated.connect(lambda _: self.reference_changed.emit(self.reference.currentData()))
        self.copy.setToolTip(
            keyed("Copy all columns; a spreadsheet takes them as they are. Ctrl+C in the table does the same.")
        )
        self.copy.clicked.connect(self.table.copy)
        self.columns.setToolTip("Which columns the table shows, and what each of them says.")
        self.columns.clicked.connect(
            lambda: self.table.column_menu().popup(self.columns.mapToGlobal(self.columns.rect().bottomLeft()))
        )
        self.filter.setPlaceholderText("Filter")
        self.filter.setAccessibleName("Filter lanes")
        self.filter.setToolTip("Only lanes with this text in any column.")
        self.filter.setMaximumWidth(px(self, 120))
        MinimumWidth(self.filter, 56)
        self.filter.textChanged.connect(self.table.scores.set_filter)
        self.export.setToolTip("Save all columns as comma-separated numbers.")
        self.export.clicked.connect(self.ask_and_export)

    def _head(self) -> QBoxLayout:
        """Two rows, or one where both have room beside each other."""
        label = QLabel("&Reference")
        label.setBuddy(self.reference)
        above, below = self._rows
        above.addWidget(label)
        above.addWidget(self.reference)
        above.addWidget(self.text, 1)
        below.addStretch(1)
        for widget in (self.filter, self.columns, self.copy, self.export):
            below.addWidget(widget)
        self._heads.addLayout(above, 1)
        self._heads.addLayout(below)
        return self._heads

    def minimumSizeHint(self) -> QSize:
        """With the head in two rows, whichever way it stands now: else it could never go back."""
        inside = max(self.parts.minimumSizeHint().width(), *(row.minimumSize().width() for row in self._rows))
        return QSize(inside + 2 * px(self, 8), super().minimumSizeHint().height())

    def _fold_head(self) -> None:
        needed = sum(row.minimumSize().width() for row in self._rows) + px(self, 40)
        way = QBoxLayout.Direction
        self._heads.setDirection(way.LeftToRight if self.width() >= needed else way.TopToBottom)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Plots beside the table in a strip, above it on a page."""
        super().resizeEvent(event)
        self._fold_head()
        high = self.height() > px(self, TALL)
        if high != (self.parts.orientation() == Qt.Orientation.Vertical):
            self.parts.setOrientation(Qt.Orientation.Vertical if high else Qt.Orientation.Horizontal)
            long = self.height() if high else self.width()
            self.parts.setSizes([round(0.6 * long), round(0.4 * long)])
            wide = self.width() if high else self.width() // 2
            self.plots.setSizes([round(0.66 * wide), round(0.34 * wide)])

    # Frames -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        """Know the algorithms by their titles."""
        self._entries = {entry.name: entry for entry in engine.catalogue.algorithms}

    def set_frame(self, frame: Frame) -> None:
        """Add every scalar, and show the newest scores."""
        self.curves.set_frame(frame)
        self.scatter.set_comparison(frame.comparison)
        self.table.set_frame(frame, self._entries)
        self._words = "" if frame.comparison is None else frame.comparison.text
        self._say()
        self._show_reference(frame.lanes)

    def _left_out(self, columns: int) -> None:
        self._hidden = columns
        self._say()

    def _say(self) -> None:
        """What the lanes are compared with, and that not every column fits."""
        columns = f"{self._hidden} {'column does' if self._hidden == 1 else 'columns do'} not fit: widen the table."
        words = f"{self._words} {columns}" if self._hidden and self._words else self._words
        if words != self.text.text():
            self.text.setText(words)
            self.text.setToolTip(words)

    def _show_reference(self, lanes: tuple[LaneFrame, ...]) -> None:
        titles = tuple((lane.lane, f"Lane {LETTERS[lane.lane]}: {lane_title(lane, self._entries)}") for lane in lanes)
        if titles == self._titles and self.reference.count():
            return
        self._titles = titles
        chosen = self.reference.currentData()
        with QSignalBlocker(self.reference):
            self.reference.clear()
            self.reference.addItem("Exact, where possible", None)
            for lane, title in titles:
                self.reference.addItem(title, lane)
            index = self.reference.findData(chosen) if chosen is not None else 0
            self.reference.setCurrentIndex(max(index, 0))
        if index < 0:  # the lane that was the reference is gone
            self.reference_changed.emit(None)

    # Out --------------------------------------------------------------------------------------------------------------

    def to_csv(self) -> str:
        """The table, numbers in full."""
        return self.table.to_csv()

    def ask_and_export(self) -> None:
        """Ask where to, and write the table there."""
        path = ask_path(self, self._settings, "Export comparison", "comparison.csv", [CSV])
        if path is not None:
            self.save(path)

    def save(self, path: Path) -> None:
        """Write the table; says so where that fails."""
        try:
            save_text(self.to_csv(), path)
        except ExportError as error:
            self.message.emit(str(error))


def _split(widgets: Sequence[tuple[QWidget, int]]) -> QSplitter:
    """Widgets side by side, each with its share."""
    parts = QSplitter(Qt.Orientation.Horizontal)
    parts.setChildrenCollapsible(False)
    for widget, share in widgets:
        parts.addWidget(widget)
        parts.setStretchFactor(parts.count() - 1, share)
    return parts
