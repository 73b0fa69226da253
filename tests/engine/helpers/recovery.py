"""A window and a studio that keep unsaved work, and what a crash does to them."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.protocol.commands import Command, Paint
from mrfstudio.engine.session.recovery import RecoveryKeeper, left_behind, recovered
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.studio import Studio
from tests.engine.helpers.sessions import run, segment_session, small_grid_model

STROKE = Paint("observed", 0, ((2.5, 2.5), (7.5, 2.5)), 0.6, stroke_id=1)
OTHER = Paint("hints", 2, ((4.5, 4.5),), 1.0, 0.5, stroke_id=2)


def crash(keeper: RecoveryKeeper) -> None:
    """What the system does for a process that is killed: it closes its files and gives up its locks."""
    for kept in keeper._kept.values():
        kept.journal.close()
    if keeper._lock is not None:
        keeper._lock.release()


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Window:
    """What the engine's thread does with a keeper; `kill` is a crash, of which only the lock learns."""

    def __init__(self, root: Path, session: Session) -> None:
        self.clock = Clock()
        self.keeper = RecoveryKeeper(root, self.clock)
        self.session = session
        self.copies = 0

    def do(self, *commands: Command) -> None:
        for command in commands:
            self.session.apply(command)
            self.look()
            run(self.session)
            self.look()

    def look(self) -> None:
        work = self.keeper.keep("segment", self.session)
        if work is not None:
            work()
            self.copies += 1

    def kill(self) -> None:
        crash(self.keeper)


def again(root: Path) -> Session:
    (work,) = left_behind(root)
    session = recovered(work.folder, {"segment": segment_session().workspace})
    run(session)
    return session


def make_studio(root: Path) -> Studio:
    return Studio({"a": small_grid_model()}, keeper=RecoveryKeeper(root))


def paint(studio: Studio, *commands: Command) -> Session:
    studio.service("segment").begin()
    session = studio.session("segment")
    for command in commands:
        session.apply(command)
        for background in studio.keep():
            background.work()
    return session


def killed(studio: Studio) -> None:
    assert studio.sessions._keeper is not None
    crash(studio.sessions._keeper)
