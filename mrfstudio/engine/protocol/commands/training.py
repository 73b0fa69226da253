"""What a lesson does in a workspace that has runs instead of a session. The window turns these into requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mrfstudio.engine.protocol.commands.transport import Transport


@dataclass(frozen=True)
class TrainingCommand(Transport):
    """Base: no session applies it, and it cannot be undone."""


@dataclass(frozen=True)
class ShowPlan(TrainingCommand):
    """Fill in the plan of the next run, in the words of `TrainingPlan`; while a run goes on, nothing happens."""

    model: str
    learner: str
    data: str
    minutes: float | None = None
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StartTraining(ShowPlan):
    """Begin a run with such a plan."""


@dataclass(frozen=True)
class SetLearner(TrainingCommand):
    """A parameter of the learner while its run goes on."""

    name: str
    value: Any


@dataclass(frozen=True)
class StopTraining(TrainingCommand):
    """End the run that goes on; what it learned is kept."""
