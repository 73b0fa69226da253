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

from filelock import BaseFileLock

from mrfstudio.engine.files.lock import is_locked, try_lock
from mrfstudio.engine.files.sessions.journal import Change, Journal, JournalError, read_changes, read_header
from mrfstudio.engine.files.sessions.session_file import SUFFIX, SessionImage, load_session, session_image
from mrfstudio.engine.files.sessions.zipped import ReadZip
from mrfstudio.engine.protocol.answers import Unsaved
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import Stamped
from mrfstudio.engine.workspaces.workspace import Workspace
from mrfstudio.places import user_folder

RETRY = 5.0
"""Seconds after a failed write until the next try."""
COPY_EVERY = 60.0
"""Seconds after which a session is written again, so that little has to be computed again."""
LOCK, JOURNAL, DAMAGED, GONE = "lock", ".journal", "damaged-", "gone-"

Work = Callable[[], None]
log = logging.getLogger(__name__)


# Keeping --------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _KeptSession:
    """One session on disk: what the newest journal's log says, and where it began."""

    session: Session
    folder: Path
    number: int
    journal: Journal
    origin: object
    log: list[Stamped]
    copied_at: float
    fresh: bool
    """Whether the journal says nothing without its own copy."""
    copied: bool = False
    """Whether the copy that its journal goes on from has been read back."""
    problem: str = ""
    """Why it could not be written; then all of it is written again."""


class RecoveryKeeper:
    """Keeps the unsaved work of one window. One thread uses it; only the work that it returns may run in another."""

    def __init__(self, root: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root or user_folder("recovery")
        self._clock = clock
        self._folder: Path | None = None
        self._lock: BaseFileLock | None = None
        self._kept: dict[str, _KeptSession] = {}
        self._seen: dict[str, tuple[object, ...]] = {}
        self._again_at: float | None = None  # when a write that failed is tried again
        self._told = ""

    def keep(self, workspace: str, session: Session) -> Work | None:
        """Write what was done to a session since the last call; cheap where nothing was.

        Returns work where a fresh copy of all is due: it takes a while and shares nothing with the session.
        """
        log = session.timeline.log
        seen = (session, session.timeline.origin, len(log), log[-1] if log else None)
        kept = self._kept.get(workspace)
        if kept is not None and kept.problem and self._again_at is None:
            self._fail(kept.problem)  # in the work that it had returned
        if self._again_at is not None:
            if self._clock() < self._again_at:
                return None
        elif _same(self._seen.get(workspace), seen):
            return None
        self._seen[workspace] = seen
        if kept is not None and (kept.session is not session or not session.modified):
            self.forget(workspace)
            kept = None
            self._seen[workspace] = seen
        if not session.modified:
            return None
        try:
            work = self._kept_or_copied(workspace, session, kept)
        except (OSError, StudioError) as problem:
            self._seen.pop(workspace, None)
            self._fail(_not_kept(problem))
            return None
        self._again_at = None
        if work is None and not any(each.problem for each in self._kept.values()):
            self._told = ""  # it is written; of work under way that is not known yet
        return work

    def _kept_or_copied(self, workspace: str, session: Session, kept: _KeptSession | None) -> Work | None:
        if kept is None or not kept.journal.present:  # the first time, or somebody removed the folder
            if kept is not None:
                kept.journal.close()
            if self._folder is not None and not (self._folder / LOCK).exists():
                self._folder = None
            folder = self._new_folder(workspace)
            try:
                return self._copy(workspace, session, folder, 1)
            except Exception:
                _remove(folder)  # the next try makes another one
                raise
        if kept.origin is session.timeline.origin and not kept.problem and self._again_at is None:
            self._write(kept)
            if self._clock() < kept.copied_at + COPY_EVERY:
                return None
        other, needless = kept.origin is not session.timeline.origin, kept.journal.empty and not kept.copied
        kept.journal.close()
        newest = max((_number(path) for path in kept.folder.iterdir()), default=0)
        copy = self._copy(workspace, session, kept.folder, newest + 1, other or (needless and kept.fresh))
        if needless:  # while a disk is full every try leaves one behind
            kept.journal.path.unlink(missing_ok=True)
        if not other:
            return copy
        copy()  # at once: without it the new journal belongs to nothing
        return None

    def _fail(self, sentence: str) -> None:
        """Try again soon; whoever asks is told, once for each reason."""
        self._again_at = self._clock() + RETRY
        for kept in self._kept.values():
            kept.problem = ""
        if sentence != self._told:
            self._told = sentence
            raise StudioError(sentence)

    @property
    def wait(self) -> float | None:
        """Seconds until `keep` has something to try again; None: nothing waits."""
        if self._again_at is not None:
            return max(0.0, self._again_at - self._clock())
        return 0.0 if any(kept.problem for kept in self._kept.values()) else None

    def keep_now(self, workspace: str, session: Session) -> bool:
        """Write a session at once; whether a copy of it has been read back."""
        self._seen.pop(workspace, None)
        self._again_at = None
        work = self.keep(workspace, session)
        if work is not None:
            work()
        kept = self._kept.get(workspace)
        return kept is not None and kept.session is session and kept.copied

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
            self._folder, self._lock = folder, try_lock(folder / LOCK)
        made = self._folder / f"{workspace}-{secrets.token_hex(2)}"
        made.mkdir()
        return made

    def _copy(self, workspace: str, session: Session, folder: Path, number: int, fresh: bool = True) -> Work:
        """Begin a new journal, and have the session as it is now written beside it.

        `fresh`: it began again, so that the journal says nothing without this copy.
        """
        image = session_image(session)
        header = {"workspace": workspace, "file": session.file, "fresh": fresh}
        journal = Journal(folder / f"{number}{JOURNAL}", header)
        timeline = session.timeline
        kept = _KeptSession(session, folder, number, journal, timeline.origin, list(timeline.log), self._clock(), fresh)
        self._kept[workspace] = kept
        return lambda: _write_copy(image, kept)

    def _write(self, kept: _KeptSession) -> None:
        timeline = kept.session.timeline
        log, before = timeline.log, kept.log
        same = len(before)
        if same and (len(log) < same or log[same - 1] is not before[-1]):
            same = next((i for i, (a, b) in enumerate(zip(log, before, strict=False)) if a is not b), len(log))
        kept.journal.add(Change(same, tuple(log[same:]), timeline.newest))
        kept.log = list(log)


def _same(one: tuple[object, ...] | None, other: tuple[object, ...]) -> bool:
    return one is not None and all(a is b or (isinstance(a, int) and a == b) for a, b in zip(one, other, strict=True))


def _write_copy(image: SessionImage, kept: _KeptSession) -> None:
    """Write a copy and read it back; only then what came before it goes. Nothing where the work was saved meanwhile."""
    path = kept.folder / f"{kept.number}{SUFFIX}"
    try:
        image.write(path)
        _read_back(path)
    except Exception as problem:
        if kept.folder.exists():
            kept.problem = _not_kept(problem)
        return
    kept.copied = True
    for old in kept.folder.iterdir():
        if 0 < _number(old) < kept.number:
            old.unlink(missing_ok=True)


def _read_back(path: Path) -> None:
    """Every part of a copy, with its checksum. Raises what reading raises."""
    with ReadZip(path) as archive:
        archive.text("session.json")
        for name in archive.names - {"session.json"}:
            archive.arrays(name)


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
    if not works and not any(map(_holds_something, window.glob("*/*"))):
        _remove(window)  # killed before anything was written
    return works


def _holds_something(path: Path) -> bool:
    """Whether a file is a copy, or a journal with more in it than its first line."""
    return path.suffix == SUFFIX or (path.suffix == JOURNAL and path.read_bytes().count(b"\n") > 1)


def _described(folder: Path) -> Unsaved | None:
    number = _newest_copy(folder)
    if number is None or folder.name.startswith(GONE):
        return None
    journals = _journals(folder, number)
    changed = max(path.stat().st_mtime for path in (folder / f"{number}{SUFFIX}", *journals))
    header = _header(journals)
    name = Path(str(header.get("file") or "")).name or _name_of(folder / f"{number}{SUFFIX}")
    workspace = str(header.get("workspace") or folder.name.rpartition("-")[0])
    return Unsaved(str(folder.parent), str(folder), workspace, name, changed)


def _header(journals: list[Path]) -> dict[str, Any]:
    """What a journal says about its session; nothing where it is damaged: that must not hide the session."""
    try:
        return read_header(journals[0]) if journals else {}
    except JournalError:
        log.warning("%s cannot be read", journals[0], exc_info=True)
        return {}


def _name_of(copy: Path) -> str:
    """What a person would call the session; the log knows pictures that were opened since it began."""
    try:
        with ReadZip(copy) as archive:
            described = archive.text("session.json")
        opened = [entry["name"] for entry in described["log"] if entry.get("do") in ("SetImage", "SetPhotograph")]
        return str([described["origin"]["name"], *opened][-1])
    except Exception:
        return ""  # a name is not worth an error; recovering says what is wrong


def _newest_copy(folder: Path) -> int | None:
    copies = [_number(path) for path in folder.iterdir() if path.suffix == SUFFIX] if folder.is_dir() else []
    return max(copies, default=None)


def _journals(folder: Path, since: int) -> list[Path]:
    found = [path for path in folder.iterdir() if path.suffix == JOURNAL and _number(path) >= since]
    return sorted(found, key=_number)


def _belonging(journals: list[Path], number: int) -> list[Path]:
    """The journals that go on from a copy: up to the first that needs a later one, which was never written."""
    later = (i for i, path in enumerate(journals) if _number(path) > number and _header([path]).get("fresh"))
    return journals[: next(later, len(journals))]


def recovered(folder: str | Path, workspaces: Mapping[str, Workspace] | None = None) -> Session:
    """The session that a folder of a workspace holds, with all that its journals say. Raises `StudioError`."""
    folder = Path(folder)
    number = _newest_copy(folder)
    if number is None:
        raise StudioError(f"{folder} holds no session: it was removed, or recovered by another window.")
    journals = _journals(folder, number)
    changes = [change for path in _belonging(journals, number) for change in read_changes(path)]
    session = load_session(folder / f"{number}{SUFFIX}", workspaces, changes, own=True)
    session.file = str(_header(journals).get("file") or "")
    session.mark_unsaved()
    session.playing = True  # the crash came in the middle of something
    return session


@contextmanager
def taken_over(window: str | Path) -> Iterator[None]:
    """Claim what a window left behind. Raises `StudioError` where another one is faster."""
    path = Path(window) / LOCK
    lock = try_lock(path) if path.exists() else None
    if lock is None:
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
