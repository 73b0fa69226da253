"""Asks for a link (`mrfs:…`) that somebody sent."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from mrfstudio.ui.style.theme import px

SCHEME = "mrfs:"


class LinkDialog(QDialog):
    """A box for the text; broken lines do no harm."""

    given = Signal(str)

    def __init__(self, link: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Open link")
        about = QLabel(f"Paste the text that begins with {SCHEME}", wordWrap=True)
        self.text = QPlainTextEdit(link)
        self.text.setAccessibleName("Link")
        self.text.setToolTip("Line breaks that a mail put into it do no harm.")
        self.text.setTabChangesFocus(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel)
        self.open_button = buttons.button(QDialogButtonBox.StandardButton.Open)
        self.text.textChanged.connect(self._look)
        buttons.accepted.connect(self._take)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(about)
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        self.resize(px(self, 520), px(self, 260))
        self._look()

    def _look(self) -> None:
        self.open_button.setEnabled(self.text.toPlainText().strip().startswith(SCHEME))

    def _take(self) -> None:
        self.accept()
        self.given.emit(self.text.toPlainText().strip())
