"""The dialog that lists all lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QListWidget, QVBoxLayout, QWidget

from mrfstudio.engine.lessons import Lesson
from mrfstudio.ui.theme import px


class LessonChooser(QDialog):
    """A list: title, what it is about, where and how long."""

    chosen = Signal(object)
    """A `Lesson`."""

    def __init__(self, lessons: Sequence[Lesson], titles: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Lessons")
        self._lessons = lessons
        about = QLabel("Short guided tours. You do the steps yourself, or have them shown.", wordWrap=True)
        about.setProperty("role", "muted")
        self.list = QListWidget()
        self.list.setAccessibleName("Lessons")
        self.list.setToolTip("Choose a lesson with the arrow keys, begin it with Enter.")
        self.list.setWordWrap(True)
        self.list.setSpacing(px(self, 4))
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for lesson in lessons:
            self._add(lesson, titles.get(lesson.workspace, lesson.workspace))
        self.list.setCurrentRow(0)
        self.list.itemActivated.connect(lambda _: self._choose())
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.begin = self.buttons.addButton("&Begin", QDialogButtonBox.ButtonRole.AcceptRole)
        self.begin.setToolTip("Begin the chosen lesson; its workspace begins anew.")
        self.begin.setDefault(True)
        self.buttons.accepted.connect(self._choose)
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(about)
        column.addWidget(self.list, 1)
        column.addWidget(self.buttons)
        self.resize(px(self, 560), px(self, 470))

    def _add(self, lesson: Lesson, where: str) -> None:
        minutes = "1 minute" if lesson.minutes == 1 else f"{lesson.minutes} minutes"
        self.list.addItem(f"{lesson.title} · {where}, {minutes}\n{lesson.about}")

    def _choose(self) -> None:
        row = self.list.currentRow()
        self.accept()
        if row >= 0:
            self.chosen.emit(self._lessons[row])
