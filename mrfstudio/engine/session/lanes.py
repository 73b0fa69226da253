"""Lanes, and the points on a timeline: values, and nothing of how they are computed.

A point is a frozen value: the document, the limits and every lane with its messages. `LaneRunner.tick` and
`apply_command` map one point to the next without side effects, so playing, stepping back, scrubbing and replaying a
file are the same code.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

from torch import Tensor

from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.session.document import Document

Ending = Literal["running", "converged", "settled", "idle", "iteration limit", "stopped"]
"""`settled`: a plan of iterations, coarse to fine, is at its end, and what it iterates rests. `idle`: there was
nothing to compute from."""

WATCHED = 30
"""Iterations after which a residual that does not fall is diverging: information needs some to cross an image."""
NOISE = 1e-3  # a residual below this that no longer falls is rounding, not divergence
PACE_OVER = 64  # iterations that a lane's pace is taken over
CACHED = 2  # documents whose evidence is kept: what is derived from it can be as large as messages of one direction

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Lane:
    """A model, an algorithm and where they are. `state` None: not begun yet."""

    number: int
    model_name: str
    model: Any
    algorithm: Algorithm
    limit: int | None = None
    """Iterations of this lane alone; None follows the session."""
    name: str = ""
    """What a person calls it."""
    state: State | None = None
    previous: State | None = None
    """The state before the last step, for pictures of the change. History does not keep it."""
    iteration: int = 0
    """The session's iteration at which this lane last stepped."""
    base: int = 0
    """The session's iteration at which evidence or parameters last changed."""
    done: int = 0
    """Steps since then."""
    extra: int = 0
    """Steps allowed beyond the limit, because a person went on."""
    status: Ending = "running"
    message: str = ""
    residuals: tuple[float, ...] = ()
    """The last ones since `base`; of steps that prepare a start, the last one alone."""
    edited: bool = False
    """Whether evidence changed since the last step."""

    @property
    def stepped(self) -> bool:
        return self.state is not None and self.state.iteration > 0

    @property
    def residual(self) -> float | None:
        value = math.inf if self.state is None else self.algorithm.residual(self.state)
        return value if math.isfinite(value) else None

    @property
    def begins_anew(self) -> bool:
        """Whether the next step needs nothing of the messages that are there."""
        return self.edited and self.algorithm.begins_anew

    @property
    def diverging(self) -> bool:
        """Whether the residual has grown or oscillated since half of `WATCHED` iterations."""
        if self.algorithm.sampling or len(self.residuals) < WATCHED or min(self.residuals) < NOISE:
            return False
        if self.state is not None and self.state.steadied:
            return False
        # An optimiser's disagreements wait for the end of its plan.
        if self.algorithm.planned is not None or self.algorithm.staged:
            return False
        half = WATCHED // 2
        return math.fsum(self.residuals[half:]) > 0.99 * math.fsum(self.residuals[:half])


@dataclass(frozen=True, eq=False)
class TimelinePoint:
    """Everything that a session's further course depends on."""

    iteration: int
    document: Document
    lanes: tuple[Lane, ...]
    limits: Limits

    @property
    def active(self) -> bool:
        """Whether a tick would step any lane."""
        return any(lane.status == "running" for lane in self.lanes)

    def lane(self, number: int) -> Lane:
        for lane in self.lanes:
            if lane.number == number:
                return lane
        known = ", ".join(str(lane.number) for lane in self.lanes)
        raise StudioError(f"There is no lane {number}: expected one of {known}.")

    def with_lane(self, changed: Lane) -> TimelinePoint:
        return replace(self, lanes=tuple(changed if lane.number == changed.number else lane for lane in self.lanes))

    def limit(self, lane: Lane) -> int:
        """Steps after `base` at which a lane ends."""
        return (self.limits.iterations if lane.limit is None else lane.limit) + lane.extra

    def same_work(self, other: TimelinePoint) -> bool:
        """Whether a person gave both the same: evidence, limits, models, algorithms and names, wherever they are."""
        mine, theirs = (
            [(lane.number, lane.model_name, lane.algorithm, lane.limit, lane.name) for lane in point.lanes]
            for point in (self, other)
        )
        return self.limits == other.limits and mine == theirs and self.document.same(other.document)

    def same_but_for_sliders(self, other: TimelinePoint) -> bool:
        """Whether both differ at most in numbers that a slider sets: nobody would call moving one work."""
        mine, theirs = (
            [(lane.number, lane.model_name, lane.algorithm.name, lane.name) for lane in point.lanes]
            for point in (self, other)
        )
        document, graph = self.document, other.document.graph
        if document.graph is not None and graph is not None:
            document = replace(document, graph=replace(document.graph, strengths=graph.strengths))
        return mine == theirs and document.same(other.document)

    @property
    def begins_anew(self) -> bool:
        """Whether what follows needs nothing of the messages that are there."""
        return any(lane.stepped for lane in self.lanes) and all(
            lane.begins_anew or not lane.stepped for lane in self.lanes
        )

    def lean(self) -> TimelinePoint:
        """The same without what history need not keep: states can be made again from none, pictures of changes too."""
        lanes = (replace(lane, previous=None, state=lane.state if lane.stepped else None) for lane in self.lanes)
        return replace(self, lanes=tuple(lanes))

    def bare_lanes(self) -> tuple[Lane, ...]:
        """The lanes of a point that `begins_anew` without messages: enough to go on from, not to be shown."""
        states = [lane.algorithm.counted(lane.state) if lane.state and lane.stepped else None for lane in self.lanes]
        return tuple(replace(lane, previous=None, state=s) for lane, s in zip(self.lanes, states, strict=True))


def state_tensors(state: State) -> list[tuple[str, Tensor]]:
    """The tensors of a state by field name; those in a tuple as `name[0]`, `name[1]`, …"""
    found = []
    for field in fields(state):
        value = getattr(state, field.name)
        if isinstance(value, Tensor):
            found.append((field.name, value))
        elif isinstance(value, tuple):
            found += [(f"{field.name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, Tensor)]
    return found


def compatible(state: State, other: State) -> bool:
    """Whether a run can go on from `state` where it would have begun with `other`: same class, same shapes."""
    if type(state) is not type(other):
        return False
    theirs = dict(state_tensors(other))
    mine = [(n, tensor) for n, tensor in state_tensors(state) if n in theirs and n not in state.remembered]
    return all((tensor.shape, tensor.dtype) == (theirs[name].shape, theirs[name].dtype) for name, tensor in mine)


def make_algorithm(name: str, parameters: dict[str, Any]) -> Algorithm:
    """A registered algorithm with some parameters set. Raises `StudioError`."""
    algorithm = ALGORITHMS[name]().replace(**parameters)
    return cast(Algorithm, algorithm)
