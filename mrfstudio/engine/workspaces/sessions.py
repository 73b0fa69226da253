"""The session of each workspace, in and out of files; and the work that a crash left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.protocol.answers import Recovered, Unsaved
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.studio import (
    CopySession,
    DiscardLeftBehind,
    ExportPage,
    LeftBehind,
    OpenSession,
    Recover,
    SaveSession,
)
from mrfstudio.engine.runtime.memory import give_back_freed_memory
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.workspace import Workspace

if TYPE_CHECKING:
    from mrfstudio.engine.session.recovery import RecoveryKeeper


HIDDEN = 128 * 2**20
"""Bytes that the past of all sessions may take together that are not shown; each has the same part of it."""


class Sessions:
    """Sessions by the name of their workspace. With a keeper, unsaved work outlives a crash."""

    def __init__(
        self, threads: int, keeper: RecoveryKeeper | None, in_memory: Callable[[], Mapping[str, Workspace]]
    ) -> None:
        """`in_memory` gives workspaces whose models need not be read again for a file."""
        self.threads = threads
        self._keeper, self._in_memory = keeper, in_memory
        self._sessions: dict[str, Session] = {}
        self._shown = self._trimmed_for = ""

    def __contains__(self, workspace: str) -> bool:
        return workspace in self._sessions

    def __getitem__(self, workspace: str) -> Session:
        self._shown = workspace  # whoever steps it asks for it every time
        return self._sessions[workspace]

    def show(self, session: Session) -> str:
        """Make it the session of its workspace, whose name is returned."""
        session.timeline.runner.threads = self.threads
        before = self._sessions.get(session.workspace.name)
        if before is not None:  # what was posted to it is gone, as frames must say: else windows wait for it
            session.number = max(session.number, before.number)
        self._sessions[session.workspace.name] = session
        return session.workspace.name

    def settle(self, workspace: str) -> None:
        """Let no edit wait for the end of an iteration: somebody asks, to save a file for example."""
        if workspace in self._sessions:
            self._sessions[workspace].settle()

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        if self._keeper is not None:
            self._keeper.close()

    def routes(self, made: Callable[[str], Session]) -> Iterable[Route]:
        """The questions about sessions; `made` gives a workspace's session, a new one where there is none."""
        yield SaveSession.by(lambda asked: self.save(made(asked.workspace), asked.path))
        yield CopySession.by(lambda asked: self.copy(made(asked.workspace), asked.path))
        yield ExportPage.by(lambda asked: self.export_page(made(asked.workspace), asked))
        yield OpenSession.by(lambda asked: self.open(asked.path))
        yield LeftBehind.by(lambda asked: self.left_behind())
        yield Recover.by(lambda asked: self.recover(asked.works))
        yield DiscardLeftBehind.by(lambda asked: self.discard_left_behind(asked.window))

    # Files ------------------------------------------------------------------------------------------------------------

    def export_page(self, session: Session, asked: ExportPage) -> Background[int]:
        """A page of the session as it is now; it is written while the session goes on."""
        from mrfstudio.engine.tasks.page import write_page

        folder = tempfile.TemporaryDirectory(prefix="mrfstudio-page-")
        copy = save_session(session, Path(folder.name, "run.mrfs"))

        def work() -> int:
            with folder:
                return write_page(copy, Path(asked.path), asked.text, asked.title)

        return Background(work)

    def save(self, session: Session, path: str) -> str:
        """Write a session; it is then no longer modified."""
        save_session(session, path)
        session.mark_saved()
        session.file = path
        if self._keeper is not None:
            self._keeper.forget(session.workspace.name)
        return path

    def copy(self, session: Session, path: str) -> str:
        """Write a session without calling it saved."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_session(session, path)
        return path

    def open(self, path: str) -> str:
        """Show the session of a file; returns the name of its workspace."""
        session = load_session(path, self._in_memory())
        session.file = path
        return self.show(session)

    def open_copy(self, path: Path) -> str:
        """The same of a file that nobody keeps, as something to look at: a link, or the start of a lesson."""
        return self.show(load_session(path, self._in_memory()))

    # Work that outlives a crash ---------------------------------------------------------------------------------------

    def keep(self) -> list[Background[None]]:
        """Write what was done since the last call where a crash cannot reach it; returns what takes longer."""
        self.share_memory()
        if self._keeper is None:
            return []
        works = [self._keep(workspace, session) for workspace, session in self._sessions.items()]
        return [Background(work) for work in works if work is not None]

    def share_memory(self) -> None:
        """Have sessions that are not shown let their past go where it takes much: it can be computed again."""
        hidden = [session for workspace, session in self._sessions.items() if workspace != self._shown]
        for session in hidden:
            if bytes_of_past(session) > HIDDEN // len(hidden):
                let_go_of_past(session, HIDDEN // len(hidden))
        if self._shown != self._trimmed_for:  # another one is shown, and its first frame is out: nobody waits
            self._trimmed_for = self._shown
            give_back_freed_memory()

    def _keep(self, workspace: str, session: Session) -> Callable[[], None] | None:
        assert self._keeper is not None
        try:
            return self._keeper.keep(workspace, session)
        except StudioError as problem:
            session.say(str(problem))
            return None

    def left_behind(self) -> tuple[Unsaved, ...]:
        """Work of the last window that did not close in order."""
        from mrfstudio.engine.session import recovery

        found = recovery.left_behind(self._keeper.root) if self._keeper is not None else ()
        return tuple(work for work in found if work.window == found[0].window)

    def recover(self, works: tuple[Unsaved, ...]) -> Recovered:
        """Open work that was left behind; what is open again is kept before the old copy goes."""
        from mrfstudio.engine.session import recovery

        assert self._keeper is not None
        opened, problems, kept = [], [], True
        with recovery.taken_over(works[0].window):
            for work in works:
                try:
                    session = recovery.recovered(work.folder, self._in_memory())
                except StudioError as problem:
                    problems.append(str(problem))
                    continue
                name = self.show(session)
                opened.append((name, session.file))
                kept = self._kept_now(name, session) and kept
        if problems:
            problems.append(f"What could not be read lies in {recovery.put_aside(works[0].window)}.")
        elif kept:
            recovery.discard(works[0].window)
        else:
            problems.append(f"It could not be kept again: the old copy stays in {works[0].window}.")
        return Recovered(tuple(opened), tuple(problems))

    def _kept_now(self, name: str, session: Session) -> bool:
        assert self._keeper is not None
        try:
            return self._keeper.keep_now(name, session)
        except StudioError as problem:
            session.say(str(problem))
            return False

    @property
    def wait_to_keep(self) -> float | None:
        """Seconds until a write that failed is tried again; None where none has."""
        return None if self._keeper is None else self._keeper.wait

    def discard_left_behind(self, window: str) -> None:
        """Throw away what a window left behind."""
        from mrfstudio.engine.session import recovery

        with recovery.taken_over(window):
            pass  # nobody else is at it
        recovery.discard(window)


def bytes_of_past(session: Session) -> int:
    """What the past of a session takes in memory: key-frames, and what undo holds."""
    return session.timeline.history.bytes + session.undo.bytes


def let_go_of_past(session: Session, most: int) -> None:
    """Let much of it go, until the rest takes about so many bytes: it is computed again when it is wanted."""
    session.timeline.history.thin(session.point.iteration, most // 2)
    session.undo.let_go(most // 2)
    session.timeline.history.others = session.undo.bytes
