"""One step of a lesson for a hall: what it says, the answers to choose from, and what there is to see afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFont, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.words.view import WordsView, plain_words

NOTHING = plain_words("")


@dataclass(frozen=True)
class Slide:
    """What is shown of a step now. `praise` is empty until its goal is reached."""

    heading: str
    say: Words
    praise: Words = NOTHING
    choices: tuple[str, ...] = ()
    """The answers, with a mark once it is known which is right."""
    picked: int | None = None
    hint: str = ""
    """Which key helps now."""
    last: bool = False
    """No step comes after it."""


class SlideView(QScrollArea):
    """A column of large words, as wide as it is given; it scrolls where they are too long."""

    symbol_hovered = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.slide: Slide | None = None
        self.heading, self.hint = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.heading.setProperty("role", "heading")
        self.hint.setProperty("role", "muted")
        self.say, self.praise = WordsView(), WordsView("praise")
        for view in (self.say, self.praise):
            view.symbol_hovered.connect(self.symbol_hovered)
        self.choices: list[QLabel] = []
        self._inside = QWidget()
        self._inside.setObjectName("clear")
        self._column = QVBoxLayout(self._inside)
        self._choice_column = QVBoxLayout()
        for widget in (self.heading, self.say):
            self._column.addWidget(widget)
        self._column.addLayout(self._choice_column)
        self._column.addWidget(self.praise)
        self._column.addWidget(self.hint)
        self._column.addStretch(1)
        self.setWidget(self._inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Slide")

    def set_slide(self, slide: Slide) -> None:
        """Show a step, or what became of it."""
        other = self.slide is None or slide.heading != self.slide.heading
        self.slide = slide
        self.heading.setText(slide.heading)
        self.say.set_words(slide.say)
        self.praise.set_words(slide.praise)
        self.praise.setVisible(bool(slide.praise.source))
        self.hint.setText(slide.hint)
        self.hint.setVisible(bool(slide.hint))
        self._offer(slide.choices, slide.picked)
        self.dress(self.font(), self.palette())
        if other:
            self.verticalScrollBar().setValue(0)
        elif slide.praise.source:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def _offer(self, choices: Sequence[str], picked: int | None) -> None:
        for label in self.choices:
            self._choice_column.removeWidget(label)
            label.hide()
            label.deleteLater()
        self.choices = []
        for number, words in enumerate(choices):
            label = QLabel(f"{number + 1}   {words}", wordWrap=True)
            label.setProperty("role", "picked" if number == picked else "choice")
            self._choice_column.addWidget(label)
            self.choices.append(label)

    def dress(self, font: QFont, palette: QPalette) -> None:
        """Letters and colours of a stage, which go down to the words in it."""
        self.setFont(font)
        self.setPalette(palette)
        bold = QFont(font)
        bold.setBold(True)
        self._column.setSpacing(font.pixelSize() // 2)
        for label in (self.hint, *self.choices):
            label.setFont(font)
        self.heading.setFont(bold)
        for view in (self.say, self.praise):
            view.set_letters(font, palette)
        self._make_room()

    def turn(self, pages: int) -> None:
        """Down, or up."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + pages * bar.pageStep() // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._make_room()
        return super().event(event)

    def _make_room(self) -> None:
        """Lines break at this width, which decides the height; a scroll area does not ask for it by itself."""
        width = self.viewport().width()
        if width > 0:
            self._inside.setMinimumHeight(self._column.totalHeightForWidth(width))
