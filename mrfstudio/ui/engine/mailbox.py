"""What lies between the window and the engine's thread: commands waiting one way, a slot for frames the other.

Plain containers: `engine_thread.py` alone knows about threads and holds the lock around them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame, merge
from mrfstudio.engine.protocol.requests import Request


@dataclass(frozen=True)
class Posted:
    """A command on its way to the session of a workspace."""

    number: int
    workspace: str
    command: Command


@dataclass(frozen=True)
class Question:
    """A request on its way to the engine; its answer carries the same number."""

    number: int
    workspace: str
    request: Request[Any]


Item = Posted | Question


class CommandQueue:
    """Commands and requests in the order they were posted. Only commands with the same merge key replace each other."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._items)

    def post(self, workspace: str, command: Command) -> int:
        """Queue a command and return its number."""
        self._number += 1
        self._drop_superseded(workspace, command)
        self._items.append(Posted(self._number, workspace, command))
        return self._number

    def ask(self, workspace: str, request: Request[Any]) -> int:
        """Queue a request and return its number."""
        self._number += 1
        self._items.append(Question(self._number, workspace, request))
        return self._number

    def take(self) -> Item | None:
        """The item that waits longest, or None."""
        return self._items.popleft() if self._items else None

    def _drop_superseded(self, workspace: str, command: Command) -> None:
        """Take out the waiting command that `command` makes pointless.

        The search stops at the first item without a merge key: moving a slider past a brush stroke or an undo would
        change what happens, moving it past another slider does not.
        """
        if command.merge_key is None:
            return
        for index in range(len(self._items) - 1, -1, -1):
            item = self._items[index]
            if not isinstance(item, Posted) or item.command.merge_key is None:
                return
            if item.workspace == workspace and item.command.merge_key == command.merge_key:
                del self._items[index]
                return


class Mailbox:
    """One slot for each workspace: the newest pictures, and every scalar since the slot was last emptied."""

    def __init__(self) -> None:
        self._frames: dict[str, Frame] = {}

    def put(self, frame: Frame) -> None:
        """Store a frame."""
        waiting = self._frames.get(frame.workspace)
        self._frames[frame.workspace] = frame if waiting is None else merge(waiting, frame)

    def take(self) -> list[Frame]:
        """Empty all slots."""
        frames = list(self._frames.values())
        self._frames.clear()
        return frames
