"""What every command has, and numbers for gestures: one stroke or one drag of a slider is one step of undo."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from typing import ClassVar


@dataclass(frozen=True)
class Command:
    """Base. `title` is what Edit → Undo shows."""

    undoable: ClassVar[bool] = True

    @property
    def title(self) -> str:
        return type(self).__name__

    @property
    def merge_key(self) -> str | None:
        """Waiting commands with the same key are one: only the newest is applied."""
        return None

    @property
    def replaces(self) -> bool:
        """Whether another picture or graph takes the place of what was there: a new document, with no file yet."""
        return False

    @property
    def stroke(self) -> int | None:
        """Commands with the same number are one undo step."""
        return None


# Gestures of two canvases, or of a session opened again, must not join: numbers go on from the clock, not from one.
_numbers = count(time.time_ns() // 1_000_000)


def next_gesture() -> int:
    """A number that no other gesture has."""
    return next(_numbers)
