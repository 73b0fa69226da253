"""The labels of a photograph: add, name, recolour and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QColorDialog, QGridLayout, QLineEdit, QPushButton, QToolButton, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.commands import Label, SetLabels
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.window.dialogs.common import show_dialog

MOST, FEWEST = 12, 2
LONGEST = 40
COLOURS = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00",
    "#cc79a7", "#8d2f3f", "#7b61c9", "#66a80f", "#868e96", "#f8a5c2",
)  # fmt: skip
"""Colours of Okabe and Ito, which people with any colour vision can tell apart, and five more."""


class LabelsPanel(QWidget):
    """One row a label; emits `SetLabels`. Rows are made again only when labels come or go."""

    command = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.labels: tuple[Label, ...] = ()
        self.names: dict[int, QLineEdit] = {}
        self.swatches: dict[int, QToolButton] = {}
        self.deletes: dict[int, QToolButton] = {}
        self._grid = QGridLayout()
        self._grid.setSpacing(px(self, 4))
        self.add = QPushButton("Add label")
        self.add.setToolTip(f"<b>Add label</b><br>Up to {MOST}; digit keys choose them in order.")
        self.add.clicked.connect(self.add_label)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._grid)
        column.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Show what a frame says."""
        if tuple(labels) == self.labels:
            return
        same = [each.number for each in labels] == [each.number for each in self.labels]
        self.labels = tuple(labels)
        if not same:
            self._rebuild()
        for each in self.labels:
            if self.names[each.number].text() != each.title and not self.names[each.number].hasFocus():
                self.names[each.number].setText(each.title)
            self._show_colour(each)
            self.deletes[each.number].setEnabled(len(self.labels) > FEWEST)
        self.add.setEnabled(len(self.labels) < MOST)

    def _rebuild(self) -> None:
        for widget in (*self.names.values(), *self.swatches.values(), *self.deletes.values()):
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self.names, self.swatches, self.deletes = {}, {}, {}
        for row, each in enumerate(self.labels):
            self._add_row(row, each)

    def _add_row(self, row: int, label: Label) -> None:
        name, swatch, delete = QLineEdit(label.title, maxLength=LONGEST), QToolButton(), QToolButton()
        name.setToolTip("What this label is called; exports are named after it.")
        name.setAccessibleName(f"Name of label {row + 1}")
        name.editingFinished.connect(partial(self._rename, label.number))
        swatch.setToolTip("Choose another colour.")
        swatch.setAccessibleName(f"Colour of label {row + 1}")
        swatch.clicked.connect(partial(self.ask_colour, label.number))
        delete.setIcon(icon("cancel", self))
        delete.setToolTip("Delete this label and its strokes.")
        delete.setAccessibleName(f"Delete label {row + 1}")
        delete.clicked.connect(partial(self.delete, label.number))
        for column, widget in enumerate((swatch, name, delete)):
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus if widget is name else Qt.FocusPolicy.TabFocus)
            self._grid.addWidget(widget, row, column)
        self.names[label.number], self.swatches[label.number], self.deletes[label.number] = name, swatch, delete

    def _show_colour(self, label: Label) -> None:
        side = px(self, 16)
        ratio = self.devicePixelRatioF()
        square = QPixmap(round(side * ratio), round(side * ratio))
        square.setDevicePixelRatio(ratio)
        square.fill(QColor(label.colour))
        self.swatches[label.number].setIcon(QIcon(square))
        self.swatches[label.number].setIconSize(QSize(side, side))

    # Changes ----------------------------------------------------------------------------------------------------------

    def add_label(self) -> None:
        free = next((n for n in range(1, MOST + 1) if n not in {each.number for each in self.labels}), None)
        if free is None:
            return
        used = {each.colour.lower() for each in self.labels}
        colour = next((each for each in COLOURS if each not in used), COLOURS[free - 1])
        self._send((*self.labels, Label(free, f"Label {free}", colour)))

    def delete(self, number: int) -> None:
        """Delete a label; the last two stay."""
        if len(self.labels) > FEWEST:
            self._send(tuple(each for each in self.labels if each.number != number))

    def _rename(self, number: int) -> None:
        title = " ".join(self.names[number].text().split())
        if not title:
            self.names[number].setText(next(each.title for each in self.labels if each.number == number))
            return
        self._change(number, title=title)

    def ask_colour(self, number: int) -> None:
        """Let a person choose; every colour on the way is shown, and all of it is one step of undo."""
        now = next(each for each in self.labels if each.number == number)
        dialog, gesture = QColorDialog(QColor(now.colour), self), next_gesture()
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.currentColorChanged.connect(lambda colour: self._change(number, colour=colour.name(), gesture=gesture))
        dialog.rejected.connect(lambda: self._change(number, colour=now.colour, gesture=gesture))
        show_dialog(dialog)

    def recolour(self, number: int, colour: str) -> None:
        self._change(number, colour=colour)

    def _change(self, number: int, title: str = "", colour: str = "", gesture: int = 0) -> None:
        changed = tuple(
            Label(number, title or each.title, colour or each.colour) if each.number == number else each
            for each in self.labels
        )
        if changed != self.labels:
            self._send(changed, gesture)

    def _send(self, labels: tuple[Label, ...], gesture: int = 0) -> None:
        """Shown at once: what is changed next must not undo it. A refusal comes back with the next frame."""
        self.set_labels(labels)
        self.command.emit(SetLabels(tuple((each.number, each.title, each.colour) for each in labels), gesture))
