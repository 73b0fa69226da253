"""Makes the frames of a session: the newest pictures of what the window shows, and all scalars since the last frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from mrfstudio.engine.protocol.commands import SetView
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Comparison, Frame, LaneFrame, MessageTrace, Status
from mrfstudio.engine.session.document import frozen
from mrfstudio.engine.session.label_pictures import VisiblePart, difference
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.workspaces.workspace import LabelWorkspace, LaneView

if TYPE_CHECKING:
    from mrfstudio.engine.session.session import Session

LONGEST = 2000
"""Iterations of one trace; more cannot be told apart on a screen."""

Both = tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]


class MessageTracer:
    """The messages of one factor over all iterations that history holds.

    Reads each state once: what was read before is kept as long as history keeps the state.
    """

    def __init__(self, runner: LaneRunner, lane: int, factor: int) -> None:
        self.lane, self.factor = lane, factor
        self._runner = runner
        self._read: dict[int, tuple[object, Both]] = {}

    def trace(self, points: Sequence[TimelinePoint], now: TimelinePoint) -> MessageTrace | None:
        """All its messages at every key-frame, and at the present state of the lane; None where there are none."""
        states = {
            each.iteration: (point, each)
            for point in (*points, now)
            for each in point.lanes
            if each.number == self.lane
        }
        found: dict[int, tuple[object, Both]] = {}
        for iteration in sorted(states)[-LONGEST:]:
            point, lane = states[iteration]
            known = self._read.get(iteration)
            if known is not None and known[0] is lane.state:
                found[iteration] = known
                continue
            both = self._messages(point, lane)
            if both is not None:
                found[iteration] = (lane.state, both)
        self._read = found
        if not found:
            return None
        to, back = (
            tuple(frozen(np.stack(each)) for each in zip(*(both[side] for _, both in found.values()), strict=True))
            for side in (0, 1)
        )
        return MessageTrace(self.factor, frozen(np.array(list(found))), to, back)

    def _messages(self, point: TimelinePoint, lane: Lane) -> Both | None:
        if lane.state is None:
            return None
        evidence = self._runner.evidence(point.document, lane.model)
        view = LaneView(point.document, lane.model, lane.algorithm, evidence, lane.state)
        return self._runner.workspace.factor_messages(view, self.factor)


RATE_OVER = 64  # iterations that the displayed rate is averaged over
LONGEST_GAP = 2.5  # seconds between iterations of one run: the slowest speed is one a second


class FrameMaker:
    """Knows the view and the pace of one session."""

    def __init__(self, session: Session, clock: Callable[[], float]) -> None:
        self.view = SetView(("belief",))
        self._session = session
        self._clock = clock
        self._serial = 0
        self._ticks: deque[float] = deque(maxlen=RATE_OVER)
        self._tracer: MessageTracer | None = None

    def wants(self, picture: str) -> bool:
        return picture in self.view.layers

    def ticked(self) -> None:
        """An iteration was done now."""
        now = self._clock()
        if self._ticks and now - self._ticks[-1] > LONGEST_GAP:  # another run: the pause is not a part of its pace
            self._ticks.clear()
        self._ticks.append(now)

    def frame(self, message: str) -> Frame:
        """A frame of the present point."""
        session = self._session
        point, timeline = session.shown, session.timeline
        window = VisiblePart.fitting(self.view.rectangle, self.view.stride, point.document.shape)
        self._serial += 1
        cut = session.measurements.take_cut()
        comparison = self._comparison(point)
        return Frame(
            serial=self._serial,
            workspace=session.workspace.name,
            applied=session.applied,
            shape=point.document.shape,
            rectangle=window.rectangle,
            layers={name: window.cut(array) for name, array in point.document.arrays.items()},
            lanes=self._lanes(point, window),
            undo=session.undo.undo_title,
            redo=session.undo.redo_title,
            playing=session.running,
            iterations_per_second=self._rate(),
            modified=session.worth_saving,
            file=session.file,
            message=message,
            stride=window.stride,
            iteration=point.iteration,
            oldest=0,
            newest=timeline.newest,
            cut=cut,
            seeking=timeline.target,
            speed=session.speed,
            name=point.document.name,
            limits=(point.limits.iterations, point.limits.tolerance),
            graph=session.workspace.graph_frame(point.document, point.lanes[0].model),
            revision=session.revision,
            comparison=comparison,
            backdrop=None if point.document.photo is None else point.document.photo.rgb,
            labels=point.document.labels,
        )

    def _lanes(self, point: TimelinePoint, window: VisiblePart) -> tuple[LaneFrame, ...]:
        runner = self._session.timeline.runner
        views = [runner.view(point, lane) for lane in point.lanes]
        numbers = [lane.number for lane in point.lanes]
        first = views[numbers.index(self.view.apart) if self.view.apart in numbers else 0]
        pairs = zip(point.lanes, views, strict=True)
        return tuple(self._lane(point, lane, view, None if view is first else first, window) for lane, view in pairs)

    def _lane(
        self, point: TimelinePoint, lane: Lane, view: LaneView | None, first: LaneView | None, window: VisiblePart
    ) -> LaneFrame:
        pictures, details, message = self._pictures(view, first, window)
        scalars, strip, kind = self._session.measurements.take(lane.number)
        return LaneFrame(
            lane=lane.number,
            model=lane.model_name,
            algorithm=lane.algorithm.name,
            iteration=lane.iteration,
            status=self._status(lane),
            residual=lane.residual,
            pictures=pictures,
            scalars=scalars,
            message=lane.message or message,
            details=details,
            parameters=lane.algorithm.values(),
            limit=_limit(point, lane),
            base=lane.base,
            strip=strip,
            log_partition_kind=kind,
            trace=self._trace(point, lane),
            title=lane.name,
        )

    def _trace(self, point: TimelinePoint, lane: Lane) -> MessageTrace | None:
        if self.view.factor is None or lane.number != self.view.lane:
            return None
        if self._tracer is None or (self._tracer.lane, self._tracer.factor) != (lane.number, self.view.factor):
            self._tracer = MessageTracer(self._session.timeline.runner, lane.number, self.view.factor)
        return self._tracer.trace(self._session.timeline.history.since(-1), point)

    def _comparison(self, point: TimelinePoint) -> Comparison | None:
        """The lanes against a reference; what nobody looks at is not computed."""
        comparer = self._session.comparer
        if not self.wants("comparison") and not self.wants("error"):
            comparer.close()
            return None
        return comparer.compare(point, self.view)

    def _error(self, view: LaneView, window: VisiblePart) -> Mapping[str, np.ndarray]:
        reference, workspace = self._session.comparer.reference, self._session.workspace
        if not self.wants("error") or reference is None or not isinstance(workspace, LabelWorkspace):
            return {}
        mine, truth = (window.cut(workspace.labels(each)) for each in (view, reference))
        return {"error": frozen(difference(mine, truth))}

    def _pictures(
        self, view: LaneView | None, first: LaneView | None, window: VisiblePart
    ) -> tuple[Mapping[str, np.ndarray], Mapping[str, object], str]:
        if view is None:
            return {}, {}, ""
        workspace, pixel = self._session.workspace, self.view.inspect
        height, width = view.document.shape
        inside = pixel is not None and 0 <= pixel[0] < height and 0 <= pixel[1] < width
        try:
            with torch.no_grad(), self._session.timeline.runner.pinned(view.state):
                pictures = workspace.pictures(self.view.layers, view, window, first)
                pictures = {**pictures, **self._error(view, window)}
                return pictures, workspace.details(view, pixel) if pixel is not None and inside else {}, ""
        except StudioError as error:  # beliefs that have no value, such as contradictions found on the way
            return {}, {}, str(error)

    def _status(self, lane: Lane) -> Status:
        if lane.status in ("stopped", "converged", "settled", "idle"):
            return lane.status
        if lane.diverging:
            return "diverging"
        if lane.status == "iteration limit" or self._session.running:
            return lane.status
        return "paused" if lane.stepped else "idle"

    def _rate(self) -> float:
        """Iterations a second, 0 when none was done for a while."""
        if len(self._ticks) < 2 or self._clock() - self._ticks[-1] > LONGEST_GAP:
            return 0.0
        span = self._ticks[-1] - self._ticks[0]
        return (len(self._ticks) - 1) / span if span > 0 else 0.0


def _limit(point: TimelinePoint, lane: Lane) -> int:
    """Steps after `base` at which a lane ends: at the end of its plan, where it has one."""
    remaining = lane.algorithm.remaining(lane.state) if lane.stepped and lane.state is not None else None
    most = point.limit(lane)
    return most if remaining is None else min(lane.done + remaining, most)
