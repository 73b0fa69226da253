"""Lessons: short guided scripts. Each step says something, may set the stage, and may wait for a person to act.

A lesson is one JSON file of `assets/lessons`; `files/lesson_file.py` reads it. No torch here: the window plays them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mrfstudio.engine.commands import Command
from mrfstudio.engine.frames import Frame


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

    def met(self, frame: Frame, given: Sequence[Command]) -> bool:
        """Whether it is reached, by a frame that shows all commands `given` during the step."""
        if self.command and not any(self._is_meant(command) for command in given):
            return False
        if self.status and (not frame.lanes or frame.lanes[0].status not in self.status):
            return False
        return len(frame.lanes) >= self.lanes and frame.iteration >= self.iteration

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


@dataclass(frozen=True)
class Lesson:
    """Steps in one workspace, which begins anew."""

    name: str
    title: str
    about: str
    minutes: int
    workspace: str
    steps: tuple[LessonStep, ...]
