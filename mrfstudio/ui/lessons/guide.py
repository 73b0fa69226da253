"""The guide: what a lesson says, above the workspace it is about, with the ways through it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.lessons import Lesson
from mrfstudio.ui.icons import icon
from mrfstudio.ui.panels.elided import Elided
from mrfstudio.ui.theme import px

MOST_OF_WINDOW = 6  # the text of a step has a sixth of the window's height, if it needs that much


class Text(QScrollArea):
    """Paragraphs, as tall as they are at their width; they scroll where a small window has no room for that."""

    def __init__(self, *paragraphs: QLabel) -> None:
        super().__init__()
        self._paragraphs = paragraphs
        inside = QWidget()
        inside.setObjectName("clear")
        self.viewport().setAutoFillBackground(False)
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(px(self, 4))
        for paragraph in paragraphs:
            self._column.addWidget(paragraph)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:
        width = self.viewport().width()
        heights = [paragraph.heightForWidth(width) for paragraph in self._paragraphs if paragraph.text()]
        return QSize(px(self, 400), sum(heights) + self._column.spacing() * (len(heights) - 1))

    def minimumSizeHint(self) -> QSize:
        # All of it, unless that were much of the window: what lies below wants more than there is, and would leave two
        # lines of it.
        least, most = 2 * self.fontMetrics().lineSpacing(), self.window().height() // MOST_OF_WINDOW
        return QSize(px(self, 100), max(least, min(self.sizeHint().height(), most)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()


class Guide(QFrame):
    """Shows one step. It knows words and buttons only; `Tutor` knows the session."""

    went = Signal(int)
    """Steps to go: 1 forward, -1 back."""
    answer_wanted = Signal()
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "message")
        self.setAccessibleName("Lesson")
        self.heading, self.words, self.praise = Elided(role="heading"), QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.praise.setProperty("role", "praise")
        for label in (self.words, self.praise):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            policy.setHeightForWidth(True)
            label.setSizePolicy(policy)
        self.bar = QProgressBar(textVisible=False)
        self.bar.setAccessibleName("Steps of the lesson")
        self.show_me = QPushButton("&Show me")
        self.show_me.setToolTip("Have it done for you; Ctrl+Z takes it back.")
        self.back, self.next = QPushButton("&Back"), QPushButton("&Next")
        self.back.setToolTip("The step before. What you did stays.")
        self.close_button = QToolButton()
        self.close_button.setToolTip("End the lesson. What you did stays.")
        self.close_button.setAccessibleName("End the lesson")
        self.show_me.clicked.connect(self.answer_wanted)
        self.back.clicked.connect(lambda: self.went.emit(-1))
        self.next.clicked.connect(lambda: self.went.emit(1))
        self.close_button.clicked.connect(self.ended)
        self._lay_out()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(px(self, 8))
        head.addWidget(self.bar)
        head.addWidget(self.heading, 1)
        for button in (self.show_me, self.back, self.next, self.close_button):
            head.addWidget(button)
        column = QVBoxLayout(self)
        margin = px(self, 10)
        column.setContentsMargins(margin, px(self, 6), margin, px(self, 8))
        column.setSpacing(px(self, 4))
        column.addLayout(head)
        self._text = Text(self.words, self.praise)
        column.addWidget(self._text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def show_step(self, lesson: Lesson, number: int) -> None:
        """Show a step as it begins."""
        step, count = lesson.steps[number], len(lesson.steps)
        self.heading.set_words(f"{lesson.title}, step {number + 1} of {count}")
        self.words.setText(step.say)
        self.bar.setRange(0, count)
        self.bar.setValue(number + 1)
        self.bar.setFixedSize(px(self, 90), px(self, 8))
        self.show_me.setVisible(bool(step.answer))
        self.show_me.setEnabled(True)
        self.back.setEnabled(number > 0)
        last = number == count - 1
        self.next.setText("&Done" if last else "&Next")
        self.next.setToolTip("End the lesson. What you did stays." if last else "Go on, whether or not you tried it.")
        self.close_button.setIcon(icon("cancel", self))
        self.close_button.setIconSize(QSize(px(self, 14), px(self, 14)))
        # Its place is kept, so that nothing below moves when it comes.
        self.praise.setText(f"✓  {step.praise or 'Done.'}" if step.goal is not None else "")
        policy = self.praise.sizePolicy()
        policy.setRetainSizeWhenHidden(step.goal is not None)
        self.praise.setSizePolicy(policy)
        self.praise.hide()
        self._text.verticalScrollBar().setValue(0)
        self._text.updateGeometry()
        self._invite(step.goal is None)

    def show_reached(self) -> None:
        """The goal of the step is reached: say what there is to see."""
        self.praise.show()
        self._text.ensureWidgetVisible(self.praise)
        self.show_me.setEnabled(False)
        self._invite(True)

    def _invite(self, forward: bool) -> None:
        """Make Next the button that catches the eye, or not yet."""
        self.next.setDefault(forward)
