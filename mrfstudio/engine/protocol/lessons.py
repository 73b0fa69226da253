"""Lessons: short guided scripts. Each step says something, may set the stage, and may wait for a person to act.

A lesson is one JSON file of `assets/lessons`; `files/lesson_file.py` reads it. Texts are Markdown with TeX, as
`engine/words` reads it. No torch here: the window plays them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.training import RunNote


@dataclass(frozen=True)
class Goal:
    """What a step waits for; every part that is given must be so."""

    command: str = ""
    """A command of this kind was given during the step…"""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """…with these values; a pair of numbers is a range, both ends among it."""
    status: tuple[str, ...] = ()
    """The first lane is in one of these states."""
    lanes: int = 0
    """There are at least so many lanes."""
    iteration: int = 0
    """At least so many iterations were computed."""
    run: tuple[str, ...] = ()
    """The training run that is looked at is in one of these states (`RunNote.state`)."""
    steps: int = 0
    """It has done at least so many steps."""

    def met(self, frame: Frame, given: Sequence[Command]) -> bool:
        """Whether it is reached, by a frame that shows all commands `given` during the step."""
        if not self._was_given(given):
            return False
        if self.status and (not frame.lanes or frame.lanes[0].status not in self.status):
            return False
        return len(frame.lanes) >= self.lanes and frame.iteration >= self.iteration

    def met_by_run(self, note: RunNote, given: Sequence[Command]) -> bool:
        """Whether it is reached, by a training run."""
        return self._was_given(given) and (not self.run or note.state in self.run) and note.step >= self.steps

    def _was_given(self, given: Sequence[Command]) -> bool:
        return not self.command or any(self._is_meant(command) for command in given)

    def _is_meant(self, command: Command) -> bool:
        if type(command).__name__ != self.command:
            return False
        return all(_fits(getattr(command, name), wanted) for name, wanted in self.fields.items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        low, high = wanted
        return isinstance(value, int | float) and low <= value <= high
    return bool(value == wanted)


@dataclass(frozen=True)
class LessonStep:
    """One thing to read, and perhaps to do."""

    say: str
    setup: tuple[Command, ...] = ()
    """Given when the step is first reached."""
    goal: Goal | None = None
    answer: tuple[Command, ...] = ()
    """What *Show me* does; it reaches the goal."""
    praise: str = ""
    """What to see once the goal is reached."""
    choices: tuple[str, ...] = ()
    """Answers to a question: a student picks one before seeing, then what *Show me* does is done by itself."""
    right: int = 0
    """The number of the right one."""
    exercise: bool = False
    """Left open: nothing is checked, nothing is shown."""

    @property
    def asks(self) -> bool:
        return bool(self.choices)


@dataclass(frozen=True)
class Lesson:
    """Steps in one workspace, which restarts."""

    name: str
    title: str
    about: str
    minutes: int
    workspace: str
    steps: tuple[LessonStep, ...]
    session: bytes = b""
    """The content of the session file that it begins with; empty: the workspace's first example."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything a student reads, in order, each once."""
        return tuple(dict.fromkeys(text for step in self.steps for text in (step.say, step.praise) if text))
