"""Which processes this one has started and not yet seen the end of."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path


def child_processes() -> set[int]:
    """Numbers of all children, also of those that `multiprocessing` did not start."""
    children = {child.pid or 0 for child in multiprocessing.active_children()}
    for thread in Path(f"/proc/{os.getpid()}/task").glob("*"):
        children.update(_started_by(thread))
    return children


def _started_by(thread: Path) -> set[int]:
    try:
        return {int(number) for number in (thread / "children").read_text().split()}
    except (
        FileNotFoundError,
        ProcessLookupError,
    ):  # it ended since it was listed: its children are another thread's now
        return set()
