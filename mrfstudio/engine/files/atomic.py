"""Files that are either wholly there or not at all."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

RECENT = 10.0
"""Seconds for which a temporary file stays whoever wrote it."""
_TEMPORARY = re.compile(r"\..+\.(\d+)-[0-9a-f]{12}\.tmp")


@contextmanager
def atomic_path(target: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path in the target's folder; when the block ends well, rename it to the target.

    The bytes reach the disk before the name does, so a crash leaves the old file or the new one. If the block or the
    renaming fails, the temporary file goes and the old target stays. What is not `durable` may be lost with the power,
    and does not wait for the disk.
    """
    target = Path(target)
    if durable:
        sweep(target.parent)
    # The same folder, because a rename is only atomic within one file system.
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{secrets.token_hex(6)}.tmp")
    # Made here and exclusively, so that nobody else's file is ever written to.
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        if durable:
            _flush(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        _flush_folder(target.parent)


def unwritable(path: str | os.PathLike[str], problem: OSError) -> str:
    """One sentence for a file that could not be written: which, why, and what to do."""
    return f"{path} cannot be written ({problem.strerror or type(problem).__name__}): choose another place."


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically, with the line ends as given."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def remove_leftovers(target: str | os.PathLike[str]) -> None:
    """Remove temporary files that a killed writer of `target` left behind. Only for the one who writes it alone."""
    target = Path(target)
    if target.parent.is_dir():
        for path in target.parent.iterdir():
            if path.name.startswith(_prefix(target)) and path.name.endswith(".tmp"):
                path.unlink(missing_ok=True)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove what writers that were killed left in a folder: temporary files whose process is gone."""
    with suppress(OSError):  # a folder that cannot be looked at has nothing to be swept by us
        names = os.listdir(folder)
        for name in names:
            found = _TEMPORARY.fullmatch(name)
            if found and not _lives(int(found.group(1)), Path(folder, name)):
                Path(folder, name).unlink(missing_ok=True)


def _lives(process: int, path: Path) -> bool:
    """Whether the writer of a temporary file may still be at work; where that is not known, for an hour."""
    if os.name != "posix":
        return time.time() - path.stat().st_mtime < 3600
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        # A folder may be shared with other machines, whose processes have other numbers.
        return time.time() - path.stat().st_mtime < RECENT
    except OSError:
        pass  # somebody else's
    return True


def _prefix(target: Path) -> str:
    return f".{target.name}."


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the new name itself durable. Windows has no such call and needs none."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
