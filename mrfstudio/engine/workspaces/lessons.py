"""Answers about lessons and links: what is read, written, kept and shown for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.studio import (
    BeginWith,
    CopyLink,
    ExportLesson,
    KeepSession,
    ListLessons,
    OpenLesson,
    OpenLink,
    PictureInWords,
    SaveLesson,
)
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.sessions import Sessions

# What only some questions need is imported there: half of the time to the first picture went into it.


class Lessons:
    """One for each engine."""

    def __init__(self, sessions: Sessions, session: Callable[[str], Session]) -> None:
        self._sessions, self._session = sessions, session

    def routes(self) -> Iterable[Route]:
        yield ListLessons.by(_lessons)
        yield OpenLesson.by(_open)
        yield SaveLesson.by(_save)
        yield ExportLesson.by(_export)
        yield KeepSession.by(self._keep)
        yield BeginWith.by(self._begin_with)
        yield CopyLink.by(self._copy_link)
        yield PictureInWords.by(self._picture_in_words)
        yield OpenLink.by(self._open_link)

    def _keep(self, asked: KeepSession) -> bytes:
        with tempfile.TemporaryDirectory(prefix="mrfstudio-lesson-") as folder:
            path = self._sessions.copy(self._session(asked.workspace), str(Path(folder, "start.mrfs")))
            return Path(path).read_bytes()

    def _begin_with(self, asked: BeginWith) -> str:
        with tempfile.TemporaryDirectory(prefix="mrfstudio-lesson-") as folder:
            path = Path(folder, "start.mrfs")
            path.write_bytes(asked.session)
            return self._sessions.open_copy(path)

    def _copy_link(self, asked: CopyLink) -> str:
        from mrfstudio.engine.files.links import link_of

        return link_of(self._session(asked.workspace))

    def _picture_in_words(self, asked: PictureInWords) -> str:
        from mrfstudio.engine.workspaces.in_words import word_of

        return word_of(self._session(asked.workspace).document)

    def _open_link(self, asked: OpenLink) -> str:
        from mrfstudio.engine.files.links import opened

        return opened(asked.link, self._sessions.open_copy)


def _lessons(asked: ListLessons) -> tuple[Lesson, ...]:
    from mrfstudio.engine.files.lesson_file import shipped_lessons

    return shipped_lessons()


def _open(asked: OpenLesson) -> Lesson:
    from mrfstudio.engine.files.lesson_file import read_lesson

    return read_lesson(Path(asked.path))


def _save(asked: SaveLesson) -> str:
    from mrfstudio.engine.files.lesson_archive import write_archive

    return str(write_archive(asked.lesson, Path(asked.path)))


def _export(asked: ExportLesson) -> Background[int]:
    def work() -> int:
        from mrfstudio.engine.tasks.lesson_page import write_lesson_page

        return write_lesson_page(asked.lesson, Path(asked.path))

    return Background(work)
