"""Lessons as files: JSON that is checked field by field."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from mrfstudio.assets import asset
from mrfstudio.engine.commands import Command, Pause, Play, Restart, Scrub, SetSpeed, Step
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.command_json import COMMANDS
from mrfstudio.engine.lessons import Goal, Lesson, LessonStep

ORDER = "order.json"
"""The names of the shipped lessons, easiest first."""
KNOWN: dict[str, type[Command]] = COMMANDS | {
    cls.__name__: cls for cls in (Pause, Play, Restart, Scrub, SetSpeed, Step)
}


class LessonFileError(StudioError):
    """A lesson that cannot be read. The message is one sentence for a person."""


def shipped_lessons() -> tuple[Lesson, ...]:
    """Every lesson that comes with the program, in the order to take them in."""
    names = json.loads(asset("lessons", ORDER).read_text(encoding="utf-8"))
    return tuple(read_lesson(asset("lessons", f"{name}.json")) for name in names)


def read_lesson(path: Path) -> Lesson:
    """A lesson file. Raises `LessonFileError`."""
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        steps = tuple(_step(step) for step in described.pop("steps"))
        return Lesson(name=path.stem, steps=steps, **described)
    except OSError as problem:
        raise LessonFileError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise LessonFileError(f"{path} is no lesson: {problem}.") from problem


def _step(described: dict[str, Any]) -> LessonStep:
    goal = described.pop("goal", None)
    setup, answer = (tuple(_command(each) for each in described.pop(name, ())) for name in ("setup", "answer"))
    return LessonStep(setup=setup, answer=answer, goal=None if goal is None else Goal(**_frozen(goal)), **described)


def _command(described: dict[str, Any]) -> Command:
    values = dict(described)
    cls = KNOWN[values.pop("do")]
    unknown = set(values) - {field.name for field in fields(cls)}
    if unknown:
        raise ValueError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
    return cls(**_frozen(values))


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return value
