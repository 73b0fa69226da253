"""What dialogs share that show a picture before it is taken: preview left, choices right, a note, two buttons."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.answers import Picture
from mrfstudio.ui.dialogs.preview import Preview


class Previewing(QDialog):
    """Accepted, its `picture` is what to segment; there is nothing to accept before it has one."""

    def __init__(self, title: str, waiting: str, parent: QWidget | None = None) -> None:
        """`waiting` is what the note says until the first picture has come."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.picture: Picture | None = None
        self.preview = Preview()
        self.note = QLabel(waiting, wordWrap=True)
        self.note.setProperty("role", "muted")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._accept = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._accept.setText("Segment")
        self._accept.setToolTip("Show this picture in the workspace and begin.")
        self._accept.setEnabled(False)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    def arrange(self, form: QFormLayout) -> None:
        """Lay everything out around a form."""
        right = QVBoxLayout()
        right.addLayout(form)
        right.addWidget(self.note)
        right.addStretch(1)
        columns = QHBoxLayout()
        columns.addWidget(self.preview, 1)
        columns.addLayout(right)
        layout = QVBoxLayout(self)
        layout.addLayout(columns)
        layout.addWidget(self.buttons)

    def show_picture(self, picture: Picture, words: str) -> None:
        """What the choices give."""
        self.picture = picture
        self.preview.show_picture(picture)
        self.note.setText(words)
        self._accept.setEnabled(True)

    def refuse(self, sentence: str) -> None:
        """The choices give no picture, and why."""
        self.note.setText(sentence)
        self._accept.setEnabled(False)
