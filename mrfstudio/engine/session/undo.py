"""Undo and redo: a stack of steps, each with the commands that take it back and where the session was before it.

One stroke, or one drag of a slider, is one step. Taking back the evidence alone would leave messages that the edit has
spoiled, so a step also holds the messages of its moment, as far as memory allows; the oldest are let go first. Steps
that hold whole pictures, which replaced ones do, are let go themselves where those are too large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.session.apply import apply_command
from mrfstudio.engine.session.held import Held, Pieces, document_pieces, pieces_in, pieces_of
from mrfstudio.engine.session.inverses import Patch
from mrfstudio.engine.session.measurements import Measurements, Taken
from mrfstudio.engine.session.timeline import Mark, Timeline

STEPS = 200
HELD = 128 * 2**20
"""Bytes that the messages of all steps may take together."""
STORED = 64 * 2**20
"""Bytes that what the steps put back may take together."""
NOT_HELD = "The messages of that moment are not held any more: they go on from what they are."

Changed = Callable[[bool], None]
"""Told of every edit; whether it restarts."""


@dataclass(frozen=True, eq=False)
class Before:
    """A session before a step: where its timeline was, and what had been measured."""

    mark: Mark
    taken: Taken

    @cached_property
    def pieces(self) -> Pieces:
        """What it keeps in memory."""
        return {**document_pieces(self.mark.origin.document), **pieces_of(self.mark.point)}


@dataclass(frozen=True)
class UndoStep:
    """What Undo shows, and what takes the step back, the last first."""

    title: str
    stroke: tuple[str, int] | None
    inverses: tuple[Command, ...]
    before: Before | None = None
    """None where the messages of that moment are not held any more."""

    @cached_property
    def stored(self) -> Pieces:
        """What its inverses put back."""
        return pieces_in(self.inverses)

    def joined(self, inverse: Command) -> UndoStep:
        """The step with a further edit of the same stroke in it."""
        first = self.inverses[-1]
        if isinstance(first, Patch) and isinstance(inverse, Patch):
            return replace(self, inverses=(*self.inverses[:-1], inverse.after(first)))
        if first.merge_key is not None and first.merge_key == inverse.merge_key:
            return self  # a slider dragged further: only where it came from counts
        return replace(self, inverses=(*self.inverses, inverse))


class UndoStack:
    """Steps that can be undone, and undone steps that can be done again."""

    def __init__(self, steps: int = STEPS, held: int = HELD, stored: int = STORED) -> None:
        self._steps, self._most_held, self._most_stored = steps, held, stored
        self._held, self._stored = Held(), Held()
        self._done: deque[UndoStep] = deque()
        self._with_messages = 0  # how many of them, the newest, hold messages
        self._undone: list[UndoStep] = []

    @classmethod
    def of_size(cls, most: int) -> UndoStack:
        """One that takes at most so many bytes: two thirds for messages, the rest for what steps put back."""
        return cls(held=2 * most // 3, stored=most // 3)

    def __len__(self) -> int:
        return len(self._done)

    @property
    def bytes(self) -> int:
        """What all steps keep in memory."""
        return self._held.bytes + self._stored.bytes

    @property
    def undo_title(self) -> str:
        return self._done[-1].title if self._done else ""

    @property
    def redo_title(self) -> str:
        return self._undone[-1].title if self._undone else ""

    def push(self, command: Command, inverse: Command, before: Before | None = None) -> None:
        """Remember how to take back a command that was just applied, and what was `before` it."""
        stroke = None if command.stroke is None else (type(command).__name__, command.stroke)
        last = self._done[-1] if self._done else None
        if last is not None and stroke is not None and last.stroke == stroke and not self._undone:
            self._append(self._pop().joined(inverse))
        else:
            self._append(UndoStep(command.title, stroke, (inverse,), before))
        self._undone.clear()

    def _append(self, step: UndoStep) -> None:
        self._done.append(step)
        self._stored.add(step.stored)
        if step.before is None:
            self.let_go(0)  # steps with messages are the newest ones, without a gap
        else:
            self._held.add(step.before.pieces)
            self._with_messages += 1
        self.let_go(self._most_held)
        while len(self._done) > self._steps or (self._stored.bytes > self._most_stored and len(self._done) > 1):
            self._drop_oldest()

    def let_go(self, most: int) -> None:
        """Let the oldest messages go until the others take at most so many bytes."""
        while self._with_messages and self._held.bytes > most:
            place = len(self._done) - self._with_messages
            self._done[place] = self._without_messages(self._done[place])

    def _without_messages(self, step: UndoStep) -> UndoStep:
        if step.before is not None:
            self._held.drop(step.before.pieces)
            self._with_messages -= 1
        return replace(step, before=None)

    def _drop_oldest(self) -> None:
        self._stored.drop(self._without_messages(self._done.popleft()).stored)

    def _pop(self) -> UndoStep:
        """Take the newest step out, with what it holds."""
        step = self._done.pop()
        self._stored.drop(step.stored)
        self._without_messages(step)
        return step

    @property
    def last(self) -> UndoStep | None:
        """The step that Undo takes back."""
        return self._done[-1] if self._done else None

    def undo(self, apply: Callable[[Command], Command | None]) -> None:
        """Take the last step back. `apply` does a command and returns its inverse, None where it changed nothing."""
        if self._done:
            again = _taken_back(self._done[-1], apply)
            self._pop()
            self._undone.append(again)

    def redo(self, apply: Callable[[Command], Command | None], before: Before | None = None) -> None:
        """Do the last undone step again."""
        if self._undone:
            back = _taken_back(self._undone[-1], apply)
            self._undone.pop()
            self._append(replace(back, before=before))


def _taken_back(step: UndoStep, apply: Callable[[Command], Command | None]) -> UndoStep:
    """The step that does `step` again. What took its last part back comes first then."""
    inverses = [apply(part) for part in reversed(step.inverses)]
    return UndoStep(step.title, None, tuple(inverse for inverse in inverses if inverse is not None))


def before_step(timeline: Timeline, measurements: Measurements) -> Before:
    """What a step must be taken back to."""
    return Before(timeline.mark(), measurements.taken())


def take_back(stack: UndoStack, timeline: Timeline, measurements: Measurements, changed: Changed) -> str:
    """Undo the last step; returns what there is to say.

    Where its messages are not held any more, its inverses are applied like any other edit, each in the log, and
    messages go on from what they are.
    """
    if stack.last is None:
        return ""
    before = stack.last.before
    if before is None:
        stack.undo(_applying(timeline, changed))
        return NOT_HELD if any(lane.edited and not lane.begins_anew for lane in timeline.point.lanes) else ""
    point = timeline.present()

    def inverse_of(part: Command) -> Command | None:
        nonlocal point
        edited = apply_command(timeline.runner, point, part)
        point = edited.point
        return edited.inverse

    stack.undo(inverse_of)  # what does it again
    timeline.return_to(before.mark)
    changed(False)
    measurements.put_back(before.taken)
    return ""


def do_again(stack: UndoStack, timeline: Timeline, measurements: Measurements, changed: Changed) -> str:
    """Redo the step that was undone last; there is nothing to say."""
    stack.redo(_applying(timeline, changed), before_step(timeline, measurements))
    return ""


def _applying(timeline: Timeline, changed: Changed) -> Callable[[Command], Command | None]:
    def apply(part: Command) -> Command | None:
        edited = timeline.apply(part)
        if edited.changed:
            changed(edited.restarts)
        return edited.inverse

    return apply
