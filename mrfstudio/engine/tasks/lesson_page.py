"""A lesson as a web page: every step is played as *Show me* would, and its run written by `mrfstudio/pages`."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.files.lesson_file import read_lesson, shipped_lessons
from mrfstudio.engine.files.sessions.session_file import load_session
from mrfstudio.engine.protocol.commands import Command, SetSpeed
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.tasks.page import run_of
from mrfstudio.engine.words.markdown import words_of
from mrfstudio.pages.lesson import LessonPart, index_page, lesson_page
from mrfstudio.pages.run import PageRun

log = logging.getLogger(__name__)
MOST_SECONDS = 20.0
"""Of computing for one step; what is not settled by then is shown as far as it came."""
MOST_ITERATIONS = 400


def write_lesson_page(lesson: Lesson, out: Path) -> int:
    """Write one HTML file; returns its size in bytes."""
    page = lesson_page(lesson.title, lesson.about, parts_of(lesson))
    write_text(out, page)
    return len(page.encode())


def write_site(lessons: Iterable[Lesson], folder: Path) -> list[Path]:
    """A page for each lesson and one that lists them; returns the paths, the list first."""
    folder.mkdir(parents=True, exist_ok=True)
    known = list(lessons)
    for lesson in known:
        write_lesson_page(lesson, folder / f"{lesson.name}.html")
    index = folder / "index.html"
    write_text(index, index_page([(f"{each.name}.html", each.title, each.about, each.minutes) for each in known]))
    return [index, *(folder / f"{lesson.name}.html" for lesson in known)]


def lessons_named(name: str) -> list[Lesson]:
    """A shipped lesson, one in a file, or all in a folder; `all` are the shipped ones. Raises `StudioError`."""
    shipped = {lesson.name: lesson for lesson in shipped_lessons()}
    path = Path(name)
    if name == "all":
        return list(shipped.values())
    if path.is_dir():
        found = sorted([*path.glob("*.mrfl"), *(each for each in path.glob("*.json") if each.name != "order.json")])
        if not found:
            raise StudioError(f"{path} has no lessons in it: expected files that end in .mrfl.")
        return [read_lesson(each) for each in found]
    if name in shipped:
        return [shipped[name]]
    if not path.exists():
        raise StudioError(f"There is no lesson {name!r}: expected a file, a folder, or one of {', '.join(shipped)}.")
    return [read_lesson(path)]


def parts_of(lesson: Lesson) -> list[LessonPart]:
    """The steps with their words and, where a step shows something new, its run."""
    session = _first(lesson)
    parts = []
    for step in lesson.steps:
        run = None
        if session is not None and (step.setup or step.answer):
            before = _state(session)
            _do(session, (*step.setup, *step.answer))
            _play(session)
            run = _run(session, lesson.title) if _state(session) != before else None
        parts.append(
            LessonPart(words_of(step.say), words_of(step.praise), step.choices, step.right, step.exercise, run)
        )
    return parts


def _first(lesson: Lesson) -> Session | None:
    """The session that the lesson begins with; None in a workspace that has none."""
    if lesson.session:
        with tempfile.TemporaryDirectory(prefix="mrfstudio-lesson-") as folder:
            path = Path(folder, "start.mrfs")
            path.write_bytes(lesson.session)
            return load_session(path)
    from mrfstudio.engine.workspaces.studio import Studio

    if SERVICES[lesson.workspace].restores is None:
        return None
    studio = Studio()
    studio.service(lesson.workspace).begin()
    return studio.session(lesson.workspace)


def _do(session: Session, commands: Iterable[Command]) -> None:
    for command in commands:
        try:
            session.apply(command)
        except StudioError as problem:  # such as a model that takes other pictures: the window would bring one
            log.warning("A step of the lesson could not be done: %s", problem)


def _play(session: Session) -> None:
    end = time.monotonic() + MOST_SECONDS
    session.apply(SetSpeed(None))
    begun = session.point.iteration
    while time.monotonic() < end and session.point.iteration - begun < MOST_ITERATIONS:
        session.advance(0.1)
        if not session.running:
            break


def _state(session: Session) -> tuple[int, int, int]:
    return session.point.iteration, len(session.timeline.log), id(session.document)


def _run(session: Session, title: str) -> PageRun | None:
    try:
        return run_of(session, title=title)
    except StudioError:  # a step may leave something that has no beliefs
        return None
