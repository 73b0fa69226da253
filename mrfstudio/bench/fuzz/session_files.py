"""Readers of what a session leaves behind: session files, links, journals, lessons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.fuzz import grammars
from mrfstudio.bench.fuzz.mutations import (
    journal_mutated,
    json_text_mutated,
    lesson_archive_mutated,
    link_mutated,
    session_mutated,
    text_mutated,
)
from mrfstudio.bench.fuzz.reader import Reader
from mrfstudio.bench.fuzz.small_sessions import session_files


def session_readers(folder: Path) -> list[Reader]:
    from mrfstudio.engine.files.lesson_archive import SUFFIX as LESSON
    from mrfstudio.engine.files.lesson_archive import read_archive
    from mrfstudio.engine.files.lesson_file import LessonFileError, read_lesson
    from mrfstudio.engine.files.links import LinkError, opened
    from mrfstudio.engine.files.sessions.journal import JournalError, read_changes, read_header
    from mrfstudio.engine.files.sessions.session_file import SessionFileError, load_session
    from mrfstudio.engine.workspaces.studio import Studio

    studio = Studio()
    known = studio._in_memory()

    def open_and_use(path: Path) -> None:
        session = load_session(path, known)
        try:
            use(session)
        finally:
            session.close()

    def follow(path: Path) -> None:
        opened(path.read_text(encoding="utf-8", errors="replace"), open_and_use)

    def journal(path: Path) -> None:
        read_header(path)
        read_changes(path)

    errors, refused, any_json = (SessionFileError,), (LessonFileError,), grammars.json_value
    files, links = session_files(folder)
    text, packed, linked = (json_text_mutated,), (lesson_archive_mutated,), (link_mutated, text_mutated)
    return [
        *(
            Reader(f"session of {name}", "a.mrfs", open_and_use, errors, lambda s=seeds: s, (session_mutated,))  # type: ignore[misc]
            for name, seeds in files.items()
        ),
        Reader("link", "a.txt", follow, (LinkError, *errors), lambda: links, linked),
        Reader("journal", "1.journal", journal, (JournalError,), lambda: _journals(folder), (journal_mutated,)),
        Reader("lesson", "a.json", read_lesson, refused, _lesson_files, text, any_json),
        Reader(
            "lesson archive", f"a{LESSON}", read_archive, (LessonFileError,), lambda: _archives(folder, files), packed
        ),
    ]


def use(session: Any) -> None:
    """A few iterations, pictures, a step back and undo, as soon as a session is open."""
    from mrfstudio.engine.protocol.commands import Scrub, SetView, Step, Undo

    session.apply(SetView(("label", "strip", "residual")))
    for command in (Step(1), Scrub(0), Undo()):
        session.apply(command)
        for _ in range(4):
            session.advance(0.0)


def _journals(folder: Path) -> list[bytes]:
    from mrfstudio.engine.files.sessions.journal import Change, Journal
    from mrfstudio.engine.protocol.commands import Paint, SetImage, SetModel
    from mrfstudio.engine.session.timeline import Stamped

    path = folder / "0.journal"
    path.unlink(missing_ok=True)
    journal = Journal(path, {"workspace": "segment", "file": "/tmp/a.mrfs"})
    paint = Paint("hints", 1, ((1.5, 1.5), (4.5, 3.5)), 0.6, 0.5, 7)
    picture = SetImage(np.ones((6, 6), np.uint8), None, "square")
    journal.add(Change(0, (Stamped(0, paint), Stamped(2, picture)), 2))
    journal.add(Change(1, (Stamped(1, SetModel(0, "a", picture)),), 1))
    journal.close()
    return [path.read_bytes()]


def _lesson_files() -> list[bytes]:
    from mrfstudio.assets import asset

    names = json.loads(asset("lessons", "order.json").read_text(encoding="utf-8"))
    return [asset("lessons", f"{name}.json").read_bytes() for name in names]


def _archives(folder: Path, sessions: dict[str, list[bytes]]) -> list[bytes]:
    """A shipped lesson as people write theirs, without and with a session to begin with."""
    from mrfstudio.assets import asset
    from mrfstudio.engine.files.lesson_archive import write_archive
    from mrfstudio.engine.files.lesson_file import read_lesson

    first = json.loads(asset("lessons", "order.json").read_text(encoding="utf-8"))[0]
    lesson = read_lesson(asset("lessons", f"{first}.json"))
    begun = replace(lesson, session=next(iter(sessions.values()))[0])
    return [write_archive(each, folder / "lesson.mrfl").read_bytes() for each in (lesson, begun)]
