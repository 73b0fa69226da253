"""Locks that the system gives up when their holder dies, however it dies: `filelock`, asked without waiting."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout


def try_lock(path: str | os.PathLike[str], seconds: float = 0.0) -> BaseFileLock | None:
    """The lock on a file, tried for so long; None if another process has it. The file itself stays behind."""
    lock = FileLock(path, thread_local=False)  # the thread that gives it up may be another one
    try:
        lock.acquire(timeout=seconds, poll_interval=0.02)
    except Timeout:
        return None
    return lock


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a living process holds the lock on this file."""
    if not Path(path).exists():
        return False
    probe = try_lock(path)
    if probe is None:
        return True
    probe.release()
    return False
