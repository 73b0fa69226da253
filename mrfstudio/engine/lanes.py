"""Lanes and moments: what one tick of a session computes, and nothing of how it got there.

A moment is a frozen value: the document, the limits and every lane with its messages. `Stage.tick` and `Stage.edit` map
one moment to the next without side effects, so playing, stepping back, scrubbing and replaying a file are the same
code.
"""

from __future__ import annotations

import logging
import math
import statistics
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor

from mrfstudio.engine.document import Document
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import AnyEvidence
from mrfstudio.engine.inference.contract import Algorithm, State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.interruption import Interrupted
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.threads import WORTH_TWO
from mrfstudio.engine.workspaces.contract import LaneView, Workspace

Ending = Literal["running", "converged", "iteration limit", "stopped"]

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
    """The last ones since `base`."""
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
    def diverging(self) -> bool:
        """Whether the residual has grown or oscillated since half of `WATCHED` iterations."""
        if self.algorithm.sampling or len(self.residuals) < WATCHED or min(self.residuals) < NOISE:
            return False
        if self.algorithm.planned is not None:  # an optimiser's disagreements wait for the end of its plan
            return False
        half = WATCHED // 2
        return math.fsum(self.residuals[half:]) > 0.99 * math.fsum(self.residuals[:half])


@dataclass(frozen=True, eq=False)
class Moment:
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

    def with_lane(self, changed: Lane) -> Moment:
        return replace(self, lanes=tuple(changed if lane.number == changed.number else lane for lane in self.lanes))

    def limit(self, lane: Lane) -> int:
        """Steps after `base` at which a lane ends."""
        return (self.limits.iterations if lane.limit is None else lane.limit) + lane.extra

    def same_work(self, other: Moment) -> bool:
        """Whether a person gave both the same: evidence, limits, models, algorithms and names, wherever they are."""
        mine, theirs = (
            [(lane.number, lane.model_name, lane.algorithm, lane.limit, lane.name) for lane in moment.lanes]
            for moment in (self, other)
        )
        return self.limits == other.limits and mine == theirs and self.document.same(other.document)

    def lean(self) -> Moment:
        """The same without what history need not keep: states can be made again from none, pictures of changes too."""
        lanes = (replace(lane, previous=None, state=lane.state if lane.stepped else None) for lane in self.lanes)
        return replace(self, lanes=tuple(lanes))


class Stage:
    """Computes moments. Holds what is derived from them: evidence and views, each made once."""

    def __init__(self, workspace: Workspace, threads: int | None = None) -> None:
        self.workspace = workspace
        # Sums depend on how many threads share them: history recomputes bit-equal messages only with the same number.
        self.threads = threads or torch.get_num_threads()
        # By identity of document and model, both kept alive here so that identities stay theirs.
        self._evidence: OrderedDict[int, tuple[Document, dict[int, tuple[Any, AnyEvidence]]]] = OrderedDict()
        self._views: dict[int, LaneView] = {}
        self._pace: dict[tuple[int, str], deque[float]] = {}
        self._stepped: tuple[Moment, list[Lane]] | None = None  # lanes of an interrupted tick that are done

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        """What a document says to a model. Raises `ContradictoryEvidence`."""
        _, made = self._evidence.setdefault(id(document), (document, {}))
        if id(model) not in made:
            made[id(model)] = (model, self.workspace.evidence(document, model))
        self._evidence.move_to_end(id(document))
        while len(self._evidence) > CACHED:
            self._evidence.popitem(last=False)
        return made[id(model)][1]

    def view(self, moment: Moment, lane: Lane) -> LaneView | None:
        """The lane as its workspace sees it; None if it could not begin."""
        if lane.state is None:
            return None
        known = self._views.get(lane.number)
        same = known is not None and known.state is lane.state and known.document is moment.document
        if known is not None and same and known.algorithm == lane.algorithm and known.previous is lane.previous:
            return known
        evidence = self.evidence(moment.document, lane.model)
        view = LaneView(moment.document, lane.model, lane.algorithm, evidence, lane.state, lane.previous)
        self._views[lane.number] = view
        return view

    # Time -------------------------------------------------------------------------------------------------------------

    def begun(self, moment: Moment) -> Moment:
        """The moment with a state in every lane that can have one."""
        if all(lane.state is not None or lane.status == "stopped" for lane in moment.lanes):
            return moment
        return replace(moment, lanes=tuple(self._begun(moment, lane) for lane in moment.lanes))

    def _begun(self, moment: Moment, lane: Lane) -> Lane:
        if lane.state is not None or lane.status == "stopped":
            return lane
        try:
            return replace(lane, state=self.first_state(moment.document, lane))
        except StudioError as error:
            return _stopped(lane, str(error))

    def first_state(self, document: Document, lane: Lane) -> State:
        """The state before the first step. Raises `StudioError` where algorithm, model and evidence do not fit."""
        with torch.no_grad(), self.pinned(None):
            return lane.algorithm.init(lane.model, self.evidence(document, lane.model))

    def tick(self, moment: Moment) -> Moment:
        """One iteration of every lane that runs.

        May raise `Interrupted`. Asked again for the same moment, it goes on with the lane it was at.
        """
        moment = self.begun(moment)
        if self._stepped is None or self._stepped[0] is not moment:
            self._stepped = moment, []
        done = self._stepped[1]
        for lane in moment.lanes[len(done) :]:
            done.append(self._step(moment, lane) if lane.status == "running" else lane)
        self._stepped = None
        return replace(moment, lanes=tuple(done), iteration=moment.iteration + 1)

    def _step(self, moment: Moment, lane: Lane) -> Lane:
        iteration = moment.iteration + 1
        began = time.perf_counter()
        try:
            state = self._next_state(moment.document, lane)
        except StudioError as error:
            return _stopped(lane, f"Stopped before iteration {iteration}: {error}")
        except Interrupted:
            raise
        except Exception as error:  # a fault in one algorithm must not take the session and the other lanes with it
            log.exception("Iteration %d of lane %d failed", iteration, lane.number)
            return _stopped(lane, f"An internal error, written to the log, stopped iteration {iteration}: {error}")
        residual = lane.algorithm.residual(state)
        taken = self._pace.setdefault((lane.number, lane.algorithm.name), deque(maxlen=PACE_OVER))
        taken.append(time.perf_counter() - began)
        if math.isnan(residual):
            where = self._not_finite(moment.document, lane, state)
            return _stopped(lane, f"Iteration {iteration} left the range of finite numbers at {where}; try damping.")
        done = lane.done + 1
        status: Ending = "running"
        if residual < moment.limits.tolerance or lane.algorithm.single_step:
            status = "converged"
        elif done >= moment.limit(lane):
            status = "iteration limit"
        residuals = (*lane.residuals, residual)[-WATCHED:]
        step = dict(state=state, previous=lane.state, iteration=iteration, done=done, residuals=residuals)
        return replace(lane, **cast("dict[str, Any]", step), status=status, edited=False)

    def pace(self, lane: Lane) -> float | None:
        """Seconds of one iteration of a lane, the median of the last ones; None before the first."""
        taken = self._pace.get((lane.number, lane.algorithm.name))
        return statistics.median(taken) if taken else None

    def _next_state(self, document: Document, lane: Lane) -> State:
        assert lane.state is not None
        evidence, state = self.evidence(document, lane.model), lane.state
        with torch.no_grad(), self.pinned(state):
            if lane.edited:
                state = lane.algorithm.resume(lane.model, evidence, state)
            return lane.algorithm.step(lane.model, evidence, state)

    def _not_finite(self, document: Document, lane: Lane, state: State) -> str:
        for name, tensor in state_tensors(state):
            # -inf is a forbidden state, not an accident.
            bad = tensor.isnan() | tensor.isposinf()
            if name != "residual" and bool(bad.any()):
                index = tuple(int(i) for i in bad.nonzero()[0])
                return self.workspace.place(document, lane.model, name, index)
        return "an unknown place"

    @contextmanager
    def pinned(self, state: State | None) -> Iterator[None]:
        """Compute with the session's threads, or with one where the work is too small to share."""
        entries = WORTH_TWO if state is None else sum(tensor.numel() for _, tensor in state_tensors(state))
        wanted, before = (1 if entries < WORTH_TWO else self.threads), torch.get_num_threads()
        if wanted == before:
            yield
            return
        torch.set_num_threads(wanted)
        try:
            yield
        finally:
            torch.set_num_threads(before)


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
    mine = ((name, tensor) for name, tensor in state_tensors(state) if name in theirs)
    return all((tensor.shape, tensor.dtype) == (theirs[name].shape, theirs[name].dtype) for name, tensor in mine)


def make_algorithm(name: str, parameters: dict[str, Any]) -> Algorithm:
    """A registered algorithm with some parameters set. Raises `StudioError`."""
    algorithm = ALGORITHMS[name]().replace(**parameters)
    return cast(Algorithm, algorithm)


def _stopped(lane: Lane, message: str) -> Lane:
    return replace(lane, status="stopped", message=message)
