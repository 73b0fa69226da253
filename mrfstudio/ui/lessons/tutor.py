"""Plays a lesson: sets the stage of each step, watches what is done, and says when the goal is reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from mrfstudio.engine.commands import Command
from mrfstudio.engine.frames import Frame
from mrfstudio.engine.lessons import Lesson, LessonStep
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.dialogs.simple import show_dialog
from mrfstudio.ui.lessons.chooser import LessonChooser
from mrfstudio.ui.lessons.guide import Guide

if TYPE_CHECKING:
    from mrfstudio.ui.main_window import MainWindow


class Tutor(QObject):
    """One lesson at a time, in one workspace. Leaving the workspace hides the guide; coming back shows it again."""

    def __init__(self, window: MainWindow, controller: Controller, guide: Guide) -> None:
        super().__init__(window)
        self._window, self._controller, self.guide = window, controller, guide
        self.lesson: Lesson | None = None
        self.number = 0
        self.reached = False
        self.chooser: LessonChooser | None = None
        self._furthest = -1
        self._given: list[Command] = []
        self._posted = 0
        guide.hide()
        guide.went.connect(self.go)
        guide.answer_wanted.connect(self.show_answer)
        guide.ended.connect(self.end)
        controller.sent.connect(self._on_sent)
        controller.frame.connect(self._on_frame)

    @property
    def step(self) -> LessonStep | None:
        return None if self.lesson is None else self.lesson.steps[self.number]

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Ask which lesson to take."""
        self._controller.ask("lessons", self._offer)

    def _offer(self, lessons: Sequence[Lesson]) -> None:
        titles = {workspace.name: workspace.title for workspace in self._window.kinds}
        self.chooser = LessonChooser(lessons, titles, self._window)
        self.chooser.chosen.connect(self.begin)
        show_dialog(self.chooser)

    def begin(self, lesson: Lesson) -> None:
        """Begin a lesson; its workspace begins anew, after a question about unsaved work."""
        if self._window.workspace.name != lesson.workspace:
            self._window.choose_workspace(lesson.workspace)
        self._window.files.unless_unsaved(lambda: self.set_out(lesson))

    def set_out(self, lesson: Lesson) -> None:
        """Begin its workspace anew, which is the one that is shown, then the lesson."""
        self._controller.ask("begin_lesson", lambda _: self._begun(lesson))

    def _begun(self, lesson: Lesson) -> None:
        self._window.files.opened(lesson.workspace, None)
        self.lesson, self._furthest = lesson, -1
        self._show(0)
        self.guide.show()

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
        self.number, self.reached, self._given = number, False, []
        self.guide.show_step(self.lesson, number)
        if number > self._furthest:  # who goes back and forth again keeps what is there
            self._furthest = number
            self._post(self.lesson.steps[number].setup)
        self._given = []  # what sets the stage reaches no goal

    def show_answer(self) -> None:
        """Do what the step asks for."""
        if self.step is not None:
            self._post(self.step.answer)

    def end(self) -> None:
        """Leave the lesson; what was done stays."""
        self.lesson, self.reached = None, False
        self.guide.hide()
        self._window.workspace.canvas.setFocus()

    def on_workspace(self, name: str) -> None:
        """Another workspace is shown."""
        self.guide.setVisible(self.lesson is not None and self.lesson.workspace == name)

    def _post(self, commands: Sequence[Command]) -> None:
        for command in commands:
            self._controller.post(command)

    # Watching ---------------------------------------------------------------------------------------------------------

    def _on_sent(self, command: Command, number: int) -> None:
        if self.lesson is not None and self._controller.workspace == self.lesson.workspace:
            self._given.append(command)
            self._posted = number

    def _on_frame(self, frame: Frame) -> None:
        step = self.step
        if step is None or self.reached or step.goal is None or self.lesson is None:
            return
        # A frame from before the last command may show what was so before it.
        if frame.workspace != self.lesson.workspace or frame.applied < self._posted:
            return
        if step.goal.met(frame, self._given):
            self.reached = True
            self.guide.show_reached()
