"""Makes the frames of a session: the newest pictures of what the window shows, and all scalars since the last frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch

from mrfstudio.engine.commands import SetView
from mrfstudio.engine.document import frozen
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.frames import Comparison, Frame, LaneFrame, MessageTrace, Status
from mrfstudio.engine.lanes import Lane, Moment
from mrfstudio.engine.tracing import Tracer
from mrfstudio.engine.views import Window, difference
from mrfstudio.engine.workspaces.contract import LabelWorkspace, LaneView

if TYPE_CHECKING:
    from mrfstudio.engine.session import Session

RATE_OVER = 64  # iterations that the displayed rate is averaged over
LONGEST_GAP = 2.5  # seconds between iterations of one run: the slowest speed is one a second


class Reporter:
    """Knows the view and the pace of one session."""

    def __init__(self, session: Session, clock: Callable[[], float]) -> None:
        self.view = SetView(("belief",))
        self._session = session
        self._clock = clock
        self._serial = 0
        self._ticks: deque[float] = deque(maxlen=RATE_OVER)
        self._tracer: Tracer | None = None

    def wants(self, picture: str) -> bool:
        return picture in self.view.layers

    def ticked(self) -> None:
        """An iteration was done now."""
        now = self._clock()
        if self._ticks and now - self._ticks[-1] > LONGEST_GAP:  # another run: the pause is not a part of its pace
            self._ticks.clear()
        self._ticks.append(now)

    def frame(self, message: str) -> Frame:
        """A frame of the present moment."""
        session = self._session
        moment, timeline = session.shown, session.timeline
        window = Window.fitting(self.view.rectangle, self.view.stride, moment.document.shape)
        self._serial += 1
        cut = session.measurer.take_cut()
        comparison = self._comparison(moment)
        return Frame(
            serial=self._serial,
            workspace=session.workspace.name,
            applied=session.applied,
            shape=moment.document.shape,
            rectangle=window.rectangle,
            layers={name: window.cut(array) for name, array in moment.document.arrays.items()},
            lanes=self._lanes(moment, window),
            undo=session.undo.undo_title,
            redo=session.undo.redo_title,
            playing=session.running,
            iterations_per_second=self._rate(),
            modified=session.modified,
            message=message,
            stride=window.stride,
            iteration=moment.iteration,
            oldest=0,
            newest=timeline.newest,
            cut=cut,
            seeking=timeline.target,
            speed=session.speed,
            name=moment.document.name,
            limits=(moment.limits.iterations, moment.limits.tolerance),
            graph=session.workspace.graph_frame(moment.document, moment.lanes[0].model),
            revision=session.edits,
            comparison=comparison,
        )

    def _lanes(self, moment: Moment, window: Window) -> tuple[LaneFrame, ...]:
        stage = self._session.timeline.stage
        views = [stage.view(moment, lane) for lane in moment.lanes]
        numbers = [lane.number for lane in moment.lanes]
        first = views[numbers.index(self.view.apart) if self.view.apart in numbers else 0]
        pairs = zip(moment.lanes, views, strict=True)
        return tuple(self._lane(moment, lane, view, None if view is first else first, window) for lane, view in pairs)

    def _lane(
        self, moment: Moment, lane: Lane, view: LaneView | None, first: LaneView | None, window: Window
    ) -> LaneFrame:
        pictures, details, message = self._pictures(view, first, window)
        scalars, strip, kind = self._session.measurer.take(lane.number)
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
            limit=moment.limit(lane),
            base=lane.base,
            strip=strip,
            log_partition_kind=kind,
            trace=self._trace(lane),
            title=lane.name,
        )

    def _trace(self, lane: Lane) -> MessageTrace | None:
        if self.view.edge is None or lane.number != self.view.lane:
            return None
        if self._tracer is None or (self._tracer.lane, self._tracer.edge) != (lane.number, self.view.edge):
            self._tracer = Tracer(self._session.workspace, lane.number, self.view.edge)
        return self._tracer.trace(self._session.timeline.history.since(-1), lane)

    def _comparison(self, moment: Moment) -> Comparison | None:
        """The lanes against a reference; what nobody looks at is not computed."""
        comparer = self._session.comparer
        if not self.wants("comparison") and not self.wants("error"):
            comparer.close()
            return None
        return comparer.compare(moment, self.view)

    def _error(self, view: LaneView, window: Window) -> Mapping[str, np.ndarray]:
        reference, workspace = self._session.comparer.reference, self._session.workspace
        if not self.wants("error") or reference is None or not isinstance(workspace, LabelWorkspace):
            return {}
        mine, truth = (window.cut(workspace.labels(each)) for each in (view, reference))
        return {"error": frozen(difference(mine, truth))}

    def _pictures(
        self, view: LaneView | None, first: LaneView | None, window: Window
    ) -> tuple[Mapping[str, np.ndarray], Mapping[str, object], str]:
        if view is None:
            return {}, {}, ""
        workspace, pixel = self._session.workspace, self.view.inspect
        height, width = view.document.shape
        inside = pixel is not None and 0 <= pixel[0] < height and 0 <= pixel[1] < width
        try:
            with torch.no_grad(), self._session.timeline.stage.pinned(view.state):
                pictures = workspace.pictures(self.view.layers, view, window, first)
                pictures = {**pictures, **self._error(view, window)}
                return pictures, workspace.details(view, pixel) if pixel is not None and inside else {}, ""
        except StudioError as error:  # beliefs that have no value, such as contradictions found on the way
            return {}, {}, str(error)

    def _status(self, lane: Lane) -> Status:
        if lane.status == "stopped" or lane.status == "converged":
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
