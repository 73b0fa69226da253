"""Sessions in and out of files, and those that a crash left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mrfstudio.engine.answers import Aside, Recovered, Unsaved
from mrfstudio.engine.converge_desk import ConvergeDesk
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.session_file import load_session, save_session
from mrfstudio.engine.session import Session
from mrfstudio.engine.workspaces.contract import Workspace

if TYPE_CHECKING:
    from mrfstudio.engine.recovery import Keeper


class SessionDesk(ConvergeDesk):
    """Saves and opens; with a keeper, unsaved work outlives a crash."""

    def __init__(self, threads: int, keeper: Keeper | None) -> None:
        super().__init__(threads)
        self._keeper = keeper

    def known_workspaces(self) -> dict[str, Workspace]:
        """Workspaces whose models may be in memory already."""
        raise NotImplementedError

    # Files ------------------------------------------------------------------------------------------------------------

    def save_session(self, workspace: str, path: str) -> str:
        """Write the session; it is then no longer modified."""
        session = self.session(workspace)
        save_session(session, path)
        session.mark_saved()
        session.file = path
        if self._keeper is not None:
            self._keeper.forget(workspace)
        return path

    def snapshot(self, workspace: str, path: str) -> str:
        """Write the session without calling it saved, such as for a command that replays it."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_session(self.session(workspace), path)
        return path

    def open_session(self, workspace: str, path: str) -> str:
        """Show the session of a file; returns the name of its workspace."""
        session = load_session(path, self.known_workspaces())
        session.file = path
        return self._show(session)

    def _show(self, session: Session) -> str:
        session.timeline.stage.threads = self._threads
        self._sessions[session.workspace.name] = session
        return session.workspace.name

    # Work that outlives a crash ---------------------------------------------------------------------------------------

    def keep(self) -> list[Aside]:
        """Write what was done since the last call where a crash cannot reach it; returns what takes longer."""
        if self._keeper is None:
            return []
        works = [self._keep(workspace, session) for workspace, session in self._sessions.items()]
        return [Aside(work) for work in works if work is not None]

    def _keep(self, workspace: str, session: Session) -> Callable[[], None] | None:
        assert self._keeper is not None
        try:
            return self._keeper.keep(workspace, session)
        except StudioError as problem:
            session.say(str(problem))
            return None

    def left_behind(self, workspace: str) -> tuple[Unsaved, ...]:
        """Work of the last window that did not close in order."""
        from mrfstudio.engine import recovery

        found = recovery.left_behind(self._keeper.root) if self._keeper is not None else ()
        return tuple(work for work in found if work.window == found[0].window)

    def recover(self, workspace: str, works: tuple[Unsaved, ...]) -> Recovered:
        """Open work that was left behind; what is open again is kept before the old copy goes."""
        from mrfstudio.engine import recovery

        assert self._keeper is not None
        opened, problems = [], []
        with recovery.taken_over(works[0].window):
            for work in works:
                try:
                    session = recovery.recovered(work.folder, self.known_workspaces())
                except StudioError as problem:
                    problems.append(str(problem))
                    continue
                name = self._show(session)
                opened.append((name, session.file))
                write = self._keeper.keep(name, session)
                if write is not None:
                    write()
        if problems:
            problems.append(f"What could not be read lies in {recovery.put_aside(works[0].window)}.")
        else:
            recovery.discard(works[0].window)
        return Recovered(tuple(opened), tuple(problems))

    def discard_left_behind(self, workspace: str, window: str) -> None:
        """Throw away what a window left behind."""
        from mrfstudio.engine import recovery

        with recovery.taken_over(window):
            pass  # nobody else is at it
        recovery.discard(window)
