"""A lock on a file that the system itself gives up when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

RETRY_SECONDS = 0.02


class FileLock:
    """Held by one process at a time. The file stays behind; only the lock on it means something."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def acquire(self, seconds: float = 0.0) -> bool:
        """Take it, trying for so long; False if somebody else has it."""
        if self.held:
            return True
        end = time.monotonic() + seconds
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o644)
        while not _try(handle):
            if time.monotonic() >= end:
                os.close(handle)
                return False
            time.sleep(RETRY_SECONDS)
        self._handle = handle
        return True

    def release(self) -> None:
        """Give it up; closing the file does that on every system."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a living process holds the lock on this file."""
    if not Path(path).exists():
        return False
    probe = FileLock(path)
    if not probe.acquire():
        return True
    probe.release()
    return False


if sys.platform == "win32":
    import msvcrt

    def _try(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
