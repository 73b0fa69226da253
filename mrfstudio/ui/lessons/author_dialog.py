"""The page on which a lesson is written: its steps, their words with a preview, and what counts as done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QPoint, QRect, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.lessons import Lesson, LessonStep
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.lessons.facts import Fact, goal_words, together
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided
from mrfstudio.ui.words.view import WordsView

TYPING = 400  # milliseconds after the last letter before the preview is set
MARKS = re.compile(r"[*`$#{}]|\\[a-zA-Z]+")
RIGHT_MARK = "*"
"""Before the right one among the answers to a question, one a line."""


@dataclass
class DraftStep:
    """A step while it is written."""

    say: str = ""
    praise: str = ""
    choices: str = ""
    exercise: bool = False
    setup: tuple[Command, ...] = ()
    """Given when the step is reached; only lessons that were written by hand have it."""
    done: list[Command] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """What was offered, and…"""
    chosen: set[int] = field(default_factory=set)
    """…which of it counts."""

    @classmethod
    def of(cls, step: LessonStep) -> DraftStep:
        """A step of a lesson, to be changed."""
        marked = (f"{RIGHT_MARK} {words}" if index == step.right else words for index, words in enumerate(step.choices))
        goal = [] if step.goal is None else [Fact(f"As before: {goal_words(step.goal)}", step.goal)]
        return cls(
            say=step.say,
            praise=step.praise,
            choices="\n".join(marked),
            exercise=step.exercise,
            setup=step.setup,
            done=list(step.answer),
            facts=goal,
            chosen={0} if goal else set(),
        )

    def step(self) -> LessonStep:
        """The step as a lesson holds it."""
        lines = [line.strip() for line in self.choices.splitlines() if line.strip()]
        right = next((index for index, line in enumerate(lines) if line.startswith(RIGHT_MARK)), 0)
        goal = together([self.facts[index] for index in sorted(self.chosen)])
        return LessonStep(
            say=self.say or "…",
            setup=self.setup,
            goal=goal,
            answer=tuple(self.done),
            praise=self.praise,
            choices=tuple(line.removeprefix(RIGHT_MARK).strip() for line in lines) if len(lines) > 1 else (),
            right=right if len(lines) > 1 else 0,
            exercise=self.exercise,
        )


class AuthorDialog(QDialog):
    """Knows widgets and drafts; `Author` knows the session."""

    recorded = Signal(bool)
    tried = Signal()
    saved = Signal()
    exported = Signal()
    preview_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New lesson")
        self.setModal(False)
        self.drafts: list[DraftStep] = [DraftStep()]
        self.title, self.about, self.minutes = QLineEdit("My lesson"), QLineEdit(), QSpinBox()
        self.title.setToolTip("What the lesson is called.")
        self.about.setToolTip("One sentence for the list of lessons.")
        self.minutes.setRange(1, 90)
        self.minutes.setValue(5)
        self.minutes.setToolTip("How long a student takes.")
        head = QFormLayout()
        head.addRow("&Title", self.title)
        head.addRow("&About", self.about)
        head.addRow("&Minutes", self.minutes)
        self.steps = QListWidget()
        self.steps.setAccessibleName("Steps")
        self.steps.setToolTip("The steps in order; choose one to write it.")
        self.steps.currentRowChanged.connect(self._show)
        self.add, self.remove = QPushButton("A&dd step"), QPushButton("Re&move")
        self.add.setToolTip("One more step after this one.")
        self.remove.setToolTip("Take this step away.")
        self.add.clicked.connect(self.add_step)
        self.remove.clicked.connect(self.remove_step)
        self._left = left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self.steps, 1)
        row = QHBoxLayout()
        row.addWidget(self.add)
        row.addWidget(self.remove)
        column.addLayout(row)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(self._step_page())
        split.setStretchFactor(1, 2)
        split.setChildrenCollapsible(False)
        whole = QVBoxLayout(self)
        whole.addWidget(split, 1)
        whole.addLayout(self._buttons())
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter in a line of text does nothing
        self._before: QRect | None = None
        self.resize(px(self, 860), px(self, 620))
        self._typing = QTimer(self, singleShot=True, interval=TYPING)
        self._typing.timeout.connect(lambda: self.preview_wanted.emit(self.say.toPlainText()))
        self._refill(0)

    def _step_page(self) -> QWidget:
        page = QWidget()
        self.say = self._text("What the student reads: Markdown, with TeX between dollar signs", "Words")
        self.praise = self._text("What there is to see once it is done", "Praise")
        self.choices = self._text(f"Answers to a question, one a line, {RIGHT_MARK} before the right one", "Answers")
        self.praise.setMaximumHeight(px(self, 56))
        self.choices.setMaximumHeight(px(self, 66))
        self.exercise = QCheckBox("&Exercise, left open")
        self.exercise.setToolTip("Nothing is checked in this step.")
        self.exercise.toggled.connect(lambda _: self._edited())
        self.preview = WordsView()
        self.problems = QLabel(wordWrap=True)
        self.problems.setProperty("role", "problem")
        self.record = QPushButton("&Record what I do")
        self.record.setCheckable(True)
        self.record.setToolTip("Do the step in the window; what you do becomes Show me.")
        self.record.toggled.connect(self._make_way)
        self.record.toggled.connect(self.recorded)
        self.deeds = QLabel(wordWrap=True)
        self.deeds.setProperty("role", "muted")
        self.goals = QListWidget()
        self.goals.setAccessibleName("What counts as done")
        self.goals.setToolTip("Tick what must be so before the step counts as done.")
        self.goals.setMaximumHeight(px(self, 110))
        self.goals.itemChanged.connect(lambda _: self._edited())
        column = QVBoxLayout(page)
        column.setContentsMargins(px(self, 6), 0, 0, 0)
        counts = QLabel("What counts as done:")
        words = (self.say, self.preview, self.problems, self.praise, self.choices, self.exercise)
        for widget in (*words, self.record, self.deeds, counts, self.goals):
            column.addWidget(widget)
        self._not_recording = (*words, counts, self.goals)
        return page

    def _make_way(self, recording: bool) -> None:
        """While a step is recorded, only what ends it stays, in a corner: the canvas is needed."""
        self.record.setText("Stop &recording" if recording else "&Record what I do")
        buttons = (self.try_button, self.export_button, self.save_button, self.close_button)
        for widget in (self._left, *self._not_recording, *buttons):
            widget.setVisible(not recording and (widget is not self.problems or bool(self.problems.text())))
        if recording:
            self._before = self.geometry()
            QTimer.singleShot(0, self, self._go_to_corner)  # once the layout knows what is left
        elif self._before is not None:
            self.setGeometry(self._before)

    def _go_to_corner(self) -> None:
        """Small, over the curves: canvas and controls are for the hand."""
        parent, layout = self.parentWidget(), self.layout()
        if not self.record.isChecked() or layout is None:
            return
        layout.activate()
        self.resize(px(self, 320), layout.minimumSize().height())
        if parent is not None:
            corner = parent.mapToGlobal(parent.rect().bottomLeft())
            self.move(corner + QPoint(px(self, 90), -self.height() - px(self, 30)))

    def _text(self, hint: str, name: str) -> QPlainTextEdit:
        box = QPlainTextEdit()
        box.setPlaceholderText(hint)
        box.setAccessibleName(name)
        box.setToolTip(hint)
        box.setTabChangesFocus(True)
        box.textChanged.connect(self._edited)
        return box

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        self.note = Elided(role="muted")
        row.addWidget(self.note, 1)
        self.try_button, self.save_button = QPushButton("Tr&y as a student"), QPushButton("&Save…")
        self.export_button, self.close_button = QPushButton("Export &web page…"), QPushButton("&Close")
        self.try_button.setToolTip("Play the lesson from its beginning; this page stays.")
        self.save_button.setToolTip("One file (.mrfl) with session, words and goals; it opens by a double click.")
        self.export_button.setToolTip("One HTML file for students without the program.")
        self.try_button.clicked.connect(self.tried)
        self.save_button.clicked.connect(self.saved)
        self.export_button.clicked.connect(self.exported)
        self.close_button.clicked.connect(self.reject)
        for button in (self.try_button, self.export_button, self.save_button, self.close_button):
            row.addWidget(button)
        return row

    def show_lesson(self, lesson: Lesson) -> None:
        """Go on with a lesson that was written before."""
        self.setWindowTitle(f"Lesson: {lesson.title}")
        self.title.setText(lesson.title)
        self.about.setText(lesson.about)
        self.minutes.setValue(lesson.minutes)
        self.drafts = [DraftStep.of(step) for step in lesson.steps]
        self._refill(0)

    # Steps ------------------------------------------------------------------------------------------------------------

    @property
    def row(self) -> int:
        return max(self.steps.currentRow(), 0)

    @property
    def draft(self) -> DraftStep:
        """The step that is written."""
        return self.drafts[self.row]

    def add_step(self) -> None:
        self.drafts.insert(self.row + 1, DraftStep())
        self._refill(self.row + 1)
        self.say.setFocus()

    def remove_step(self) -> None:
        if len(self.drafts) > 1:
            del self.drafts[self.row]
            self._refill(min(self.row, len(self.drafts) - 1))

    def _refill(self, row: int) -> None:
        with QSignalBlocker(self.steps):
            self.steps.clear()
            self.steps.addItems([self._line(number, draft) for number, draft in enumerate(self.drafts, 1)])
            self.steps.setCurrentRow(row)
        self._show(row)

    def _line(self, number: int, draft: DraftStep) -> str:
        words = " ".join(MARKS.sub("", draft.say).split()) or "no words yet"
        return f"{number}. {words[:30]}"

    def _show(self, row: int) -> None:
        draft = self.drafts[max(row, 0)]
        for box, text in ((self.say, draft.say), (self.praise, draft.praise), (self.choices, draft.choices)):
            with QSignalBlocker(box):
                box.setPlainText(text)
        with QSignalBlocker(self.exercise):
            self.exercise.setChecked(draft.exercise)
        self.record.setChecked(False)
        self.show_done()
        self.preview_wanted.emit(draft.say)

    def _edited(self) -> None:
        draft = self.draft
        draft.say, draft.praise = self.say.toPlainText(), self.praise.toPlainText()
        draft.choices, draft.exercise = self.choices.toPlainText(), self.exercise.isChecked()
        ticked = Qt.CheckState.Checked
        draft.chosen = {row for row in range(self.goals.count()) if self.goals.item(row).checkState() == ticked}
        item = self.steps.item(self.row)
        if item is not None:
            item.setText(self._line(self.row + 1, draft))
        self._typing.start()

    def show_done(self) -> None:
        """What was recorded for the step, and what can be picked from it."""
        draft = self.draft
        names = [command.title for command in draft.done]
        self.deeds.setText("Recorded: " + ", ".join(names) + "." if names else "Nothing is recorded for this step.")
        with QSignalBlocker(self.goals):
            self.goals.clear()
            for index, fact in enumerate(draft.facts):
                item = QListWidgetItem(fact.words)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                item.setCheckState(Qt.CheckState.Checked if index in draft.chosen else Qt.CheckState.Unchecked)
                self.goals.addItem(item)

    def offer(self, facts: Sequence[Fact]) -> None:
        """Facts to choose from; the first deed counts unless the teacher says otherwise."""
        self.draft.facts = list(facts)
        self.draft.chosen = {0} if facts else set()
        self.show_done()

    def show_preview(self, words: Words) -> None:
        """The words as a student sees them."""
        if words.source == self.say.toPlainText():
            self.preview.set_words(words)
            self.problems.setText(" ".join(words.problems))
            self.problems.setVisible(bool(words.problems))
