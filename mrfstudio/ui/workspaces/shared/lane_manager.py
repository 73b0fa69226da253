"""The lanes of a session: add one, name it, copy it, take it away, and choose the two that are shown side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Entry
from mrfstudio.engine.protocol.commands import AddLane, RemoveLane, RenameLane
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.badge import HELP, StatusShape
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.lane_names import LETTERS, LaneChip, lane_title

MOST = len(LETTERS)
Side = tuple[str, str]
SIDES: tuple[Side, Side] = (("L", "shown at the left, on the canvas and in its form"), ("R", "shown at the right"))
Pair = tuple[int, int | None]
"""The lane shown at the left and the one at the right; None where there is only one."""


class LaneManager(QWidget):
    """One row a lane. Emits commands; `pair_changed` when other lanes are to be shown side by side."""

    command = Signal(object)
    pair_changed = Signal(object)
    """The new `pair`."""

    def __init__(self, sides: tuple[Side, Side] = SIDES, parent: QWidget | None = None) -> None:
        """`sides` are the heads of the two columns of buttons, and what a lane that is chosen there is."""
        super().__init__(parent)
        self._side_words = tuple(words for _, words in sides)
        self.pair: Pair = (0, None)
        self._entries: dict[str, Entry] = {}
        self._lanes: tuple[LaneFrame, ...] = ()
        self.rows: dict[int, LaneRow] = {}
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(px(self, 3))
        self._grid.setVerticalSpacing(px(self, 2))
        self._grid.setColumnStretch(1, 1)
        self._sides = (QButtonGroup(self), QButtonGroup(self))
        for side, group in enumerate(self._sides):
            group.idClicked.connect(lambda lane, side=side: self._choose(side, lane))
        self._heads = tuple(QLabel(head) for head, _ in sides)
        for place, (head, words) in enumerate(zip(self._heads, self._side_words, strict=True), 3):
            head.setProperty("role", "muted")
            head.setToolTip(f"Which lane is {words}.")
            head.hide()  # with one lane there is no choice
            self._grid.addWidget(head, 0, place, Qt.AlignmentFlag.AlignHCenter)
        self.algorithm, self.add = ChoiceBox(10), QPushButton("Add")
        self.algorithm.setToolTip("The algorithm of the next lane.")
        self.algorithm.setAccessibleName("Algorithm of the next lane")
        self.add.setAccessibleName("Add lane")
        self.add.clicked.connect(self._add)
        below = QHBoxLayout()
        below.addWidget(self.algorithm, 1)
        below.addWidget(self.add)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._grid)
        column.addLayout(below)
        self.setAccessibleName("Lanes")
        self._enable()

    def on_loaded(self, engine: Loaded, workspace: str) -> None:
        """Fill the choice of algorithms."""
        names = engine.fitting.get(workspace, ())
        self._entries = {entry.name: entry for entry in engine.catalogue.algorithms if entry.name in names}
        self.algorithm.clear()
        for entry in self._entries.values():
            self.algorithm.addItem(entry.title or entry.name, entry.name)
            self.algorithm.setItemData(self.algorithm.count() - 1, entry.summary, Qt.ItemDataRole.ToolTipRole)
        self._enable()

    def set_frame(self, frame: Frame) -> None:
        """Show the lanes of a frame; rows are made and removed only when lanes are."""
        self._lanes = frame.lanes
        numbers = [lane.lane for lane in frame.lanes]
        if numbers != list(self.rows):
            self._rebuild(numbers)
            self._mend_pair(numbers)
        for lane in frame.lanes:
            self.rows[lane.lane].set_lane(lane, self._entries)
        self._enable()

    # Rows -------------------------------------------------------------------------------------------------------------

    def _rebuild(self, numbers: Sequence[int]) -> None:
        for row in self.rows.values():
            for group, button in zip(self._sides, row.sides, strict=True):
                group.removeButton(button)
            for widget in row.widgets():
                self._grid.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
            row.deleteLater()
        self.rows = {}
        for place, lane in enumerate(numbers, 1):
            row = self.rows[lane] = LaneRow(lane, self._side_words, self)
            row.renamed.connect(lambda name, lane=lane: self.command.emit(RenameLane(lane, name)))
            row.copied.connect(lambda lane=lane: self._copy(lane))
            row.removed.connect(lambda lane=lane: self.command.emit(RemoveLane(lane)))
            for column, widget in enumerate(row.widgets()):
                self._grid.addWidget(widget, place, column, Qt.AlignmentFlag.AlignVCenter)
            for group, button in zip(self._sides, row.sides, strict=True):
                group.addButton(button, lane)

    def _mend_pair(self, numbers: Sequence[int]) -> None:
        """Lanes came or went: keep what is shown as far as it is still there."""
        left = self.pair[0] if self.pair[0] in numbers else numbers[0]
        others = [lane for lane in numbers if lane != left]
        right = self.pair[1] if self.pair[1] in others else next(iter(others), None)
        self._set_pair((left, right))
        several = len(numbers) > 1
        for widget in (*self._heads, *(button for row in self.rows.values() for button in row.sides)):
            widget.setVisible(several)

    def _choose(self, side: int, lane: int) -> None:
        """A lane that is already on the other side changes places with this one."""
        left, right = self.pair
        if side == 0:
            self._set_pair((lane, left if lane == right else right))
        else:
            self._set_pair((right if lane == left and right is not None else left, lane))

    def set_pair(self, left: int, right: int) -> None:
        """Show two lanes side by side, as clicks would."""
        if left in self.rows and right in self.rows and left != right:
            self._set_pair((left, right))

    def show_lane(self, lane: int) -> None:
        """Show a lane first, as a click would."""
        if lane in self.rows and lane != self.pair[0]:
            self._choose(0, lane)

    def _set_pair(self, pair: Pair) -> None:
        for lane, row in self.rows.items():
            for button, chosen in zip(row.sides, pair, strict=True):
                with QSignalBlocker(button):
                    button.setChecked(lane == chosen)
        if pair != self.pair:
            self.pair = pair
            self.pair_changed.emit(pair)

    # Lanes ------------------------------------------------------------------------------------------------------------

    def _add(self) -> None:
        name = self.algorithm.currentData()
        if self._lanes and name:
            self.command.emit(AddLane(self._lanes[0].model, name))

    def _copy(self, number: int) -> None:
        lane = next(lane for lane in self._lanes if lane.lane == number)
        self.command.emit(AddLane(lane.model, lane.algorithm, dict(lane.parameters)))

    def _enable(self) -> None:
        room = len(self._lanes) < MOST
        self.algorithm.setEnabled(bool(self._entries) and room)
        self.add.setEnabled(bool(self._entries) and bool(self._lanes) and room)
        most = f"There are {MOST} lanes, as many as can be compared: remove one first."
        self.add.setToolTip("Run this algorithm on the same evidence, in step with the others." if room else most)
        for row in self.rows.values():
            row.copy.setEnabled(room)
            row.remove.setEnabled(len(self._lanes) > 1)


class LaneRow(QWidget):
    """The widgets of one lane; the manager's grid holds them."""

    renamed = Signal(str)
    copied = Signal()
    removed = Signal()

    def __init__(self, lane: int, sides: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()  # it only keeps the signals; its widgets stand in the grid
        letter = LETTERS[lane]
        self.chip, self.mark = LaneChip(lane), StatusShape()
        self.name = QLineEdit()
        self.name.setMaxLength(60)
        self.name.setMinimumWidth(px(self, 90))
        self.name.setAccessibleName(f"Name of lane {letter}")
        self.name.editingFinished.connect(self._rename)
        self.sides = (QRadioButton(), QRadioButton())
        for button, words in zip(self.sides, sides, strict=True):
            button.setAccessibleName(f"Lane {letter} is {words}")
            button.setToolTip(f"Lane {letter} is {words}.")
        self.copy = self._button("duplicate", f"Add a lane with the same algorithm and parameters as lane {letter}.")
        self.remove = self._button("cancel", f"Take lane {letter} away; Undo brings it back.")
        self.copy.clicked.connect(self.copied)
        self.remove.clicked.connect(self.removed)
        self._shown = ""
        self._follow_theme()

    def widgets(self) -> tuple[QWidget, ...]:
        """In the order of the columns."""
        return (self.chip, self.name, self.mark, *self.sides, self.copy, self.remove)

    def set_lane(self, lane: LaneFrame, entries: Mapping[str, Entry]) -> None:
        """Show what a frame says of the lane; a name that is being typed stays."""
        usual = lane_title(_unnamed(lane), entries)
        if self.name.placeholderText() != usual:
            self.name.setPlaceholderText(usual)
            self.name.setToolTip(f"<b>{usual}</b><br>Type a name of your own; empty is the algorithm's.")
        if lane.title != self._shown:
            self._shown = lane.title
            if not self.name.hasFocus():
                self.name.setText(lane.title)
                self.name.setCursorPosition(0)  # a long name shows its beginning
        self.mark.set_status(lane.status)
        self.mark.setToolTip(f"{lane.status}: {lane.message or HELP[lane.status]}")

    def _rename(self) -> None:
        if self.name.text().strip() != self._shown:
            self.renamed.emit(self.name.text())

    def _button(self, picture: str, help: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(picture)
        button.setToolTip(help)
        button.setAccessibleName(help)
        return button

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "remove"):
            self._follow_theme()

    def _follow_theme(self) -> None:
        side = px(self, 14)
        for button in (self.copy, self.remove):
            button.setIcon(icon(button.objectName(), self))
            button.setIconSize(QSize(side, side))


def _unnamed(lane: LaneFrame) -> LaneFrame:
    return replace(lane, title="")
