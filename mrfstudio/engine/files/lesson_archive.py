"""Lessons that people write: one zip (`.mrfl`) of the lesson as JSON and, where it begins with one, a session.

    lesson.json     format, version, and the lesson as `lesson_file` reads it
    start.mrfs      the session that it begins with

A stranger's lesson is read as a stranger's session is: sizes first, every field checked, no path followed.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.atomic import atomic_path, unwritable
from mrfstudio.engine.files.distrust import LARGEST_TEXT, Distrusted, check_members, member_bytes, parsed, regular_bytes
from mrfstudio.engine.files.lesson_file import LessonFileError, lesson_of
from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.lessons import Goal, Lesson, LessonStep

FORMAT = "mrfstudio lesson"
VERSION = 1
SUFFIX = ".mrfl"
LARGEST = 64 * 2**20
"""Bytes of a lesson file, and of what it unpacks to."""
TEXT, SESSION = "lesson.json", "start.mrfs"


def read_archive(path: Path) -> Lesson:
    """A lesson file that somebody wrote. Raises `LessonFileError`."""
    try:
        content = regular_bytes(path, LARGEST)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            check_members(archive.infolist(), LARGEST)
            names = set(archive.namelist())
            if TEXT not in names or names - {TEXT, SESSION}:
                raise Distrusted("it does not hold a lesson, or more than that")
            text = member_bytes(archive, archive.getinfo(TEXT))
            if len(text) > LARGEST_TEXT:
                raise Distrusted("its text is too long")
            described = parsed(text)
            if not isinstance(described, dict) or described.pop("format", None) != FORMAT:
                raise Distrusted("it is of another kind")
            version = described.pop("version", None)
            if version != VERSION:
                raise Distrusted(f"it is of version {version}, and this program knows version {VERSION}")
            session = member_bytes(archive, archive.getinfo(SESSION)) if SESSION in names else b""
        return lesson_of(described, path.stem, session)
    except OSError as problem:
        raise LessonFileError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except Exception as problem:  # it may be anything
        raise LessonFileError(f"{path} is no lesson: {problem}.") from problem


def write_archive(lesson: Lesson, path: Path) -> Path:
    """Write a lesson, atomically. Raises `LessonFileError`."""
    described = {"format": FORMAT, "version": VERSION, **described_lesson(lesson)}
    try:
        with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(TEXT, json.dumps(described, ensure_ascii=False, indent=1, allow_nan=False))
            if lesson.session:
                archive.writestr(SESSION, lesson.session)
    except OSError as problem:
        raise LessonFileError(unwritable(path, problem)) from problem
    return path


def described_lesson(lesson: Lesson) -> dict[str, Any]:
    """A lesson as the values of its JSON file."""
    return {
        "title": lesson.title,
        "about": lesson.about,
        "minutes": lesson.minutes,
        "workspace": lesson.workspace,
        "steps": [_described_step(step) for step in lesson.steps],
    }


def _described_step(step: LessonStep) -> dict[str, Any]:
    plain = {"say": step.say, "praise": step.praise, "choices": list(step.choices), "right": step.right}
    described: dict[str, Any] = {**plain, "exercise": step.exercise}
    described["setup"] = [described_command(command) for command in step.setup]
    described["answer"] = [described_command(command) for command in step.answer]
    described = {name: value for name, value in described.items() if value or name == "say"}
    if step.goal is not None:
        described["goal"] = _changed(step.goal, Goal())
    return described


def described_command(command: Command) -> dict[str, Any]:
    """A command as a lesson's file has it."""
    values = {field.name: getattr(command, field.name) for field in fields(command)}
    values.pop("gesture", None)
    values.pop("stroke_id", None)
    return {"do": type(command).__name__, **values}


def _changed(goal: Goal, usual: Goal) -> dict[str, Any]:
    pairs = ((field.name, getattr(goal, field.name), getattr(usual, field.name)) for field in fields(goal))
    return {name: value for name, value, default in pairs if value != default}
