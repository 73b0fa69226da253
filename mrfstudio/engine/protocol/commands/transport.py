"""Time and view. None of this is undoable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mrfstudio.engine.protocol.commands.base import Command


@dataclass(frozen=True)
class Transport(Command):
    undoable: ClassVar[bool] = False


@dataclass(frozen=True)
class Play(Transport):
    """Run. Where all lanes have ended, run on for as many iterations as the limit says."""


@dataclass(frozen=True)
class Pause(Transport):
    pass


@dataclass(frozen=True)
class Step(Transport):
    """`count` iterations forward, beyond the limit too, or back if negative; pauses."""

    count: int = 1


@dataclass(frozen=True)
class Scrub(Transport):
    """Go to an iteration from `Frame.oldest` to `Frame.newest`; pauses. Messages, not only beliefs, are restored.

    The evidence is shown as it was then. An edit made there starts a new branch from those messages with *all* edits
    made so far; what was computed later is forgotten.
    """

    iteration: int

    @property
    def merge_key(self) -> str | None:
        return "scrub"


@dataclass(frozen=True)
class SetSpeed(Transport):
    """Iterations a second; None is as fast as possible."""

    iterations_per_second: float | None

    @property
    def merge_key(self) -> str | None:
        return "speed"


@dataclass(frozen=True)
class Restart(Transport):
    """Restart with the same evidence and the same seed."""

    @property
    def merge_key(self) -> str | None:
        """One of several in a row is enough, and a slider whose every change restarts still coalesces."""
        return "restart"


@dataclass(frozen=True)
class Undo(Transport):
    pass


@dataclass(frozen=True)
class Redo(Transport):
    pass


@dataclass(frozen=True)
class SetView(Transport):
    """Which pictures to compute, for which rectangle (top, left, height, width; None is everything), at which stride.

    Of every label model: `belief`, `decoded`, `entropy`, `difference` (from the lane `apart`), `error`, `histogram` and
    `strip` (see `LaneFrame`), and `comparison` (see `Frame`); of a workspace what its `pictures` says, such as
    `residual`, `clone` and `ownership`. A name may carry a number, as in `sample:12`, the twelfth draw.
    """

    layers: tuple[str, ...]
    rectangle: tuple[int, int, int, int] | None = None
    inspect: tuple[int, int] | None = None
    """A pixel (row, column) whose details an inspector shows."""
    stride: int = 1
    """Every how many pixels the pictures are sampled, where the screen is coarser than the image."""
    factor: int | None = None
    """A factor of `GraphFrame` whose messages are wanted over iterations, as `LaneFrame.trace`."""
    lane: int = 0
    """The lane that `factor` is about."""
    apart: int | None = None
    """The lane that `difference` is measured from; None is the first."""
    reference: int | None = None
    """The lane that `comparison` and `error` are measured from; None is exact inference where it can be computed."""

    @property
    def merge_key(self) -> str | None:
        return "view"
