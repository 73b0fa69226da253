"""The guide: what a lesson says, above the workspace it is about, with the ways through it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.keys import key_text, keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided
from mrfstudio.ui.words.view import WordsView, plain_words

MOST_OF_WINDOW = 5  # the text of a step has a fifth of the window's height, if it needs that much


class ScrollingText(QScrollArea):
    """Paragraphs, as tall as they are at their width; they scroll where a small window has no room for that."""

    def __init__(self, *paragraphs: WordsView) -> None:
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
    picked = Signal(int)
    """The number of the answer that a student believes in."""
    symbol_hovered = Signal(object)
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "message")
        self.setAccessibleName("Lesson")
        self.heading, self.words, self.praise = Elided(role="heading"), WordsView(), WordsView("praise")
        for view in (self.words, self.praise):
            view.symbol_hovered.connect(self.symbol_hovered)
        self.heading_words = ""
        self.choices: list[QPushButton] = []
        self._typeset: dict[str, Words] = {}
        self.bar = QProgressBar(textVisible=False)
        self.bar.setAccessibleName("Steps of the lesson")
        self.show_me = QPushButton("&Show me")
        self.show_me.setToolTip(keyed("Have it done for you; Ctrl+Z takes it back."))
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
        self._text = ScrollingText(self.words, self.praise)
        column.addWidget(self._text)
        self._choices = QWidget()
        self._choices.setAccessibleName("What do you think?")
        self._choice_row = QHBoxLayout(self._choices)
        self._choice_row.setContentsMargins(0, 0, 0, 0)
        self._choice_row.setAlignment(Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._choices)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def set_typeset(self, texts: dict[str, Words]) -> None:
        """The texts of a lesson with their formulas; what is shown already gets them at once."""
        self._typeset = texts
        for view in (self.words, self.praise):
            if view.text() in texts:
                view.set_words(texts[view.text()])
        self._text.updateGeometry()

    def missing(self) -> bool:
        """Whether what is shown waits for its formulas."""
        return any("$" in view.text() and view.text() not in self._typeset for view in (self.words, self.praise))

    def said(self, text: str) -> Words:
        """A text with its formulas, as soon as they are there."""
        return self._typeset.get(text) or plain_words(text)

    def show_step(self, lesson: Lesson, number: int) -> None:
        """Show a step as it begins."""
        step, count = lesson.steps[number], len(lesson.steps)
        kind = "exercise" if step.exercise else "question" if step.asks else "step"
        self.heading_words = f"{lesson.title}, {kind} {number + 1} of {count}"
        self.heading.set_words(self.heading_words)
        self.words.set_words(self.said(step.say))
        self.bar.setRange(0, count)
        self.bar.setValue(number + 1)
        self.bar.setFixedSize(px(self, 90), px(self, 8))
        self.show_me.setVisible(bool(step.answer) and not step.asks)
        self.show_me.setEnabled(True)
        self._offer(step.choices)
        self.back.setEnabled(number > 0)
        last = number == count - 1
        self.next.setText("&Done" if last else "&Next")
        self.next.setToolTip("End the lesson. What you did stays." if last else "Go on, whether or not you tried it.")
        self.close_button.setIcon(icon("cancel", self))
        self.close_button.setIconSize(QSize(px(self, 14), px(self, 14)))
        # Its place is kept, so that nothing below moves when it comes.
        waits = step.goal is not None or step.asks
        self.praise.set_words(self.said((step.praise or "Done.") if waits else ""))
        policy = self.praise.sizePolicy()
        policy.setRetainSizeWhenHidden(waits)
        self.praise.setSizePolicy(policy)
        self.praise.hide()
        self._text.verticalScrollBar().setValue(0)
        self._text.updateGeometry()
        self._invite(step.goal is None and not step.asks)

    def _offer(self, choices: tuple[str, ...]) -> None:
        """One button for each answer to a question."""
        for button in self.choices:
            button.hide()
            button.deleteLater()
        self.choices = []
        for number, words in enumerate(choices):
            button = QPushButton(words)
            button.setCheckable(True)
            keys = f"Alt+{number + 1}"
            button.setShortcut(QKeySequence(keys))
            button.setToolTip(f"Say what you expect; then see what happens. ({key_text(keys)})")
            button.clicked.connect(lambda _=False, number=number: self.picked.emit(number))
            self._choice_row.addWidget(button)
            self.choices.append(button)
        self._choices.setVisible(bool(choices))

    def choice_words(self) -> tuple[str, ...]:
        """The answers as they are written on their buttons now."""
        return tuple(button.text() for button in self.choices)

    def show_picked(self, number: int) -> None:
        """An answer was given, here or on the stage: there is no other."""
        for index, button in enumerate(self.choices):
            button.setChecked(index == number)
            button.setEnabled(False)

    def show_verdict(self, picked: int, right: int) -> None:
        """What happened is to be seen: was the student right?"""
        for index, button in enumerate(self.choices):
            mark = "✓ " if index == right else "✗ " if index == picked else ""
            button.setText(mark + button.text())
        self.choices[right].setEnabled(True)  # the one that is not grey; a click on it changes nothing
        self.choices[right].setChecked(True)
        self.choices[right].clicked.disconnect()
        self.choices[right].clicked.connect(lambda _=False: self.choices[right].setChecked(True))
        said = "As you said." if picked == right else "It came otherwise."
        self.choices[right].setToolTip(said)
        self.choices[right].setAccessibleDescription(said)

    def show_reached(self) -> None:
        """The goal of the step is reached: say what there is to see."""
        self.praise.show()
        self._text.ensureWidgetVisible(self.praise)
        self.show_me.setEnabled(False)
        self._invite(True)

    def _invite(self, forward: bool) -> None:
        """Make Next the button that catches the eye, or not yet."""
        self.next.setDefault(forward)
