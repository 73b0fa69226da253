"""The dialog that lists all lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QListWidget, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.ui.style.theme import px


class LessonChooser(QDialog):
    """A list: title, what it is about, where and how long."""

    chosen = Signal(object)
    """A `Lesson`."""
    new_wanted = Signal()
    edit_wanted = Signal(object)
    """A `Lesson` to be changed, or to be the beginning of another."""
    export_wanted = Signal(object)
    """A `Lesson` to be written as a web page."""

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
        self.begin.setToolTip("Begin the chosen lesson; its workspace restarts.")
        self.begin.setDefault(True)
        self.new = self.buttons.addButton("&New…", QDialogButtonBox.ButtonRole.ActionRole)
        self.new.setToolTip("Write a lesson of your own about what is shown now.")
        self.new.clicked.connect(self._write)
        self.edit = self.buttons.addButton("E&dit…", QDialogButtonBox.ButtonRole.ActionRole)
        self.edit.setToolTip("Change the chosen lesson, and save it as a file of your own.")
        self.edit.clicked.connect(self._edit)
        self.export = self.buttons.addButton("&Export web page…", QDialogButtonBox.ButtonRole.ActionRole)
        self.export.setToolTip("The chosen lesson as one file for students without the program.")
        self.export.clicked.connect(self._export)
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

    def _write(self) -> None:
        self.accept()
        self.new_wanted.emit()

    def _edit(self) -> None:
        row = self.list.currentRow()
        self.accept()
        if row >= 0:
            self.edit_wanted.emit(self._lessons[row])

    def _export(self) -> None:
        row = self.list.currentRow()
        self.accept()
        if row >= 0:
            self.export_wanted.emit(self._lessons[row])
