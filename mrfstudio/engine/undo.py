"""The undo stack: for each step the commands that take it back. One stroke, or one drag of a slider, is one step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mrfstudio.engine.commands import Command
from mrfstudio.engine.document import Patch

STEPS = 200


@dataclass(frozen=True)
class UndoStep:
    """What Undo shows, and what takes the step back, the last first."""

    title: str
    stroke: tuple[str, int] | None
    inverses: tuple[Command, ...]

    def joined(self, inverse: Command) -> UndoStep:
        """The step with a further edit of the same stroke in it."""
        first = self.inverses[-1]
        if isinstance(first, Patch) and isinstance(inverse, Patch):
            return UndoStep(self.title, self.stroke, (*self.inverses[:-1], inverse.after(first)))
        if first.merge_key is not None and first.merge_key == inverse.merge_key:
            return self  # a slider dragged further: only where it came from counts
        return UndoStep(self.title, self.stroke, (*self.inverses, inverse))


class UndoStack:
    """Steps that can be undone, and undone steps that can be done again."""

    def __init__(self, steps: int = STEPS) -> None:
        self._done: deque[UndoStep] = deque(maxlen=steps)
        self._undone: list[UndoStep] = []

    def __len__(self) -> int:
        return len(self._done)

    @property
    def undo_title(self) -> str:
        return self._done[-1].title if self._done else ""

    @property
    def redo_title(self) -> str:
        return self._undone[-1].title if self._undone else ""

    def push(self, command: Command, inverse: Command) -> None:
        """Remember how to take back a command that was just applied."""
        stroke = None if command.stroke is None else (type(command).__name__, command.stroke)
        last = self._done[-1] if self._done else None
        if last is not None and stroke is not None and last.stroke == stroke and not self._undone:
            self._done[-1] = last.joined(inverse)
        else:
            self._done.append(UndoStep(command.title, stroke, (inverse,)))
        self._undone.clear()

    def to_undo(self) -> UndoStep | None:
        return self._done[-1] if self._done else None

    def to_redo(self) -> UndoStep | None:
        return self._undone[-1] if self._undone else None

    def undone(self, again: tuple[Command, ...]) -> None:
        """The last step was taken back; `again` are the inverses of what took it back."""
        step = self._done.pop()
        self._undone.append(UndoStep(step.title, None, again))

    def redone(self, back: tuple[Command, ...]) -> None:
        """The last undone step was done again; `back` takes it back once more."""
        step = self._undone.pop()
        self._done.append(UndoStep(step.title, None, back))
