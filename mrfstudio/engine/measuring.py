"""What each new iteration is measured by: residual, log Z, agreement with the truth, and the strip's small pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.frames import Scalars
from mrfstudio.engine.inference.contract import LogPartition
from mrfstudio.engine.interruption import Interrupted
from mrfstudio.engine.lanes import Lane, Moment, Stage
from mrfstudio.engine.workspaces.contract import LaneView

STRIP = 15
"""Iterations after an edit that get a small picture."""

Small = tuple[int, np.ndarray]


@dataclass
class Course:
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
        while self.scalars and self.scalars[-1].iteration > iteration:
            self.scalars.pop()
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


class Measurer:
    """Measures new moments and hands out what no frame has had yet."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.courses: dict[int, Course] = {}
        self._cut: int | None = None

    def cut(self, iteration: int) -> None:
        """Iterations after this one are no longer true."""
        self._cut = iteration if self._cut is None else min(self._cut, iteration)
        for course in self.courses.values():
            course.cut(iteration)

    def lacks(self, moment: Moment) -> bool:
        """Whether the numbers of an iteration were never taken, as of one that is computed again after a crash."""
        stepped = [lane.number for lane in moment.lanes if lane.iteration == moment.iteration]
        return any(self._last(number) < moment.iteration for number in stepped)

    def _last(self, lane: int) -> int:
        course = self.courses.get(lane)
        if course is None:
            return -1
        if course.unfinished is not None:
            return course.unfinished[0].iteration
        return course.scalars[-1].iteration if course.scalars else -1

    def measure(self, moment: Moment, *, strip: bool) -> None:
        """Take the numbers of an iteration that was just computed."""
        for lane in moment.lanes:
            if lane.iteration != moment.iteration:
                continue  # it had ended before
            view = self._stage.view(moment, lane)
            assert view is not None  # it has stepped
            course = self.courses.setdefault(lane.number, Course())
            with torch.no_grad(), self._stage.pinned(lane.state):
                course.finish(None)
                course.unfinished = (self._scalars(lane, view), lane, view)
                if not self._is_due(lane, view):
                    course.finish(None)
                elif not self._stage.workspace.log_partition_later(view):
                    course.finish(_log_partition(lane, view))
                if strip and moment.iteration - lane.base <= STRIP:
                    course.add_small((moment.iteration, self._stage.workspace.thumbnail(view)), lane.base)

    def is_unfinished(self) -> bool:
        """Whether a log Z is still to be computed: it takes long, so a picture is shown before."""
        return any(course.unfinished for course in self.courses.values())

    def finish(self) -> None:
        """Compute what is unfinished."""
        for course in self.courses.values():
            if course.unfinished is not None:
                _, lane, view = course.unfinished
                with torch.no_grad(), self._stage.pinned(lane.state):
                    course.finish(_log_partition(lane, view))

    def _is_due(self, lane: Lane, view: LaneView) -> bool:
        """Whether an iteration's log Z is wanted. Counted from the last edit: a stroke must not wait for it."""
        stride = self._stage.workspace.log_partition_stride(view)
        return bool(stride) and ((lane.iteration - lane.base) % stride == 0 or lane.status != "running")

    def fill_strips(self, moments: Iterable[Moment], now: Moment) -> None:
        """Make the strips from key-frames, in order, for a view that did not want them before."""
        bases = {lane.number: lane.base for lane in now.lanes}
        for moment in moments:
            for lane in moment.lanes:
                fresh = lane.iteration == moment.iteration and bases.get(lane.number) == lane.base
                course = self.courses.setdefault(lane.number, Course())
                known = course.strip and course.strip[-1][0] >= moment.iteration
                view = self._stage.view(moment, lane)
                if fresh and not known and view is not None and 0 < moment.iteration - lane.base <= STRIP:
                    course.add_small((moment.iteration, self._stage.workspace.thumbnail(view)), lane.base)

    def _scalars(self, lane: Lane, view: LaneView) -> Scalars:
        measured: Mapping[str, float] = {}
        with suppress(StudioError):  # beliefs have no value here; the next step stops the lane and says why
            measured = self._stage.workspace.measure(view)
        return Scalars(lane.iteration, lane.residual, None, **{k: _finite(v) for k, v in measured.items()})

    def take(self, lane: int) -> tuple[tuple[Scalars, ...], tuple[Small, ...], str | None]:
        """Scalars and small pictures of a lane since they were last taken, and what kind of log Z it gives."""
        course = self.courses.setdefault(lane, Course())
        fresh, strip = tuple(course.scalars[course.reported :]), tuple(course.strip[course.strip_reported :])
        course.reported, course.strip_reported = len(course.scalars), len(course.strip)
        return fresh, strip, course.log_partition_kind

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
