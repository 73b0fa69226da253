"""Files that are either wholly there or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the target's folder; when the block ends well, rename it to the target.

    The bytes reach the disk before the name does, so a crash leaves the old file or the new one. If the block or the
    renaming fails, the temporary file goes and the old target stays.
    """
    target = Path(target)
    # The same folder, because a rename is only atomic within one file system.
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(6)}.tmp")
    # Made here and exclusively, so that nobody else's file is ever written to.
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
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
