"""Whether a coloured picture is a photograph to cut or a drawing to find contours in: asked once, with a good guess."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QImageReader
from PySide6.QtWidgets import QMessageBox, QWidget

SMALL = 160
"""Side of the copy that is looked at: readers make one without unpacking all of a photograph."""


class KindQuestion(QMessageBox):
    """Two answers and a way out; Return takes the likely one."""

    photograph = Signal()
    drawing = Signal()

    def __init__(self, name: str, likely_photograph: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setIcon(QMessageBox.Icon.Question)
        self.setWindowTitle("Photograph or drawing?")
        self.setText(f"Is {name} a photograph or a drawing?")
        self.setInformativeText(
            "A photograph opens in Photograph, where strokes cut objects out of it. "
            "In a drawing, contours are found and filled here."
        )
        self.as_photograph = self.addButton("&Photograph", QMessageBox.ButtonRole.AcceptRole)
        self.as_drawing = self.addButton("&Drawing", QMessageBox.ButtonRole.AcceptRole)
        self.addButton(QMessageBox.StandardButton.Cancel)
        self.as_photograph.setToolTip("Scribble on it, and take objects out.")
        self.as_drawing.setToolTip("Find its contours, and segment inside from outside.")
        self.setDefaultButton(self.as_photograph if likely_photograph else self.as_drawing)
        self.buttonClicked.connect(self._clicked)

    def _clicked(self, button: object) -> None:
        if button is self.as_photograph:
            self.photograph.emit()
        elif button is self.as_drawing:
            self.drawing.emit()


def is_coloured(path: Path) -> bool:
    """Whether a picture has any colour; False where it cannot be read, which others say."""
    reader = QImageReader(str(path))
    size: QSize = reader.size()
    if size.isValid() and max(size.width(), size.height()) > SMALL:
        reader.setScaledSize(size.scaled(SMALL, SMALL, Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    return not image.isNull() and not image.isGrayscale()
