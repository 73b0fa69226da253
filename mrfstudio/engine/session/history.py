"""Key-frames: points that a session can return to, within a memory budget.

Between key-frames points are recomputed, so any subset will do. The first and the newest always stay (the first costs
nothing: states before the first step are made again); the others are thinned so that the gaps between them grow with
their distance from where the person is looking. Then n points need memory in the order of log n. Where an edit lets
everything begin anew, as strokes on a photograph do, that alone is kept of every edit, at nearly no cost: no point is
further from one than a run is long.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import NamedTuple

import numpy as np

from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.session.held import Held, Pieces, pieces_of
from mrfstudio.engine.session.lanes import Lane, TimelinePoint

BUDGET = 256 * 2**20
MOST = 1000
"""Key-frames of models so small that memory is no limit; more only make thinning slow."""
SPARE = 0.75  # thin down to this part of the budget, so that it is not done at every iteration


class Beginning(NamedTuple):
    """Lanes without messages at an edit after which everything begins anew; the document follows from the log."""

    lanes: tuple[Lane, ...]
    limits: Limits


class History:
    """Moments by iteration, one for each, the one kept last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self.others = 0
        """Bytes of the budget that something else takes, such as the messages of undo."""
        self._points: dict[int, tuple[TimelinePoint, Pieces]] = {}
        self._iterations: list[int] = []
        self._held = Held()
        self._beginnings: dict[int, Beginning] = {}

    @property
    def bytes(self) -> int:
        """What all key-frames hold together."""
        return self._held.bytes

    @property
    def iterations(self) -> tuple[int, ...]:
        """Where key-frames are, in order."""
        return tuple(self._iterations)

    def keep(self, point: TimelinePoint, near: int) -> None:
        """Add or replace the key-frame of a point; `near` is the iteration that a person looks at."""
        if point.iteration in self._points:
            self._drop(point.iteration)
        else:
            insort(self._iterations, point.iteration)
        if point.begins_anew:
            self._beginnings[point.iteration] = Beginning(point.bare_lanes(), point.limits)
        lean = point.lean()
        pieces = pieces_of(lean)
        self._points[point.iteration] = lean, pieces
        self._held.add(pieces)
        if self.bytes > self.budget - self.others or len(self._iterations) > MOST:
            self.thin(near, round(SPARE * (self.budget - self.others)))

    def before(self, iteration: int) -> TimelinePoint:
        """The key-frame at an iteration, or the nearest before it."""
        return self._points[self._iterations[bisect_right(self._iterations, iteration) - 1]][0]

    def beginning(self, after: int, before: int) -> tuple[int, Beginning] | None:
        """The last iteration between two others from which on everything begins anew, and its lanes."""
        found = max((at for at in self._beginnings if after < at < before), default=None)
        return None if found is None else (found, self._beginnings[found])

    def since(self, iteration: int) -> list[TimelinePoint]:
        """All key-frames after an iteration, in order."""
        return [self._points[kept][0] for kept in self._iterations[bisect_right(self._iterations, iteration) :]]

    def forget_after(self, iteration: int) -> None:
        first = bisect_right(self._iterations, iteration)
        for late in self._iterations[first:]:
            self._drop(late)
        del self._iterations[first:]
        self._beginnings = {at: each for at, each in self._beginnings.items() if at <= iteration}

    def clear(self) -> None:
        self.forget_after(-1)

    def thin(self, near: int, most: int) -> None:
        """Let key-frames go until the others take at most so many bytes; the first, the newest and that at `near` stay.

        Those go whose loss leaves the smallest gaps compared with their distance from `near`.
        """
        while len(self._iterations) > 2 and (self.bytes > most or len(self._iterations) > SPARE * MOST):
            times = np.asarray(self._iterations)
            gap = times[2:] - times[:-2]
            worth = gap / (1.0 + np.abs(times[1:-1] - near))
            here = bisect_left(self._iterations, near)
            if 0 < here < len(times) - 1 and times[here] == near:
                worth[here - 1] = np.inf
                if len(worth) == 1:
                    return
            victim = int(worth.argmin()) + 1
            self._drop(self._iterations.pop(victim))

    def _drop(self, iteration: int) -> None:
        self._held.drop(self._points.pop(iteration)[1])
