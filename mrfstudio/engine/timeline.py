"""One course of a session: where it began, every command with the iteration at which it applied, and where it is now.

    log        commands in the order they were given, stamped with iterations that never fall
    moment     what is shown; it may lie before `newest`
    history    key-frames from which any moment between is recomputed by the same ticks and commands

A command given while the past is shown branches: commands after the cursor are stamped anew with the cursor's
iteration, so that all evidence stays, and later messages are forgotten. What begins anew stamps everything with 0.
Either way the log, replayed from `origin`, gives the present moment bit for bit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from mrfstudio.engine.commands import Command
from mrfstudio.engine.edits import Continue, Edited, anew, edit
from mrfstudio.engine.history import BUDGET, History
from mrfstudio.engine.lanes import Moment, Stage

LONGEST_LOG = 20_000
"""Commands after which a fresh beginning also forgets the log, so that a session can go on for days."""


@dataclass(frozen=True, eq=False)
class Stamped:
    """A command and the iteration after which it was applied."""

    iteration: int
    command: Command


class Timeline:
    """Moments of one session in order."""

    def __init__(self, stage: Stage, origin: Moment, budget: int = BUDGET) -> None:
        self.stage = stage
        self.origin = anew(origin)
        self.log: list[Stamped] = []
        self.history = History(budget)
        self.newest = 0
        self.moment = stage.begun(self.origin)
        self.target: int | None = None
        """The iteration that is being recomputed, while it is."""
        self._walker = self.moment
        self.history.keep(self.moment, 0)

    @property
    def iteration(self) -> int:
        return self.moment.iteration

    @property
    def in_past(self) -> bool:
        return self.iteration < self.newest

    # Commands ---------------------------------------------------------------------------------------------------------

    def edit(self, command: Command) -> Edited:
        """Apply a command to the present evidence and the messages shown. Raises `StudioError`, and nothing changed."""
        edited = edit(self.stage, self.present(), command)
        if not edited.changed:
            return edited
        if edited.anew:
            self._begin_anew(edited.moment, command)
        else:
            self._stamp_later(self.iteration)
            self.log.append(Stamped(self.iteration, command))
            self._go_on_from(edited.moment)
        return edited

    def restart(self) -> None:
        """Begin anew with the present evidence."""
        self._begin_anew(anew(self.present()), None)

    def present(self) -> Moment:
        """The messages shown, under the evidence, lanes and limits that all commands so far give."""
        moment = self.moment
        for stamped in self.log[self._applied(moment) :]:
            if not isinstance(stamped.command, Continue):
                moment = edit(self.stage, moment, stamped.command, known=True).moment
        return moment

    def _applied(self, moment: Moment) -> int:
        """How many commands of the log a moment has behind it."""
        return bisect_right(self.log, moment.iteration, key=attrgetter("iteration"))

    def _stamp_later(self, iteration: int) -> None:
        """Stamp the commands after an iteration with it. Going on is no evidence: it is dropped."""
        first = bisect_right(self.log, iteration, key=attrgetter("iteration"))
        later = (s for s in self.log[first:] if not isinstance(s.command, Continue))
        self.log[first:] = [replace(stamped, iteration=iteration) for stamped in later]

    def _begin_anew(self, moment: Moment, command: Command | None) -> None:
        self._stamp_later(-1)
        self.log = [replace(stamped, iteration=0) for stamped in self.log]
        if command is not None:
            self.log.append(Stamped(0, command))
        if len(self.log) > LONGEST_LOG:
            self.origin, self.log = moment, []
        self._go_on_from(moment)

    def _go_on_from(self, moment: Moment) -> None:
        self.target = None
        self.moment = self.stage.begun(moment)
        self.newest = moment.iteration
        self.history.forget_after(moment.iteration)
        self.history.keep(self.moment, moment.iteration)

    def take_up(self, log: list[Stamped], newest: int) -> None:
        """Go on from a log that was stored; the moment is the one before the first iteration."""
        self.log, self.newest = log, newest
        self._put(replayed(self.stage, self.origin, log, 0))

    def put(self, moment: Moment) -> None:
        """Show a moment of this log that was stored."""
        self.target = None
        self._put(self.stage.begun(moment))

    def _put(self, moment: Moment) -> None:
        self.moment = moment
        self.history.keep(moment, moment.iteration)

    # Time -------------------------------------------------------------------------------------------------------------

    def forward(self) -> bool:
        """One iteration on: what was, as long as there is any, then something new. Returns whether it was new."""
        new = not self.in_past
        self.moment = self._next(self.moment)
        self.newest = max(self.newest, self.iteration)
        self.history.keep(self.moment, self.iteration)
        return new

    def _next(self, moment: Moment) -> Moment:
        moment = self.stage.tick(moment)
        for stamped in self.log[bisect_right(self.log, moment.iteration - 1, key=attrgetter("iteration")) :]:
            if stamped.iteration > moment.iteration:
                break
            moment = edit(self.stage, moment, stamped.command, known=True).moment
        return self.stage.begun(moment)

    def seek(self, iteration: int, *, with_previous: bool = False) -> None:
        """Set out for an iteration; `walk` goes there. `with_previous`: the state before is wanted too."""
        self.target = min(max(iteration, 0), self.newest)
        start = self.target - 1 if with_previous and self.target else self.target
        self._walker = self.history.before(start)

    def walk(self, more: Callable[[], bool], passed: Callable[[Moment], None] = lambda moment: None) -> bool:
        """Recompute towards the target while `more()`, telling `passed` every moment; whether it is there."""
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
        self.moment = self.stage.begun(self._walker)
        self.target = None
        return True


def replayed(stage: Stage, origin: Moment, log: Sequence[Stamped] | Iterable[Stamped], iteration: int) -> Moment:
    """The moment at an iteration, computed from the beginning without any history."""
    moment = origin
    for stamped in log:
        if stamped.iteration > iteration:
            break
        while moment.iteration < stamped.iteration:
            moment = stage.tick(moment)
        moment = edit(stage, moment, stamped.command, known=True).moment
    while moment.iteration < iteration:
        moment = stage.tick(moment)
    return stage.begun(moment)
