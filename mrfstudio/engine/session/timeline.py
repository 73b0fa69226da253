"""One course of a session: where it began, every command with the iteration at which it applied, and where it is now.

    log        commands in the order they were given, stamped with iterations that never fall
    point     what is shown; it may lie before `newest`
    history    key-frames from which any point between is recomputed by the same ticks and commands

A command given while the past is shown branches: commands after the cursor are stamped again with the cursor's
iteration, so that all evidence stays, and later messages are forgotten. A restart stamps everything with 0; where
another picture or graph took the place of everything, the log begins again with it. Either way the log, replayed from
`origin`, gives the present point bit for bit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

from mrfstudio.engine.protocol.commands import Command, Opening
from mrfstudio.engine.runtime.interruption import Interrupted
from mrfstudio.engine.session.apply import Applied, Continue, apply_command, restarted
from mrfstudio.engine.session.history import BUDGET, History
from mrfstudio.engine.session.inverses import PutGraph, Restore
from mrfstudio.engine.session.lane_runner import LaneRunner, PartialTick
from mrfstudio.engine.session.lanes import TimelinePoint

LONGEST_LOG = 20_000
"""Commands after which a fresh beginning also forgets the log, so that a session can go on for days."""


@dataclass(frozen=True, eq=False)
class Stamped:
    """A command and the iteration after which it was applied."""

    iteration: int
    command: Command


@dataclass(frozen=True, eq=False)
class Mark:
    """Where a timeline was, with its messages: `return_to` makes it so again, bit for bit.

    `log` may have grown since; its first `length` entries are never written to.
    """

    origin: TimelinePoint
    log: list[Stamped]
    length: int
    newest: int
    point: TimelinePoint
    changes: int
    """How many changes of the course there had been."""


class Timeline:
    """Moments of one session in order."""

    def __init__(self, runner: LaneRunner, origin: TimelinePoint, budget: int = BUDGET) -> None:
        self.runner = runner
        self.origin = restarted(origin)
        self.log: list[Stamped] = []
        self.history = History(budget)
        self.newest = 0
        self.point = runner.begun(self.origin)
        self.target: int | None = None
        """The iteration that is being recomputed, while it is."""
        self._walker = self.point
        self._partial: PartialTick | None = None  # an interrupted iteration
        self._changes: list[int] = []  # the iterations from which on the course became another one
        self.history.keep(self.point, 0)

    @property
    def iteration(self) -> int:
        return self.point.iteration

    @property
    def in_past(self) -> bool:
        return self.iteration < self.newest

    # Commands ---------------------------------------------------------------------------------------------------------

    def apply(self, command: Command) -> Applied:
        """Apply a command to the present evidence and the messages shown. Raises `StudioError`, and nothing changed."""
        edited = apply_command(self.runner, self.present(), command)
        if not edited.changed:
            return edited
        if edited.restarts:
            self._restart_from(edited.point, command)
        else:
            self._stamp_later(self.iteration)
            self.log.append(Stamped(self.iteration, command))
            self._go_on_from(edited.point)
        return edited

    def restart(self) -> None:
        """Go back to the first iteration with the present evidence."""
        self._restart_from(restarted(self.present()), None)

    def mark(self) -> Mark:
        """Where it is now. Cheap: nothing is copied."""
        return Mark(self.origin, self.log, len(self.log), self.newest, self.point.lean(), len(self._changes))

    def return_to(self, mark: Mark) -> None:
        """Be where it was, as if nothing had happened since."""
        self.origin, self.log, self.newest = mark.origin, mark.log[: mark.length], mark.newest
        self.target = self._partial = None
        # Key-frames from before the first change since then are of this course, all others of another one.
        first = min(self._changes[mark.changes :], default=mark.point.iteration)
        self._changes.append(first)
        self.history.forget_after(first - 1)
        if not self.history.iterations:
            self.history.keep(replayed(self.runner, self.origin, self.log, 0), 0)
        self._put(self.runner.begun(mark.point))

    def present(self) -> TimelinePoint:
        """The messages shown, under the evidence, lanes and limits that all commands so far give."""
        point = self.point
        for stamped in self.log[self._applied(point) :]:
            if not isinstance(stamped.command, Continue):
                point = apply_command(self.runner, point, stamped.command, known=True).point
        return point

    def _applied(self, point: TimelinePoint) -> int:
        """How many commands of the log a point has behind it."""
        return bisect_right(self.log, point.iteration, key=attrgetter("iteration"))

    def _stamp_later(self, iteration: int) -> None:
        """Stamp the commands after an iteration with it. Going on is no evidence: it is dropped."""
        first = bisect_right(self.log, iteration, key=attrgetter("iteration"))
        if first < len(self.log):  # another list: marks hold the one there was
            later = (s for s in self.log[first:] if not isinstance(s.command, Continue))
            self.log = [*self.log[:first], *(replace(stamped, iteration=iteration) for stamped in later)]

    def _restart_from(self, point: TimelinePoint, command: Command | None) -> None:
        self._stamp_later(-1)
        # What has the stamp already stays what it is: steps of undo hold logs that share it.
        self.log = [each if each.iteration == 0 else replace(each, iteration=0) for each in self.log]
        if command is not None:
            self.log.append(Stamped(0, command))
        # A picture or a graph that took the place of everything: what was before is not needed for what is now.
        if isinstance(command, Opening | Restore | PutGraph) or len(self.log) > LONGEST_LOG:
            self.origin, self.log = point, []
        self._go_on_from(point)

    def _go_on_from(self, point: TimelinePoint) -> None:
        self.target = None
        self.point = self.runner.begun(point)
        self.newest = point.iteration
        self._changes.append(point.iteration)
        self.history.forget_after(point.iteration)
        self.history.keep(self.point, point.iteration)

    def take_up(self, log: list[Stamped], newest: int) -> None:
        """Go on from a log that was stored; the point is the one before the first iteration."""
        self.log, self.newest = log, newest
        self._put(replayed(self.runner, self.origin, log, 0))

    def put(self, point: TimelinePoint) -> None:
        """Show a point of this log that was stored."""
        self.target = None
        self._put(self.runner.begun(point))

    def _put(self, point: TimelinePoint) -> None:
        self.point = point
        self.history.keep(point, point.iteration)

    # Time -------------------------------------------------------------------------------------------------------------

    def forward(self) -> bool:
        """One iteration on: what was, as long as there is any, then something new. Returns whether it was new."""
        new = not self.in_past
        self.point = self._next(self.point)
        self.newest = max(self.newest, self.iteration)
        self.history.keep(self.point, self.iteration)
        return new

    def _next(self, point: TimelinePoint) -> TimelinePoint:
        """The point after. May raise `Interrupted`; asked again for the same point, it goes on where it was."""
        partial = self._partial if self._partial is not None and self._partial.point is point else None
        self._partial = None
        try:
            point = self.runner.tick(point, partial)
        except Interrupted as interrupted:
            self._partial = interrupted.state
            raise
        for stamped in self.log[bisect_right(self.log, point.iteration - 1, key=attrgetter("iteration")) :]:
            if stamped.iteration > point.iteration:
                break
            point = apply_command(self.runner, point, stamped.command, known=True).point
        return self.runner.begun(point)

    def seek(self, iteration: int, *, with_previous: bool = False) -> None:
        """Set out for an iteration; `walk` goes there. `with_previous`: the state before is wanted too."""
        self.target = min(max(iteration, 0), self.newest)
        start = self.target - 1 if with_previous and self.target else self.target
        self._walker = self._last_beginning(self.history.before(start), start)

    def _last_beginning(self, point: TimelinePoint, end: int) -> TimelinePoint:
        """The last point before `end` from which on everything begins anew, where there is one after a given point."""
        found = self.history.beginning(point.iteration, end)
        if found is None:
            return point
        iteration, (lanes, limits) = found
        for stamped in self.log[self._applied(point) : bisect_right(self.log, iteration, key=attrgetter("iteration"))]:
            point = apply_command(self.runner, point, stamped.command, known=True).point
        return replace(point, iteration=iteration, lanes=lanes, limits=limits)

    def walk(self, more: Callable[[], bool], passed: Callable[[TimelinePoint], None] = lambda point: None) -> bool:
        """Recompute towards the target while `more()`, telling `passed` every point; whether it is there."""
        if self.target is None:
            return True
        while self._walker.iteration < self.target:
            self._walker = self._next(self._walker)
            self.history.keep(self._walker, self.target)
            passed(self._walker)
            if not more():
                break
        if self._walker.iteration < self.target:
            return False
        self.point = self.runner.begun(self._walker)
        self.target = None
        return True


def replayed(runner: LaneRunner, origin: TimelinePoint, log: Iterable[Stamped], iteration: int) -> TimelinePoint:
    """The point at an iteration, computed from the beginning without any history."""
    point = origin
    for stamped in log:
        if stamped.iteration > iteration:
            break
        while point.iteration < stamped.iteration:
            point = runner.tick(point)
        point = apply_command(runner, point, stamped.command, known=True).point
    while point.iteration < iteration:
        point = runner.tick(point)
    return runner.begun(point)


def every_point(runner: LaneRunner, origin: TimelinePoint, log: Iterable[Stamped], end: int) -> Iterator[TimelinePoint]:
    """Every point from the beginning to an iteration, each with the edits that were made at it."""
    point, edits = origin, list(log)
    while True:
        while edits and edits[0].iteration <= point.iteration:
            point = apply_command(runner, point, edits.pop(0).command, known=True).point
        point = runner.begun(point)
        yield point
        if point.iteration >= end:
            return
        point = runner.tick(point)
