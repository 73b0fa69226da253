"""A page that says what a thing is, with the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.requests.studio import ReadPage
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.window.scrolling import VerticalScroll
from mrfstudio.ui.words.view import WordsView

KINDS = ("algorithm/", "model/", "learner/", "parameter/", "doc/")


class PageDialog(QDialog):
    """Opens in a window of its own, so that a symbol that is pointed at can light the canvas."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller = controller
        self._before: list[str] = []
        self.topic = ""
        self.setWindowTitle("What is this?")
        self.setModal(False)
        self.view = WordsView()
        self.view.link_clicked.connect(self.follow)
        holder = QWidget()
        inside = QVBoxLayout(holder)
        inside.addWidget(self.view)
        inside.addStretch(1)
        self.area = VerticalScroll(holder, always=False)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setProperty("role", "page")  # with a ring while it has the focus
        self.area.setAccessibleName("Page")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.back = QPushButton("&Back")
        self.back.setToolTip("The page before this one.")
        self.buttons.addButton(self.back, QDialogButtonBox.ButtonRole.ActionRole)
        self.back.clicked.connect(self.go_back)
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.area, 1)
        column.addWidget(self.buttons)
        self.resize(px(self, 560), px(self, 520))

    def follow(self, topic: str) -> None:
        """Go to a page; the way back is kept."""
        if topic.startswith(KINDS):
            if self.topic:
                self._before.append(self.topic)
            self._read(topic)

    def go_back(self) -> None:
        if self._before:
            self._read(self._before.pop())

    def _read(self, topic: str) -> None:
        self.topic = topic
        self.back.setEnabled(bool(self._before))
        self._controller.ask(ReadPage(topic), lambda words: self._show(topic, words))

    def _show(self, topic: str, words: Words) -> None:
        if topic == self.topic:
            self.view.set_words(words)
            self.area.verticalScrollBar().setValue(0)
            self.setAccessibleDescription(words.source)
