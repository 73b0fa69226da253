"""Unsaved work outlives the program: each window keeps a journal of its sessions, and the next one finds it.

    recovery/WINDOW/lock                       locked for as long as the window lives
    recovery/WINDOW/WORKSPACE-XXXX/N.mrfs      the session as it was, messages among it, about once a minute
    recovery/WINDOW/WORKSPACE-XXXX/N.journal   every change since then

A window that closes in order removes its folder. A folder whose lock nobody holds was left behind by a program that
was killed.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrfstudio.engine.answers import Unsaved
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.journal import Change, Journal, read_changes, read_header
from mrfstudio.engine.files.lock import FileLock, is_locked
from mrfstudio.engine.files.places import user_folder
from mrfstudio.engine.files.session_file import DAMAGE, SUFFIX, SessionImage, load_session, session_image
from mrfstudio.engine.files.zipped import ReadZip
from mrfstudio.engine.session import Session
from mrfstudio.engine.timeline import Stamped
from mrfstudio.engine.workspaces.contract import Workspace

COPY_EVERY = 60.0
"""Seconds after which a session is written anew, so that little has to be computed again."""
LOCK, JOURNAL, DAMAGED, GONE = "lock", ".journal", "damaged-", "gone-"

Work = Callable[[], None]
log = logging.getLogger(__name__)


# Keeping --------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Kept:
    """One session on disk: what the newest journal's log says, and where it began."""

    session: Session
    folder: Path
    number: int
    journal: Journal
    origin: object
    log: list[Stamped]
    copied_at: float


class Keeper:
    """Keeps the unsaved work of one window. One thread uses it; only the work that it returns may run in another."""

    def __init__(self, root: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root or user_folder("recovery")
        self._clock = clock
        self._folder: Path | None = None
        self._lock: FileLock | None = None
        self._kept: dict[str, _Kept] = {}
        self._seen: dict[str, tuple[object, ...]] = {}
        self._failed = False

    def keep(self, workspace: str, session: Session) -> Work | None:
        """Write what was done to a session since the last call; cheap where nothing was.

        Returns work where a fresh copy of all is due: it takes a while and shares nothing with the session.
        """
        log = session.timeline.log
        seen = (session, session.timeline.origin, len(log), log[-1] if log else None)
        if self._failed or _same(self._seen.get(workspace), seen):
            return None
        self._seen[workspace] = seen
        kept = self._kept.get(workspace)
        if kept is not None and (kept.session is not session or not session.modified):
            self.forget(workspace)
            kept = None
            self._seen[workspace] = seen
        if not session.modified:
            return None
        try:
            if kept is None:
                return self._copy(workspace, session, self._new_folder(workspace), 1)
            if kept.origin is session.timeline.origin:
                self._write(kept)
                if self._clock() < kept.copied_at + COPY_EVERY:
                    return None
            kept.journal.close()
            return self._copy(workspace, session, kept.folder, kept.number + 1)
        except OSError as problem:
            self._failed = True
            raise StudioError(_not_kept(problem)) from problem

    def forget(self, workspace: str) -> None:
        """The session was saved, or replaced by another: there is nothing to recover."""
        kept = self._kept.pop(workspace, None)
        self._seen.pop(workspace, None)
        if kept is not None:
            kept.journal.close()
            _remove(kept.folder)

    def close(self) -> None:
        """The window closes in order."""
        for workspace in list(self._kept):
            self.forget(workspace)
        if self._lock is not None:
            self._lock.release()  # before its folder goes: some systems remove nothing that is open
        if self._folder is not None:
            _remove(self._folder)
        self._folder = self._lock = None

    def _new_folder(self, workspace: str) -> Path:
        if self._folder is None:
            folder = self.root / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
            folder.mkdir(parents=True)
            lock = FileLock(folder / LOCK)
            lock.acquire()
            self._folder, self._lock = folder, lock
        made = self._folder / f"{workspace}-{secrets.token_hex(2)}"
        made.mkdir()
        return made

    def _copy(self, workspace: str, session: Session, folder: Path, number: int) -> Work:
        """Begin a new journal, and have the session as it is now written beside it."""
        image = session_image(session)
        header = {"workspace": workspace, "file": session.file}
        journal = Journal(folder / f"{number}{JOURNAL}", header)
        timeline = session.timeline
        kept = _Kept(session, folder, number, journal, timeline.origin, list(timeline.log), self._clock())
        self._kept[workspace] = kept
        return lambda: _write_copy(image, folder, number)

    def _write(self, kept: _Kept) -> None:
        timeline = kept.session.timeline
        log, before = timeline.log, kept.log
        same = len(before)
        if same and (len(log) < same or log[same - 1] is not before[-1]):
            same = next((i for i, (a, b) in enumerate(zip(log, before, strict=False)) if a is not b), len(log))
        kept.journal.add(Change(same, tuple(log[same:]), timeline.newest))
        kept.log = list(log)


def _same(one: tuple[object, ...] | None, other: tuple[object, ...]) -> bool:
    return one is not None and all(a is b or (isinstance(a, int) and a == b) for a, b in zip(one, other, strict=True))


def _write_copy(image: SessionImage, folder: Path, number: int) -> None:
    """Write a copy; what came before it is then not needed any more. Nothing where the work was saved meanwhile."""
    try:
        image.write(folder / f"{number}{SUFFIX}")
    except StudioError as problem:
        if folder.exists():
            raise StudioError(_not_kept(problem)) from problem
        return
    for path in folder.iterdir():
        if _number(path) < number:
            path.unlink(missing_ok=True)


def _not_kept(problem: Exception) -> str:
    reason = getattr(problem, "strerror", None) or problem
    return f"Unsaved work cannot be kept for the case of a crash ({reason}): save it often."


def _remove(folder: Path) -> None:
    """Remove a folder at once for everybody who looks, though somebody may still be writing to it."""
    gone = folder.with_name(f"{GONE}{folder.name}")
    with suppress(OSError):
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _number(path: Path) -> int:
    return int(path.stem) if path.suffix in (SUFFIX, JOURNAL) and path.stem.isdigit() else 0


# Recovering -----------------------------------------------------------------------------------------------------------


def left_behind(root: Path | None = None) -> tuple[Unsaved, ...]:
    """Unsaved work of windows that did not close in order, the newest first; `Unsaved.window` says which belong."""
    root = root or user_folder("recovery")
    found: list[Unsaved] = []
    for window in sorted(root.iterdir()) if root.is_dir() else []:
        try:
            found += _left_by(window)
        except OSError:  # a folder that cannot be read must not hide the others, nor greet a person with an error
            log.warning("%s cannot be looked at", window, exc_info=True)
    return tuple(sorted(found, key=lambda work: work.changed, reverse=True))


def _left_by(window: Path) -> list[Unsaved]:
    if window.name.startswith((DAMAGED, GONE)) or not (window / LOCK).exists() or is_locked(window / LOCK):
        return []
    works = [work for work in map(_described, sorted(window.iterdir())) if work is not None]
    if not works:  # killed before anything was written
        _remove(window)
    return works


def _described(folder: Path) -> Unsaved | None:
    number = _newest_copy(folder)
    if number is None or folder.name.startswith(GONE):
        return None
    journals = _journals(folder, number)
    changed = max(path.stat().st_mtime for path in (folder / f"{number}{SUFFIX}", *journals))
    header: dict[str, Any] = read_header(journals[0]) if journals else {}
    name = Path(str(header.get("file") or "")).name or _name_of(folder / f"{number}{SUFFIX}")
    workspace = str(header.get("workspace") or folder.name.rpartition("-")[0])
    return Unsaved(str(folder.parent), str(folder), workspace, name, changed)


def _name_of(copy: Path) -> str:
    """What a person would call the session; the log knows pictures that were opened since it began."""
    try:
        with ReadZip(copy) as archive:
            described = archive.text("session.json")
        opened = [entry["name"] for entry in described["log"] if entry.get("do") == "SetImage"]
        return str([described["origin"]["name"], *opened][-1])
    except (OSError, *DAMAGE):
        return ""  # a name is not worth an error; recovering says what is wrong


def _newest_copy(folder: Path) -> int | None:
    copies = [_number(path) for path in folder.iterdir() if path.suffix == SUFFIX] if folder.is_dir() else []
    return max(copies, default=None)


def _journals(folder: Path, since: int) -> list[Path]:
    found = [path for path in folder.iterdir() if path.suffix == JOURNAL and _number(path) >= since]
    return sorted(found, key=_number)


def recovered(folder: str | Path, workspaces: Mapping[str, Workspace] | None = None) -> Session:
    """The session that a folder of a workspace holds, with all that its journals say. Raises `StudioError`."""
    folder = Path(folder)
    number = _newest_copy(folder)
    if number is None:
        raise StudioError(f"{folder} holds no session: it was removed, or recovered by another window.")
    journals = _journals(folder, number)
    try:
        changes = [change for path in journals for change in read_changes(path)]
    except (OSError, *DAMAGE) as problem:
        raise StudioError(f"{folder} cannot be read ({problem}): it stays there.") from problem
    session = load_session(folder / f"{number}{SUFFIX}", workspaces, changes)
    session.file = str((read_header(journals[0]) if journals else {}).get("file") or "")
    session.mark_unsaved()
    session.playing = True  # the crash came in the middle of something
    return session


@contextmanager
def taken_over(window: str | Path) -> Iterator[None]:
    """Claim what a window left behind. Raises `StudioError` where another one is faster."""
    path = Path(window) / LOCK
    lock = FileLock(path)
    if not path.exists() or not lock.acquire():
        raise StudioError("Another window is recovering this work already.")
    try:
        yield
    finally:
        lock.release()


def discard(window: str | Path) -> None:
    """Throw away what a window left behind."""
    _remove(Path(window))


def put_aside(window: str | Path) -> Path:
    """Keep what cannot be recovered, without offering it again; returns where."""
    window = Path(window)
    return window.rename(window.with_name(f"{DAMAGED}{window.name}"))
