"""One iteration of every lane: what a point on the timeline becomes."""

from __future__ import annotations

import logging
import math
import statistics
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import torch

from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.run import final_doubt, notices
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.interruption import Interrupted
from mrfstudio.engine.runtime.threads import WORTH_TWO
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.lanes import WATCHED, Ending, Lane, TimelinePoint, state_tensors
from mrfstudio.engine.workspaces.workspace import LaneView, Workspace

PACE_OVER = 64  # iterations that a lane's pace is taken over
CACHED = 2  # documents whose evidence is kept: what is derived from it can be as large as messages of one direction

log = logging.getLogger(__name__)


class Spent(NamedTuple):
    """Seconds of one iteration, by the clock and of the processor in its own thread."""

    clock: float
    processor: float


@dataclass(frozen=True, eq=False)
class PartialTick:
    """How far an interrupted tick was: the lanes that have stepped, and the state that the next one goes on from."""

    point: TimelinePoint
    done: tuple[Lane, ...]
    state: State | None


class LaneRunner:
    """Computes points. Holds what is derived from them: evidence and views, each made once."""

    def __init__(self, workspace: Workspace, threads: int | None = None) -> None:
        self.workspace = workspace
        # Sums depend on how many threads share them: history recomputes bit-equal messages only with the same number.
        self.threads = threads or torch.get_num_threads()
        # By identity of document and model, both kept alive here so that identities stay theirs.
        self._evidence: OrderedDict[int, tuple[Document, dict[int, tuple[Any, AnyEvidence]]]] = OrderedDict()
        self._views: dict[int, LaneView] = {}
        self._pace: dict[tuple[int, str], deque[Spent]] = {}

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        """What a document says to a model. Raises `ContradictoryEvidence`."""
        _, made = self._evidence.setdefault(id(document), (document, {}))
        if id(model) not in made:
            made[id(model)] = (model, self.workspace.evidence(document, model))
        self._evidence.move_to_end(id(document))
        while len(self._evidence) > CACHED:
            self._evidence.popitem(last=False)
        return made[id(model)][1]

    def view(self, point: TimelinePoint, lane: Lane) -> LaneView | None:
        """The lane as its workspace sees it; None if it could not begin."""
        if lane.state is None:
            return None
        known = self._views.get(lane.number)
        same = known is not None and known.state is lane.state and known.document is point.document
        if known is not None and same and known.algorithm == lane.algorithm and known.previous is lane.previous:
            return known
        evidence = self.evidence(point.document, lane.model)
        view = LaneView(point.document, lane.model, lane.algorithm, evidence, lane.state, lane.previous)
        self._views[lane.number] = view
        return view

    # Time -------------------------------------------------------------------------------------------------------------

    def begun(self, point: TimelinePoint) -> TimelinePoint:
        """The point with a state in every lane that can have one."""
        if all(lane.state is not None or lane.status == "stopped" for lane in point.lanes):
            return point
        return replace(point, lanes=tuple(self._begun(point, lane) for lane in point.lanes))

    def _begun(self, point: TimelinePoint, lane: Lane) -> Lane:
        if lane.state is not None or lane.status == "stopped":
            return lane
        try:
            return replace(lane, state=self.first_state(point.document, lane))
        except StudioError as error:
            return _stopped(lane, str(error))

    def first_state(self, document: Document, lane: Lane) -> State:
        """The state before the first step. Raises `StudioError` where algorithm, model and evidence do not fit."""
        with torch.no_grad(), self.pinned(None):
            state = lane.algorithm.init(lane.model, self.evidence(document, lane.model))
            return self.workspace.held(document, lane.model, lane.algorithm, None, state)

    def tick(self, given: TimelinePoint, partial: PartialTick | None = None) -> TimelinePoint:
        """One iteration of every lane that runs; `partial` is how far an interrupted tick of the same point was.

        May raise `Interrupted`, whose `state` is a `PartialTick`.
        """
        point = self.begun(given)
        done, midway = ([], None) if partial is None else (list(partial.done), partial.state)
        for lane in point.lanes[len(done) :]:
            try:
                done.append(self._step(point, lane, midway) if lane.status == "running" else lane)
            except Interrupted as interrupted:
                reached = midway if interrupted.state is None else interrupted.state
                raise Interrupted(PartialTick(given, tuple(done), reached)) from None
            midway = None
        return replace(point, lanes=tuple(done), iteration=point.iteration + 1)

    def _step(self, point: TimelinePoint, lane: Lane, midway: State | None) -> Lane:
        iteration = point.iteration + 1
        began, busy = time.perf_counter(), time.thread_time()
        try:
            state = self._next_state(point.document, lane, midway)
        except StudioError as error:
            return _stopped(lane, f"Stopped before iteration {iteration}: {error}")
        except Interrupted:
            raise
        except Exception as error:  # a fault in one algorithm must not take the session and the other lanes with it
            log.exception("Iteration %d of lane %d failed", iteration, lane.number)
            return _stopped(lane, f"An internal error, written to the log, stopped iteration {iteration}: {error}")
        residual = lane.algorithm.residual(state)
        taken = self._pace.setdefault((lane.number, lane.algorithm.name), deque(maxlen=PACE_OVER))
        taken.append(Spent(time.perf_counter() - began, time.thread_time() - busy))
        if math.isnan(residual):
            where = self._not_finite(point.document, lane, state)
            return _stopped(lane, f"Iteration {iteration} left the range of finite numbers at {where}; try damping.")
        done = lane.done + 1
        status, message = self.judged(point, replace(lane, state=state, done=done))
        residuals = (residual,) if state.preparing else (*lane.residuals, residual)[-WATCHED:]
        step = dict(state=state, previous=lane.state, iteration=iteration, done=done, residuals=residuals)
        return replace(lane, **cast("dict[str, Any]", step), status=status, message=message, edited=False)

    def judged(self, point: TimelinePoint, lane: Lane) -> tuple[Ending, str]:
        """Whether a lane has ended with its present state, and what there is to say about that."""
        assert lane.state is not None
        algorithm, tolerance = lane.algorithm, point.limits.tolerance
        evidence = self.evidence(point.document, lane.model)
        at_limit = lane.done >= point.limit(lane) and not algorithm.staged
        remaining = algorithm.remaining(lane.state)
        if remaining is not None:  # a plan of levels, whose residual says nothing before its end
            if remaining and not at_limit:
                return "running", ""
            ending: Ending = "iteration limit" if remaining else algorithm.plan_end(lane.state)
            said = notices(lane.model, evidence, None, algorithm.decides(lane.state))
            return ending, " ".join(filter(None, (algorithm.words(lane.state), *said)))
        with torch.no_grad(), self.pinned(lane.state):
            settled = algorithm.residual(lane.state) < tolerance or algorithm.single_step
            doubt = algorithm.doubt(lane.model, evidence, lane.state, tolerance) if settled else None
            holds = self.workspace.holds(point.document)
            if holds:  # beliefs of factors and variables cannot agree there
                return "converged" if settled else "iteration limit" if at_limit else "running", holds
            if at_limit and not settled:
                doubt = final_doubt(algorithm, lane.model, evidence, lane.state, tolerance)
        status: Ending = "running"
        if settled and doubt is None:
            status = "converged"
        elif at_limit:
            status = "iteration limit"
        if status == "running" and doubt is None:
            return status, algorithm.words(lane.state)
        said = notices(lane.model, evidence, doubt, algorithm.decides(lane.state))
        remark = self.workspace.remark(lane.model, evidence, lane.state) if status != "running" else ""
        return status, " ".join(filter(None, (algorithm.words(lane.state), remark, *said)))

    def pace(self, lane: Lane) -> float | None:
        """Seconds of one iteration of a lane, the median of the last ones; None before the first."""
        taken = self._pace.get((lane.number, lane.algorithm.name))
        return statistics.median(each.clock for each in taken) if taken else None

    def effort(self, lane: Lane) -> float | None:
        """The same in seconds of the processor, which other programs on the machine do not make longer."""
        taken = self._pace.get((lane.number, lane.algorithm.name))
        return statistics.median(each.processor for each in taken) if taken else None

    def last_taken(self, lane: Lane) -> float | None:
        """Seconds of the newest iteration of a lane; None before the first."""
        taken = self._pace.get((lane.number, lane.algorithm.name))
        return taken[-1].clock if taken else None

    def _next_state(self, document: Document, lane: Lane, midway: State | None) -> State:
        """`midway`: the state of a step that was interrupted."""
        assert lane.state is not None
        evidence, state = self.evidence(document, lane.model), midway or lane.state
        with torch.no_grad(), self.pinned(lane.state):
            if lane.edited and midway is None:
                state = lane.algorithm.resume(lane.model, evidence, state)
            following = lane.algorithm.step(lane.model, evidence, state)
            return self.workspace.held(document, lane.model, lane.algorithm, lane.state, following)

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


def _stopped(lane: Lane, message: str) -> Lane:
    return replace(lane, status="stopped", message=message)
