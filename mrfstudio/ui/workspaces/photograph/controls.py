"""The right side of the Photograph workspace: labels, the cut-out, then what every workspace with a canvas has."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QPushButton, QWidget

from mrfstudio.engine.protocol.commands import Label
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.style.colours import Colours, rgb
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.layer_list import LayerList
from mrfstudio.ui.widgets.legend import Legend
from mrfstudio.ui.workspaces.photograph.labels_panel import LabelsPanel
from mrfstudio.ui.workspaces.photograph.layers import LAYERS
from mrfstudio.ui.workspaces.segment.inspector import Inspector
from mrfstudio.ui.workspaces.shared.controls import LaneControls

SOFT = "Hair and soft borders are partly transparent, as far as the field is in doubt about them."


class CutPanel(QWidget):
    """Which label is cut out, how its edge is, and where the result goes."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label, self.soft = ChoiceBox(8), QCheckBox("Soft edge")
        self.label.setToolTip("The label that is cut out, and whose scores are shown.")
        self.label.setAccessibleName("What is cut out")
        self.soft.setToolTip(f"<b>Soft edge</b><br>{SOFT}")
        self.save, self.copy = QPushButton("Save…"), QPushButton("Copy")
        self.save.setToolTip("Save the cut-out with transparency as a PNG, at the photograph's own size.")
        self.copy.setToolTip("Copy the cut-out with transparency, for other programs.")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(QLabel("Cut out"), 0, 0)
        grid.addWidget(self.label, 0, 1, 1, 2)
        grid.addWidget(self.soft, 1, 0, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self.copy, 1, 1)
        grid.addWidget(self.save, 1, 2)
        grid.setColumnStretch(1, 1)
        self.label.activated.connect(lambda _: self.changed.emit())
        self.soft.toggled.connect(lambda _: self.changed.emit())

    @property
    def number(self) -> int:
        """The chosen label's."""
        number = self.label.currentData()
        return 1 if number is None else int(number)

    @property
    def word(self) -> str:
        """For the name of a picture: `1`, or `1s` with a soft edge."""
        return f"{self.number}{'s' if self.soft.isChecked() else ''}"

    def set_labels(self, labels: Sequence[Label]) -> None:
        chosen = self.number
        with QSignalBlocker(self.label):
            self.label.clear()
            for each in labels:
                self.label.addItem(each.title, each.number)
            self.label.setCurrentIndex(max(self.label.findData(chosen), 0))
        if self.number != chosen:
            self.changed.emit()


class PhotographControls(LaneControls):
    """Labels and cut-out come first: they are what a person changes most."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.inspector = Inspector()
        super().__init__(LayerList(LAYERS), Legend(LAYERS, ()), self.inspector, (), parent)
        self.labels, self.cut = LabelsPanel(), CutPanel()
        self._known: tuple[Label, ...] = ()
        for place, (title, widget) in enumerate((("Labels", self.labels), ("Cut-out", self.cut))):
            group = self._group(title, widget)
            self._column.removeWidget(group)
            self._column.insertWidget(place, group)
        self.labels.command.connect(self.command)
        self.inspector.labels.colour_of = self._colour

    def _colour(self, number: int, count: int, colours: Colours) -> tuple[int, int, int]:
        return rgb(self._known[number].colour) if number < len(self._known) else rgb(colours.text)

    def set_frame(self, frame: Frame) -> None:
        super().set_frame(frame)
        if frame.applied >= self._newest_edit:
            self.labels.set_labels(frame.labels)
        if frame.labels != self._known:
            self._known = frame.labels
            self.cut.set_labels(frame.labels)
