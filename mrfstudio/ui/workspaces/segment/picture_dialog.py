"""Find contours in a picture: threshold, ink and size, with a preview."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QWidget,
)

from mrfstudio.engine.protocol.answers import Picture
from mrfstudio.engine.protocol.requests.segment import FindContours
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.preview import LatestQuestion, PreviewDialog

LARGEST_SIDE = 256
SMALLEST_SIDE = 12
STEPS = 255


class PictureDialog(PreviewDialog):
    """Accepted, its `picture` is what to segment."""

    def __init__(self, controller: Controller, source: Path | np.ndarray, parent: QWidget | None = None) -> None:
        """`source` is a file, or grey levels (h, w) from 0 to 1."""
        super().__init__("Find contours", "Reading the picture…", parent)
        self._source = str(source) if isinstance(source, Path) else source
        self.threshold = QSlider(Qt.Orientation.Horizontal)
        self.threshold.setRange(0, STEPS)
        self.threshold.setToolTip("Grey level that divides ink from paper: pixels darker than it are dark ink.")
        self.level = QLabel()
        self.automatic = QCheckBox("Automatic")
        self.automatic.setChecked(True)
        self.automatic.setToolTip("Let the program find the grey level that divides the picture best.")
        self.ink = QComboBox()
        for name, text in (("auto", "Automatic"), ("dark", "Dark on light"), ("light", "Light on dark")):
            self.ink.addItem(text, name)
        self.ink.setToolTip("Whether the lines are darker or lighter than the paper.")
        self.filled = QComboBox()
        self.filled.addItem("Automatic", None)
        self.filled.addItem("Lines: the ink is the contour", False)
        self.filled.addItem("A filled figure: its outline is the contour", True)
        self.filled.setToolTip(
            "Of a filled figure the outline is taken; then the true labels are known too. Automatic takes ink that is "
            "wider than a pen for a filled figure."
        )
        self.thin = QCheckBox("Thin to one pixel")
        self.thin.setChecked(True)
        self.thin.setToolTip("Make every line one pixel wide, as in the pictures that models learned from.")
        self.side = QSpinBox(minimum=SMALLEST_SIDE, maximum=LARGEST_SIDE, suffix=" pixels")
        self.side.setSpecialValueText("Automatic")
        self.side.setToolTip(
            "Longer side of the picture to segment; larger pictures are made smaller first. Automatic takes the "
            "smallest size at which no two lines run into each other; small pictures are answered sooner."
        )
        self._build()
        self._question = LatestQuestion(controller, self._show, self.refuse)
        self._connect()
        self._ask()

    def _build(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self.threshold, 1)
        row.addWidget(self.level)
        self.level.setMinimumWidth(px(self, 36))
        form = QFormLayout()
        label = QLabel("&Threshold")  # a row that is a layout gets no buddy by itself, and would show the ampersand
        label.setBuddy(self.threshold)
        form.addRow(label, row)
        form.addRow("", self.automatic)
        form.addRow("&Ink", self.ink)
        form.addRow("&What is drawn", self.filled)
        form.addRow("", self.thin)
        form.addRow("&Longer side", self.side)
        self.arrange(form)

    def _connect(self) -> None:
        self.threshold.valueChanged.connect(self._moved)
        self.automatic.toggled.connect(self._ask)
        self.ink.currentIndexChanged.connect(self._ask)
        self.filled.currentIndexChanged.connect(lambda: self.thin.setEnabled(not self.filled.currentData()))
        self.filled.currentIndexChanged.connect(self._ask)
        self.thin.toggled.connect(self._ask)
        self.side.valueChanged.connect(self._ask)
        self.finished.connect(self._question.end)

    def _moved(self) -> None:
        self.automatic.setChecked(False)
        self._ask()

    def _ask(self) -> None:
        self._question.ask(
            FindContours(
                self._source,
                ink=self.ink.currentData(),
                threshold=None if self.automatic.isChecked() else self.threshold.value() / STEPS,
                longest=None if self.side.value() == SMALLEST_SIDE else self.side.value(),
                filled=self.filled.currentData(),
                thin=self.thin.isChecked(),
            )
        )

    def _show(self, picture: Picture) -> None:
        self.show_picture(picture, described(picture))
        if self.automatic.isChecked() and picture.threshold is not None:
            self.threshold.blockSignals(True)
            self.threshold.setValue(round(picture.threshold * STEPS))
            self.threshold.blockSignals(False)
        self.level.setText(f"{self.threshold.value() / STEPS:.2f}")


def described(picture: Picture) -> str:
    """Sizes and how much ink was found, in one or two sentences."""
    height, width = picture.observed.shape
    size = f"{width}×{height} pixels"
    if picture.full_size not in ((0, 0), (height, width)):
        size += f", made from {picture.full_size[1]}×{picture.full_size[0]}"
    seen = float((picture.observed == 0).mean())
    if seen == 0:
        return f"{size}. No contour was found: move the threshold or choose another ink."
    if picture.truth is not None:
        return f"{size}. The outline of a filled figure, {seen:.0%} of them."
    warning = " That is much for lines: perhaps it is a filled figure." if seen > 0.4 else ""
    return f"{size}, {seen:.0%} of them contour.{warning}"
