"""Small dialogs: a new drawing, a model's card, about."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np
import PySide6
from PySide6.QtCore import QLibraryInfo
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from mrfstudio import __version__
from mrfstudio.ui.theme import px

SMALLEST, LARGEST = 4, 256


def show_dialog(dialog: QDialog) -> None:
    """Open a dialog that blocks nothing but its window, with the keyboard: without a window manager nobody gives it."""
    dialog.open()
    dialog.activateWindow()


class NewDrawing(QDialog):
    """Asks for the size of an empty sheet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New drawing")
        self.width_box = QSpinBox(minimum=SMALLEST, maximum=LARGEST, value=30, suffix=" pixels")
        self.height_box = QSpinBox(minimum=SMALLEST, maximum=LARGEST, value=30, suffix=" pixels")
        self.width_box.setToolTip("Columns of the sheet.")
        self.width_box.selectAll()  # what is typed replaces it
        self.height_box.setToolTip("Rows of the sheet.")
        form = QFormLayout()
        form.addRow("&Width", self.width_box)
        form.addRow("&Height", self.height_box)
        presets = QHBoxLayout()
        for side in (30, 64, 128, 256):
            button = QPushButton(f"{side}×{side}")
            button.setAutoDefault(False)
            button.setToolTip(f"A square sheet of {side} by {side} pixels.")
            button.clicked.connect(lambda _=False, side=side: self._choose(side))
            presets.addWidget(button)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addLayout(presets)
        layout.addWidget(buttons)

    @property
    def observed(self) -> np.ndarray:
        """An empty sheet, (h, w) uint8: no contour is seen anywhere."""
        return np.ones((self.height_box.value(), self.width_box.value()), np.uint8)

    def _choose(self, side: int) -> None:
        self.width_box.setValue(side)
        self.height_box.setValue(side)


class TextDialog(QDialog):
    """A page of Markdown to read."""

    def __init__(self, title: str, markdown: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.page = QTextBrowser()
        self.page.setAccessibleName(title)
        self.page.setOpenExternalLinks(True)
        self.page.setMarkdown(markdown)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.page)
        layout.addWidget(buttons)
        self.resize(px(self, 560), px(self, 480))


def about_text(device: str) -> str:
    """Version, libraries and device, as Markdown."""
    return "\n\n".join(
        (
            f"# MRF Studio {__version__}",
            "A desktop laboratory for Markov random fields: paint evidence, watch belief propagation answer.",
            f"- Computing on {device or 'a device that is still being found'}\n"
            f"- Python {platform.python_version()} on {platform.system()} {platform.machine()}\n"
            f"- Qt {QLibraryInfo.version().toString()}, PySide6 {PySide6.__version__}, "
            f"numpy {np.__version__}, torch {version('torch')}",
            "MIT licence.",
        )
    )
