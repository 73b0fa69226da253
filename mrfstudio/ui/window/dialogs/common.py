"""Small dialogs: a new drawing, a model's card, about."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
import PySide6
from PySide6.QtCore import QLibraryInfo
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from mrfstudio import __version__
from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.ui.style.theme import px

SMALLEST, LARGEST = 4, 256
MOST_OF_A_SHEET = 0.7
"""How much of a sheet's longer side the largest figure takes that people draw."""


def show_dialog(dialog: QDialog) -> None:
    """Open a dialog that blocks nothing but its window, with the keyboard: without a window manager nobody gives it."""
    dialog.open()
    dialog.activateWindow()


class NewDrawing(QDialog):
    """Asks for the size of an empty sheet, and says which model fills what is drawn on it.

    `models` may be chosen; `current` is the name of the one in use.
    """

    def __init__(self, models: Sequence[ModelNote] = (), current: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New drawing")
        self._models, self._current = tuple(models), current
        self.width_box = QSpinBox(minimum=SMALLEST, maximum=LARGEST, value=self._usual, suffix=" pixels")
        self.height_box = QSpinBox(minimum=SMALLEST, maximum=LARGEST, value=self._usual, suffix=" pixels")
        self.width_box.setToolTip("Columns of the sheet.")
        self.width_box.selectAll()  # what is typed replaces it
        self.height_box.setToolTip("Rows of the sheet.")
        self.fills = QLabel()
        self.fills.setWordWrap(True)
        for box in (self.width_box, self.height_box):
            box.valueChanged.connect(self._say)
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
        layout.addWidget(self.fills)
        layout.addWidget(buttons)
        self._say()

    @property
    def _usual(self) -> int:
        """The side of a sheet before anybody chooses one."""
        return 128 if any(note.sizes and note.sizes[1] >= 64 for note in self._models) else 30

    def offer(self, models: Sequence[ModelNote], current: str) -> None:
        """Models that came to be known while the dialog was open. A size that was chosen stays."""
        untouched = self.width_box.value() == self.height_box.value() == self._usual
        self._models, self._current = tuple(models), current
        if untouched:
            self._choose(self._usual)
        self._say()

    @property
    def model(self) -> ModelNote | None:
        """The model for a sheet of this size: the one in use where it fills what has room there, else one that does."""
        wanted = MOST_OF_A_SHEET * max(self.width_box.value(), self.height_box.value())
        known = [note for note in self._models if note.sizes is not None]
        using = next((note for note in self._models if note.name == self._current), None)
        if using is not None and using.sizes is not None and using.sizes[1] >= wanted:
            return using
        best = max(known, key=lambda note: note.sizes[1] if note.sizes else 0, default=None)
        return best or using

    def _say(self) -> None:
        note = self.model
        if note is None or note.sizes is None:
            self.fills.setText("")
            return
        text = f"{note.name} fills figures of {note.sizes[0]} to {note.sizes[1]} pixels."
        self.fills.setText(text if note.name == self._current else f"{text} It will be used for this sheet.")

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
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.page)
        layout.addWidget(self.buttons)
        self.resize(px(self, 560), px(self, 480))

    def offer_copy(self, title: str, help: str, text: str) -> None:
        """A button that puts a text into the clipboard."""
        button = self.buttons.addButton(title, QDialogButtonBox.ButtonRole.ActionRole)
        button.setToolTip(help)
        button.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))


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


YEAR = 2026


def bibtex() -> str:
    """The entry for a bibliography; `CITATION.cff` says the same."""
    return (
        "@software{mrfstudio,\n"
        "  author  = {{MRF Studio contributors}},\n"
        "  title   = {MRF Studio: a desktop laboratory\n"
        "             for Markov random fields},\n"
        f"  version = {{{__version__}}},\n"
        f"  year    = {{{YEAR}}}\n"
        "}"
    )


def citation_text() -> str:
    """How to cite, as Markdown."""
    return "\n\n".join(
        (
            "# How to cite",
            f"MRF Studio contributors. *MRF Studio: a desktop laboratory for Markov random fields*, version "
            f"{__version__}, {YEAR}.",
            f"```\n{bibtex()}\n```",
            "Please also cite the work behind the algorithm that you used: `docs/references.md` has them all.",
        )
    )
