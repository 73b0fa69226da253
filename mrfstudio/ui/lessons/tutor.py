"""Plays a lesson: sets the stage of each step, watches what is done, and says when the goal is reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.protocol.commands import Command, SetSpeed
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.lessons import Lesson, LessonStep
from mrfstudio.engine.protocol.requests.studio import Begin, BeginWith, ListLessons, Typeset
from mrfstudio.engine.protocol.training import RunNote
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.lessons.chooser import LessonChooser
from mrfstudio.ui.lessons.guide import Guide
from mrfstudio.ui.lessons.slide import NOTHING, Slide
from mrfstudio.ui.window.dialogs.common import show_dialog
from mrfstudio.ui.words.lighting import Pointed

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow


class Tutor(QObject):
    """One lesson at a time, in one workspace. Leaving the workspace hides the guide; coming back shows it again."""

    changed = Signal()
    """`slide` is another one."""

    def __init__(self, window: MainWindow, controller: Controller, guide: Guide) -> None:
        super().__init__(window)
        self._window, self._controller, self.guide = window, controller, guide
        self.lesson: Lesson | None = None
        self.number = 0
        self.reached = False
        self.picked: int | None = None
        self.chooser: LessonChooser | None = None
        self._furthest = -1
        self._speed: float | None = None  # before the lesson
        self._given: list[Command] = []
        self._posted = 0
        guide.hide()
        guide.went.connect(self.go)
        guide.answer_wanted.connect(self.show_answer)
        guide.ended.connect(self.end)
        guide.picked.connect(self.pick)
        guide.symbol_hovered.connect(self._light)
        controller.sent.connect(self._on_sent)
        controller.frame.connect(self._on_frame)

    @property
    def step(self) -> LessonStep | None:
        return None if self.lesson is None else self.lesson.steps[self.number]

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Ask which lesson to take."""
        self._controller.ask(ListLessons(), self._offer)

    def _offer(self, lessons: Sequence[Lesson]) -> None:
        titles = {sign.name: sign.title for sign in self._window.signs}
        if self.lesson is not None and self.lesson not in lessons:
            lessons = (self.lesson, *lessons)  # one from a file, while it is open
        self.chooser = LessonChooser(lessons, titles, self._window)
        self.chooser.chosen.connect(self.begin)
        self.chooser.new_wanted.connect(self._window.author.begin)
        self.chooser.edit_wanted.connect(self._window.author.change)
        self.chooser.export_wanted.connect(self._window.author.ask_and_export)
        show_dialog(self.chooser)

    def begin(self, lesson: Lesson) -> None:
        """Begin a lesson; its workspace restarts, after a question about unsaved work."""
        if self._window.workspace.name != lesson.workspace:
            self._window.choose_workspace(lesson.workspace)
        self._window.files.unless_unsaved(lambda: self.set_out(lesson))

    def set_out(self, lesson: Lesson) -> None:
        """Restart its workspace, which is the one that is shown, then the lesson."""
        if lesson.session:
            self._controller.ask(BeginWith(lesson.session), lambda _: self._begun(lesson))
        elif self._window.workspace.has_session:
            self._controller.ask(Begin(lesson.workspace), lambda _: self._begun(lesson))
        else:
            self._set_out(lesson)

    def _begun(self, lesson: Lesson) -> None:
        self._window.files.opened(lesson.workspace, None)
        self._set_out(lesson)

    def _set_out(self, lesson: Lesson) -> None:
        self.lesson, self._furthest = lesson, -1
        newest = self._controller.newest
        self._speed = None if newest is None else newest.speed
        self.guide.set_typeset({})
        self._show(0)
        self.guide.show()
        if any(mark in text for text in lesson.texts for mark in "$*`["):
            self._controller.ask(Typeset(lesson.texts), lambda found: self._typeset(lesson, found))

    def _typeset(self, lesson: Lesson, found: Sequence[Words]) -> None:
        if self.lesson is lesson:
            self.guide.set_typeset({words.source: words for words in found})
            self.changed.emit()

    # Steps ------------------------------------------------------------------------------------------------------------

    def go(self, steps: int) -> None:
        """Forward or back; beyond the last step the lesson ends."""
        if self.lesson is None:
            return
        if self.number + steps >= len(self.lesson.steps):
            self.end()
        else:
            self._show(max(self.number + steps, 0))

    def _show(self, number: int) -> None:
        assert self.lesson is not None
        self.number, self.reached, self.picked, self._given = number, False, None, []
        self.guide.show_step(self.lesson, number)
        if number > self._furthest:  # who goes back and forth again keeps what is there
            self._furthest = number
            self._post(self.lesson.steps[number].setup)
        self._given = []  # what sets the stage reaches no goal
        self.changed.emit()

    def show_answer(self) -> None:
        """Do what the step asks for."""
        if self.step is not None:
            self._post(self.step.answer)

    def pick(self, number: int) -> None:
        """A student says what will happen; now it happens."""
        if self.step is None or self.picked is not None:
            return
        self.picked = number
        self.guide.show_picked(number)
        self._post(self.step.answer)
        self.changed.emit()
        if self.step.goal is None:
            self._reach()

    def end(self) -> None:
        """Leave the lesson; what was done stays, and runs as fast as before."""
        if self.lesson is not None and self._window.workspaces[self.lesson.workspace].has_session:
            self._controller.post(SetSpeed(self._speed), self.lesson.workspace)
        self.lesson, self.reached = None, False
        self.guide.hide()
        self.changed.emit()
        self._window.workspace.canvas.setFocus()

    def on_workspace(self, name: str) -> None:
        """Another workspace is shown."""
        self.guide.setVisible(self.lesson is not None and self.lesson.workspace == name)

    def _post(self, commands: Sequence[Command]) -> None:
        for command in commands:
            self._window.workspace.post(command)

    # Watching ---------------------------------------------------------------------------------------------------------

    def _on_sent(self, command: Command, number: int) -> None:
        if self.lesson is not None and self._controller.workspace == self.lesson.workspace:
            self._given.append(command)
            self._posted = number

    def on_given(self, command: Command) -> None:
        """A workspace without a session was told to do something."""
        self._given.append(command)

    def on_run(self, note: RunNote) -> None:
        """A training run has moved on."""
        step = self.step
        if step is None or self.reached or step.goal is None or (step.asks and self.picked is None):
            return
        if step.goal.met_by_run(note, self._given):
            self._reach()

    def _on_frame(self, frame: Frame) -> None:
        step = self.step
        if step is None or self.reached or step.goal is None or self.lesson is None:
            return
        # A frame from before the last command may show what was so before it.
        if frame.workspace != self.lesson.workspace or frame.applied < self._posted:
            return
        if step.asks and self.picked is None:
            return
        if step.goal.met(frame, self._given):
            self._reach()

    def _reach(self) -> None:
        assert self.step is not None
        self.reached = True
        if self.step.asks and self.picked is not None:
            self.guide.show_verdict(self.picked, self.step.right)
        self.guide.show_reached()
        self.changed.emit()

    def slide(self) -> Slide | None:
        """The step as a hall sees it; None without a lesson."""
        lesson, step = self.lesson, self.step
        if lesson is None or step is None:
            return None
        waits = step.goal is not None or step.asks
        praise = self.guide.said(step.praise or "Done.") if waits and self.reached else NOTHING
        hint = ""
        if step.exercise:
            hint = "An exercise, left open."
        elif step.asks and self.picked is None:
            hint = "What do you think? Press its number."
        elif step.answer and not step.asks and not self.reached:
            hint = "Enter shows it."
        choices = self.guide.choice_words()
        last = self.number == len(lesson.steps) - 1
        return Slide(self.guide.heading_words, self.guide.said(step.say), praise, choices, self.picked, hint, last)

    def _light(self, pointed: Pointed) -> None:
        """A symbol of an equation is pointed at: light what it stands for."""
        self._window.workspace.light_symbol(pointed)
