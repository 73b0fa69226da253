"""Questions of the Train workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.engine.protocol.requests.base import Request
from mrfstudio.engine.protocol.training import (
    LivePlane,
    ParameterHistory,
    RunNote,
    RunUpdate,
    RunView,
    Snapshot,
    TrainingChoices,
    TrainingPlan,
)


@dataclass(frozen=True)
class ListChoices(Request[TrainingChoices]):
    """What a plan can be made of."""


@dataclass(frozen=True)
class ListRuns(Request[tuple[RunNote, ...]]):
    """Every run, the newest first."""


@dataclass(frozen=True)
class OpenRun(Request[RunView]):
    """A run as its files tell it."""

    run: str


@dataclass(frozen=True)
class ReadSnapshot(Request[Snapshot]):
    """The answers and pictures of a step."""

    run: str
    step: int


@dataclass(frozen=True)
class ReadPlane(Request[LivePlane | None]):
    """The plane of a run that goes on, if there is one of a later step than `after`."""

    run: str
    after: int


@dataclass(frozen=True)
class ReadParameters(Request[ParameterHistory]):
    """How the parameters of a run have spread out over its snapshots."""

    run: str


@dataclass(frozen=True)
class RenameRun(Request[RunNote]):
    """Give a run another name."""

    run: str
    name: str


@dataclass(frozen=True)
class DeleteRuns(Request[None]):
    """Take runs away; `RestoreRuns` brings them back, for an hour."""

    runs: tuple[str, ...]


@dataclass(frozen=True)
class RestoreRuns(Request[None]):
    """Bring back runs that were deleted."""

    runs: tuple[str, ...]


@dataclass(frozen=True)
class UseRun(Request[ModelNote]):
    """Hand a model over by a name that every workspace and command knows: that of a step, or the best one."""

    run: str
    step: int | None = None


@dataclass(frozen=True, eq=False)
class StartRun(Request[RunNote]):
    """Begin a new run."""

    plan: TrainingPlan
    name: str = ""


@dataclass(frozen=True)
class ResumeRun(Request[RunNote]):
    """Go on with a run that was stopped or interrupted, or with one that has ended for so many `minutes` more."""

    run: str
    minutes: float = 0.0


@dataclass(frozen=True)
class SteerRun(Request[None]):
    """What the running run shall do after its batch."""

    verb: Literal["pause", "resume", "step", "stop"]


@dataclass(frozen=True)
class ChangeLearner(Request[None]):
    """New values of the learner's parameters for the running run."""

    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PaintPoints(Request[None]):
    """Points in the plane for the running run to learn from: (x, y) to add, discs (x, y, radius) to empty."""

    add: tuple[tuple[float, float], ...] = ()
    erase: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class PollRun(Request[RunUpdate | None]):
    """Everything that has arrived from the running run; None where there is none. The last one tells its end."""


@dataclass(frozen=True)
class CancelRun(Request[None]):
    """End the run's process at once; what its last checkpoint kept stays, and it can be resumed from there."""
