"""Readers of what a session leaves on disk: session files, journals, lessons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.fuzz import grammars
from mrfstudio.bench.fuzz.mutations import journal_mutated, json_text_mutated, session_mutated
from mrfstudio.bench.fuzz.reader import Reader


def session_readers(folder: Path) -> list[Reader]:
    from mrfstudio.engine.files.lesson_file import LessonFileError, read_lesson
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

    any_json = grammars.json_value

    def journal(path: Path) -> None:
        read_header(path)
        read_changes(path)

    return [
        Reader(
            "session", "a.mrfs", open_and_use, (SessionFileError,), lambda: _session_files(folder), (session_mutated,)
        ),
        Reader("journal", "1.journal", journal, (JournalError,), lambda: _journals(folder), (journal_mutated,)),
        Reader("lesson", "a.json", read_lesson, (LessonFileError,), _lesson_files, (json_text_mutated,), any_json),
    ]


def use(session: Any) -> None:
    """A few iterations, pictures, a step back and undo, as soon as a session is open."""
    from mrfstudio.engine.protocol.commands import Scrub, SetView, Step, Undo

    session.apply(SetView(("label", "strip", "residual")))
    for command in (Step(1), Scrub(0), Undo()):
        session.apply(command)
        for _ in range(4):
            session.advance(0.0)


def _session_files(folder: Path) -> list[bytes]:
    """One of each workspace that has sessions, some of them worked on."""
    from mrfstudio.engine.files.sessions.session_file import save_session
    from mrfstudio.engine.protocol.commands import AddLane, Paint, PaintLasso, SetParameter, SetStrength, Step, Undo
    from mrfstudio.engine.protocol.errors import StudioError
    from mrfstudio.engine.registry import SERVICES
    from mrfstudio.engine.workspaces.studio import Studio

    studio, found = Studio(), []
    for service in SERVICES:
        if service.restores is None:
            continue
        try:
            studio.service(service.name).begin()
        except StudioError:
            continue  # its models or pictures are not installed
        session = studio.session(service.name)
        layer = session.workspace.layers[-1].name
        lane = session.point.lanes[0]
        for command in (
            Step(2), Paint(layer, 1, ((1.5, 1.5), (4.5, 3.5)), 0.6, 0.5, 7), SetParameter(0, "damping", 0.1), Step(1),
            SetStrength("coupling", 0.7), AddLane(lane.model_name, "mean-field"),
            PaintLasso(layer, 1, ((1.0, 1.0), (5.0, 1.0), (3.0, 5.0))), Undo(), Step(1),
        ):  # fmt: skip
            session.apply(command)
            for _ in range(6):
                session.advance(0.0)
        path = folder / f"{service.name}.mrfs"
        save_session(session, path)
        found.append(path.read_bytes())
    return found


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
