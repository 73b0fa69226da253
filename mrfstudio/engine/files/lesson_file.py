"""Lessons as files: JSON that is checked field by field."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from mrfstudio.assets import asset
from mrfstudio.engine.files.distrust import read_json
from mrfstudio.engine.files.sessions.command_json import COMMANDS
from mrfstudio.engine.files.sessions.typed import made
from mrfstudio.engine.protocol.commands import (
    Command,
    Pause,
    Play,
    Restart,
    Scrub,
    SetLearner,
    SetSpeed,
    ShowPlan,
    StartTraining,
    Step,
    StopTraining,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.lessons import Goal, Lesson, LessonStep

MOST_STEPS = 200
ORDER = "order.json"
"""The names of the shipped lessons, easiest first."""
UNDONE = (Pause, Play, Restart, Scrub, SetLearner, SetSpeed, ShowPlan, StartTraining, Step, StopTraining)
"""Commands that no session keeps, and that a lesson may give."""
KNOWN: dict[str, type[Command]] = COMMANDS | {cls.__name__: cls for cls in UNDONE}


class LessonFileError(StudioError):
    """A lesson that cannot be read. The message is one sentence for a person."""


def shipped_lessons() -> tuple[Lesson, ...]:
    """Every lesson that comes with the program, in the order to take them in."""
    names = json.loads(asset("lessons", ORDER).read_text(encoding="utf-8"))
    return tuple(read_lesson(asset("lessons", f"{name}.json")) for name in names)


def read_lesson(path: Path) -> Lesson:
    """A lesson file. Raises `LessonFileError`."""
    if path.suffix.lower() == ".mrfl":
        from mrfstudio.engine.files.lesson_archive import read_archive

        return read_archive(path)
    try:
        return lesson_of(read_json(path), path.stem)
    except OSError as problem:
        raise LessonFileError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except Exception as problem:  # it may be anything
        raise LessonFileError(f"{path} is no lesson: {problem}.") from problem


def lesson_of(described: dict[str, Any], name: str, session: bytes = b"") -> Lesson:
    """A lesson from the values of its file. Raises what wrong values raise."""
    steps = tuple(_step(step) for step in described.pop("steps"))
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ValueError(f"it has {len(steps)} steps, and 1 to {MOST_STEPS} are expected")
    lesson: Lesson = made(Lesson, {"name": name, "steps": steps, "session": session, **described})
    return lesson


def _step(described: dict[str, Any]) -> LessonStep:
    goal = described.pop("goal", None)
    setup, answer = (tuple(_command(each) for each in described.pop(name, ())) for name in ("setup", "answer"))
    wanted = None if goal is None else made(Goal, _frozen(goal))
    step: LessonStep = made(LessonStep, {"setup": setup, "answer": answer, "goal": wanted, **_frozen(described)})
    if step.choices and not (len(step.choices) >= 2 and 0 <= step.right < len(step.choices)):
        raise ValueError(f"a question has {len(step.choices)} answers, and number {step.right} is called right")
    return step


def _command(described: dict[str, Any]) -> Command:
    values = dict(described)
    cls = KNOWN[values.pop("do")]
    unknown = set(values) - {field.name for field in fields(cls)}
    if unknown:
        raise ValueError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
    command: Command = made(cls, _frozen(values))
    return command


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return value
