"""What each new iteration is measured by: residual, log Z, agreement with the truth, and the strip's small pictures."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from mrfstudio.engine.inference.algorithm import LogPartition
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.engine.runtime.interruption import Interrupted
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.workspaces.workspace import LaneView

STRIP = 15
"""Small pictures of the iterations since an edit: of the first ones each, then of every second, every fourth …"""

Small = tuple[int, np.ndarray]


@dataclass(frozen=True)
class TakenLane:
    """What was measured of a lane at some time: the first `length` of the scalars, which stay, and those after them."""

    scalars: list[Scalars]
    length: int
    newest: tuple[Scalars, ...]
    strip: tuple[Small, ...]
    log_partition_kind: str | None

    @property
    def all(self) -> list[Scalars]:
        return [*self.scalars[: self.length], *self.newest]


Taken = Mapping[int, TakenLane]
"""By lane."""


@dataclass
class LaneMeasurements:
    """All scalars of a lane on the present timeline, its strip, and how much of both the last frame had."""

    scalars: list[Scalars] = field(default_factory=list)
    strip: list[Small] = field(default_factory=list)
    """The first iterations after the last edit."""
    log_partition_kind: str | None = None
    reported: int = 0
    strip_reported: int = 0
    unfinished: tuple[Scalars, Lane, LaneView] | None = None
    """Scalars of the newest iteration that still lack their log Z."""

    def cut(self, iteration: int) -> None:
        """Forget what came after an iteration."""
        self.finish(None)
        length = bisect_right(self.scalars, iteration, key=lambda each: each.iteration)
        if length < len(self.scalars):  # another list: whoever took this one keeps it as it was
            self.scalars = self.scalars[:length]
        while self.strip and self.strip[-1][0] > iteration:
            self.strip.pop()
        self.reported = min(self.reported, len(self.scalars))
        self.strip_reported = min(self.strip_reported, len(self.strip))
        if not self.scalars:
            self.log_partition_kind = None

    def finish(self, log_partition: LogPartition | None) -> None:
        """Give the newest scalars their log Z, or none."""
        if self.unfinished is None:
            return
        scalars, _, _ = self.unfinished
        self.unfinished = None
        if log_partition is not None:
            scalars = replace(scalars, log_partition=_finite(log_partition.value))
            self.log_partition_kind = log_partition.kind
        self.scalars.append(scalars)

    def add_small(self, small: Small, base: int) -> None:
        """Add a picture to the strip of an edit; the strip of an earlier one ends."""
        if self.strip and self.strip[0][0] <= base:
            self.strip, self.strip_reported = [], 0
        self.strip.append(small)
        if len(self.strip) > STRIP:  # only every second of those before stays
            stride = strip_stride(small[0] - base)
            fresh = len(self.strip) - self.strip_reported
            self.strip = [each for each in self.strip if (each[0] - base) % stride == 0]
            self.strip_reported = max(0, len(self.strip) - fresh)


def strip_stride(iterations: int) -> int:
    """Iterations from one small picture to the next, after so many of them."""
    stride = 1
    while iterations > STRIP * stride:
        stride *= 2
    return stride


def is_in_strip(iterations: int) -> bool:
    return iterations > 0 and iterations % strip_stride(iterations) == 0


class Measurements:
    """Measures new points and hands out what no frame has had yet."""

    def __init__(self, runner: LaneRunner) -> None:
        self._runner = runner
        self.by_lane: dict[int, LaneMeasurements] = {}
        self._cut: int | None = -1  # the first frame of a session forgets what another one had shown

    def cut(self, iteration: int) -> None:
        """Iterations after this one are no longer true."""
        self._cut = iteration if self._cut is None else min(self._cut, iteration)
        for numbers in self.by_lane.values():
            numbers.cut(iteration)

    def taken(self) -> Taken:
        """Everything measured so far, to be given back by `put_back`."""
        found = {}
        for lane, numbers in self.by_lane.items():
            newest = () if numbers.unfinished is None else (numbers.unfinished[0],)
            scalars = numbers.scalars
            found[lane] = TakenLane(scalars, len(scalars), newest, tuple(numbers.strip), numbers.log_partition_kind)
        return found

    def put_back(self, taken: Taken) -> None:
        """Measure on from there; the next frame has all of it."""
        self._cut = -1
        self.by_lane = {
            lane: LaneMeasurements(each.all, list(each.strip), each.log_partition_kind) for lane, each in taken.items()
        }

    def lacks(self, point: TimelinePoint) -> bool:
        """Whether the numbers of an iteration were never taken, as of one that is computed again after a crash."""
        stepped = [lane.number for lane in point.lanes if lane.iteration == point.iteration]
        return any(self._last(number) < point.iteration for number in stepped)

    def _last(self, lane: int) -> int:
        numbers = self.by_lane.get(lane)
        if numbers is None:
            return -1
        if numbers.unfinished is not None:
            return numbers.unfinished[0].iteration
        return numbers.scalars[-1].iteration if numbers.scalars else -1

    def measure(self, point: TimelinePoint, *, strip: bool) -> None:
        """Take the numbers of an iteration that was just computed."""
        for lane in point.lanes:
            if lane.iteration != point.iteration:
                continue  # it had ended before
            view = self._runner.view(point, lane)
            assert view is not None  # it has stepped
            numbers = self.by_lane.setdefault(lane.number, LaneMeasurements())
            with torch.no_grad(), self._runner.pinned(lane.state):
                numbers.finish(None)
                numbers.unfinished = (self._scalars(lane, view), lane, view)
                if not self._is_due(lane, view):
                    numbers.finish(None)
                elif not self._runner.workspace.log_partition_later(view):
                    numbers.finish(_log_partition(lane, view))
                if strip and is_in_strip(point.iteration - lane.base):
                    numbers.add_small((point.iteration, self._runner.workspace.thumbnail(view)), lane.base)

    def is_unfinished(self) -> bool:
        """Whether a log Z is still to be computed: it takes long, so a picture is shown before."""
        return any(numbers.unfinished for numbers in self.by_lane.values())

    def finish(self) -> None:
        """Compute what is unfinished."""
        for numbers in self.by_lane.values():
            if numbers.unfinished is not None:
                _, lane, view = numbers.unfinished
                with torch.no_grad(), self._runner.pinned(lane.state):
                    numbers.finish(_log_partition(lane, view))

    def _is_due(self, lane: Lane, view: LaneView) -> bool:
        """Whether an iteration's log Z is wanted. Counted from the last edit: a stroke must not wait for it."""
        stride = self._runner.workspace.log_partition_stride(view)
        return bool(stride) and ((lane.iteration - lane.base) % stride == 0 or lane.status != "running")

    def fill_strips(self, points: Iterable[TimelinePoint], now: TimelinePoint) -> None:
        """Make the strips from key-frames, in order, for a view that did not want them before."""
        bases = {lane.number: lane.base for lane in now.lanes}
        for point in points:
            for lane in point.lanes:
                fresh = lane.iteration == point.iteration and bases.get(lane.number) == lane.base
                numbers = self.by_lane.setdefault(lane.number, LaneMeasurements())
                known = numbers.strip and numbers.strip[-1][0] >= point.iteration
                view = self._runner.view(point, lane)
                if fresh and not known and view is not None and is_in_strip(point.iteration - lane.base):
                    numbers.add_small((point.iteration, self._runner.workspace.thumbnail(view)), lane.base)

    def _scalars(self, lane: Lane, view: LaneView) -> Scalars:
        measured: Mapping[str, float] = {}
        with suppress(StudioError):  # beliefs have no value here; the next step stops the lane and says why
            measured = self._runner.workspace.measure(view)
        known = {k: _finite(v) for k, v in measured.items()}
        return Scalars(lane.iteration, lane.residual, None, seconds=self._runner.last_taken(lane), **known)

    def take(self, lane: int) -> tuple[tuple[Scalars, ...], tuple[Small, ...], str | None]:
        """Scalars and small pictures of a lane since they were last taken, and what kind of log Z it gives."""
        numbers = self.by_lane.setdefault(lane, LaneMeasurements())
        fresh, strip = tuple(numbers.scalars[numbers.reported :]), tuple(numbers.strip[numbers.strip_reported :])
        numbers.reported, numbers.strip_reported = len(numbers.scalars), len(numbers.strip)
        return fresh, strip, numbers.log_partition_kind

    def take_cut(self) -> int | None:
        """Where the timeline was cut since this was last asked."""
        cut, self._cut = self._cut, None
        return cut


def _log_partition(lane: Lane, view: LaneView) -> LogPartition | None:
    # Left out as other measures are, and where somebody interrupts, who waits for a picture and not for log Z.
    with suppress(StudioError, Interrupted):
        return lane.algorithm.log_partition(lane.model, view.evidence, view.state)
    return None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
