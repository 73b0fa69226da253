"""Which lanes run, with which algorithm, model, parameters and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mrfstudio.engine.protocol.commands.base import Command


@dataclass(frozen=True)
class SetParameter(Command):
    """One parameter of a lane's algorithm. Changes with the same `gesture` above 0, one drag, are one undo step."""

    lane: int
    name: str
    value: Any
    gesture: int = 0

    @property
    def title(self) -> str:
        return f"Set {self.name.replace('_', ' ')}"

    @property
    def merge_key(self) -> str | None:
        return f"parameter {self.lane} {self.name}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class SetAlgorithm(Command):
    """Another algorithm for a lane; messages restart."""

    lane: int
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return "Change algorithm"


@dataclass(frozen=True)
class SetModel(Command):
    """Another model for a lane, by shipped name or path; messages restart.

    `picture` comes with a model that takes pictures of another size: a `SetImage`, or what puts a document back.
    """

    lane: int
    model: str
    picture: Command | None = None

    @property
    def title(self) -> str:
        return "Change model"

    @property
    def replaces(self) -> bool:
        return self.picture is not None


@dataclass(frozen=True)
class AddLane(Command):
    """One more lane on the same evidence, at most six. Every lane restarts, so that they run in step."""

    model: str
    algorithm: str = "bp"
    parameters: dict[str, Any] = field(default_factory=dict)
    limit: int | None = None
    """Stop after this many iterations; None follows the session."""
    number: int | None = None
    """The lane's number; None takes the smallest free one."""
    name: str = ""
    """What a person calls it; see `RenameLane`."""

    @property
    def title(self) -> str:
        return "Add lane"


@dataclass(frozen=True)
class RemoveLane(Command):
    """Take a lane away; the last one stays."""

    lane: int

    @property
    def title(self) -> str:
        return "Remove lane"


@dataclass(frozen=True)
class RenameLane(Command):
    """Call a lane by a name of one's own; an empty one goes back to the algorithm's."""

    lane: int
    name: str

    @property
    def title(self) -> str:
        return "Rename lane"


@dataclass(frozen=True)
class SetLimits(Command):
    """When lanes stop by themselves: after so many iterations since the last edit, or below the tolerance.

    Without `lane` for the session; with it a limit of iterations for that lane alone, 0 to follow the session again
    (the tolerance is always the session's).
    """

    iterations: int
    tolerance: float
    lane: int | None = None
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Set limits"

    @property
    def merge_key(self) -> str | None:
        return f"limits {self.lane}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None
