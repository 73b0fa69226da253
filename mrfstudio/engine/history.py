"""Key-frames: moments that a session can return to, within a memory budget.

Between key-frames moments are recomputed, so any subset will do. The first and the newest always stay (the first costs
nothing: states before the first step are made again); the others are thinned so that the gaps between them grow with
their distance from where the person is looking. Then n moments need memory in the order of log n.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter

import numpy as np

from mrfstudio.engine.lanes import Moment, state_tensors

BUDGET = 256 * 2**20
MOST = 1000
"""Key-frames of models so small that memory is no limit; more only make thinning slow."""
SPARE = 0.75  # thin down to this part of the budget, so that it is not done at every iteration


class History:
    """Moments by iteration, one for each, the one kept last."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self.bytes = 0
        """What all key-frames hold together; tensors and layers that several of them share count once."""
        self._moments: dict[int, Moment] = {}
        self._iterations: list[int] = []
        self._owners: Counter[int] = Counter()  # by identity, how many key-frames hold a state or a document

    @property
    def iterations(self) -> tuple[int, ...]:
        """Where key-frames are, in order."""
        return tuple(self._iterations)

    def keep(self, moment: Moment, near: int) -> None:
        """Add or replace the key-frame of a moment; `near` is the iteration that a person looks at."""
        if moment.iteration in self._moments:
            self._count(self._moments.pop(moment.iteration), -1)
        else:
            insort(self._iterations, moment.iteration)
        self._moments[moment.iteration] = lean = moment.lean()
        self._count(lean, 1)
        if self.bytes > self.budget or len(self._iterations) > MOST:
            self._thin(near)

    def before(self, iteration: int) -> Moment:
        """The key-frame at an iteration, or the nearest before it."""
        return self._moments[self._iterations[bisect_right(self._iterations, iteration) - 1]]

    def since(self, iteration: int) -> list[Moment]:
        """All key-frames after an iteration, in order."""
        return [self._moments[kept] for kept in self._iterations[bisect_right(self._iterations, iteration) :]]

    def forget_after(self, iteration: int) -> None:
        first = bisect_right(self._iterations, iteration)
        for late in self._iterations[first:]:
            self._drop(late)
        del self._iterations[first:]

    def clear(self) -> None:
        self.forget_after(-1)

    def _thin(self, near: int) -> None:
        """Take out the key-frames whose loss leaves the smallest gaps compared with their distance from `near`."""
        while len(self._iterations) > 2 and (self.bytes > SPARE * self.budget or len(self._iterations) > SPARE * MOST):
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
        self._count(self._moments.pop(iteration), -1)

    def _count(self, moment: Moment, change: int) -> None:
        for key, size in _parts(moment).items():
            before = self._owners[key]
            self._owners[key] += change
            if before == 0 or self._owners[key] == 0:
                self.bytes += change * size
            if self._owners[key] == 0:
                del self._owners[key]


def _parts(moment: Moment) -> dict[int, int]:
    """What a moment holds: identity to bytes. Tensors that one state takes from another count once."""
    parts = {}
    for lane in moment.lanes:
        if lane.state is not None:
            for _, tensor in state_tensors(lane.state):
                parts[id(tensor)] = tensor.nbytes
    for array in moment.document.arrays.values():
        parts[id(array)] = array.nbytes
    if moment.document.graph is not None:
        parts |= {id(array): array.nbytes for array in moment.document.graph.arrays.values()}
    return parts
