"""A slider from after to before, for the keyboard and for people who do not find the grip on the canvas."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QWidget

from mrfstudio.ui.theme import px

STEPS = 100
HELP = "<b>Wipe</b><br>How much of the picture, from the left, is shown as it was before. W goes to either end."


class WipeBar(QWidget):
    """One row; the canvas draws the line."""

    moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(10)
        self.slider.setAccessibleName("Wipe between after and before")
        self.slider.setToolTip(HELP)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.valueChanged.connect(lambda value: self.moved.emit(value / STEPS))
        row = QHBoxLayout(self)
        row.setContentsMargins(px(self, 8), 0, px(self, 8), 0)
        for word in ("after", "before"):
            label = QLabel(word)
            label.setProperty("role", "muted")
            label.setToolTip(HELP)
            row.addWidget(label)
            if word == "after":
                row.addWidget(self.slider, 1)

    def show_wipe(self, wipe: float) -> None:
        """Follow the canvas; nothing is emitted."""
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(wipe * STEPS))
