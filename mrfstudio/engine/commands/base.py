"""What every command has."""

from __future__ import annotations

from dataclasses import dataclass
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
    def stroke(self) -> int | None:
        """Commands with the same number are one undo step."""
        return None
