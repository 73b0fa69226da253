"""In which order variables are eliminated: the one that joins the fewest strangers first, drawn again and again.

Eliminating a variable joins all its neighbours. Min-fill takes the variable that adds the fewest new edges, each
weighted by the states at its ends: without the weights, tables of many-valued variables become a thousand times larger.
Variables that add none go first, once and for all. For the others several draws are made, one of them along the
graph's bands, which is better on lattices; the one whose tables have the fewest entries in all is kept, and changed
from some place on, with costs that vary a little, as long as that is worth it. Draws of one graph differ by a factor of
a hundred and more; they end when the tables are small, or when another draw would take longer than it could save.

Neighbours of a variable are the bits of an integer.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.inference.join.large_orders import smallest_first
from mrfstudio.engine.inference.join.reduction import Reduced
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

EASY = 2.0**18
"""Entries of all tables together below which no better order is looked for."""
COSTS = 2_600_000
"""Neighbours looked at in all draws together, about, which takes about a second."""
PATIENCE, LEAST = 3.0, 0.3
"""The search ends where it has looked at so many times what it took to find the best order, and at this part of all."""
WORTH = 16.0
"""Entries of tables that are summed while one neighbour is looked at."""
FRESH = 6
"""Draws from the beginning. Later ones keep some of the best order so far and change the rest …"""
LATEST = 0.95
"""… from this part of it on, at the latest."""
NOISE = 0.3
"""By what part of themselves costs vary in those."""
CROWD = 400
"""Neighbours of neighbours beyond which their costs are not counted again at every elimination: it is only a guess."""
HOPELESS = 80.0
"""Bits of a table beyond which no exact way is near, and neither another draw nor the rest of one is worth its time."""
LARGE = 6000
"""Variables beyond which integers with a bit for each are too long (`large_orders.py`)."""

Near = list[int]
"""For each variable, by number, its neighbours as bits."""
Cost = Callable[[Near, int], float]
Weights = list[float] | None
"""What an edge that is added costs is the product of these for its two ends; None where edges do not count."""


@dataclass(frozen=True)
class Order:
    """An elimination order, log2 of its largest table, and the entries of all its tables together."""

    variables: tuple[int, ...]
    width: float
    entries: float


def best_order(
    problem: Reduced, seed: int = 0, effort: float = 1.0, enough: Callable[[], bool] = lambda: False
) -> Order:
    """The best of some draws; no more of them than needed, `effort` times as many as usual, and none any more once it
    is `enough`.
    """
    if len(problem.unary) > LARGE:
        variables, width, entries = smallest_first(problem)
        return Order(tuple(variables), width, entries)
    search = _Search(problem, random.Random(seed))
    search.begin()
    number = 0
    while search.best is None or (search.worth_another(number, effort) and not enough()):
        if number == 1:
            search.along(_banded(search.near, search.left))
        elif number < FRESH:
            search.draw(("fill", "plain", "size")[number % 3], 0.0)
        else:
            search.draw("fill", NOISE, int(len(search.left) * search.random.uniform(0.0, LATEST)))
        number += 1
    return search.best


def along(problem: Reduced, variables: Iterable[int], most: float = math.inf) -> Order | None:
    """What a given order costs; None where its tables have `most` entries or more."""
    search = _Search(problem, random.Random(0))
    place = {v: number for number, v in enumerate(search.variables)}
    search.most = most
    search.along([place[v] for v in variables])
    return search.best


class _Search:
    """Draws of elimination orders on one graph, and the best of them so far."""

    def __init__(self, problem: Reduced, draw: random.Random) -> None:
        self.variables = list(problem.unary)
        self.bits = [problem.bits[v] for v in self.variables]
        self.classes = [
            (bits, sum(1 << n for n, own in enumerate(self.bits) if own == bits)) for bits in sorted(set(self.bits))
        ]
        self.near = neighbours(problem)
        self.random = draw
        self.begun: list[int] = []
        self.begun_entries = self.begun_width = 0.0
        self.best: Order | None = None
        self.order: list[int] = []
        self.most = math.inf
        self.looked = self.found = 0.0
        """Neighbours looked at so far, and when the best order was found."""
        self.pace = 1 + len(self.variables) / 1000
        """How many times longer it takes where integers are long."""

    def worth_another(self, number: int, effort: float) -> bool:
        """Whether the order is not good enough yet, and another draw could save more than it takes."""
        assert self.best is not None
        if self.best.entries <= EASY or not self.left:
            return False
        if self.best.width > HOPELESS:
            return number < 2
        most = effort * min(COSTS, self.best.entries / WORTH)
        return number < 2 or self.looked < min(most, PATIENCE * self.found + LEAST * effort * COSTS)

    def begin(self) -> None:
        """Eliminate, once for all draws, variables whose neighbours are neighbours of each other already."""
        near = self.near
        waiting = list(range(len(near)))
        gone = [False] * len(near)
        while waiting:
            stop_if_interrupted()
            v = waiting.pop()
            if gone[v] or self.plain_fill(near, v):
                continue
            gone[v] = True
            self.begun.append(v)
            bits = self.bits[v] + self.weight(near[v])
            self.begun_width = max(self.begun_width, bits)
            self.begun_entries += 2.0 ** min(bits, 1000.0)
            for x in bits_of(near[v]):
                near[x] &= ~(1 << v)
                waiting.append(x)
            near[v] = 0
        self.left = [v for v in range(len(near)) if not gone[v]]

    def _kind(self, name: str) -> tuple[Cost, Weights]:
        """How costs are counted, and what an edge costs."""
        if name == "size":
            return self.size, None
        if name == "plain" or len(self.classes) == 1:
            return self.plain_fill, [1.0] * len(self.near)
        return self.fill, self.bits

    def draw(self, name: str, noise: float, kept: int = 0) -> None:
        """The cheapest first, with costs that vary by a part of themselves, after so many of the best order so far."""
        near, draw = list(self.near), self.random.random
        cost, weights = self._kind(name)
        order = self.order[:kept]
        width, entries = self.begun_width, self.begun_entries
        for v in order:
            bits = self.bits[v] + self.weight(near[v])
            width, entries = max(width, bits), entries + 2.0 ** min(bits, 1000.0)
            _join(near, v)
        costs = {v: cost(near, v) for v in (set(self.left).difference(order) if kept else self.left)}
        factors = {v: 1 + noise * draw() for v in costs}
        keys = {v: factors[v] * each for v, each in costs.items()}
        heap = [(each, draw(), v) for v, each in keys.items()]
        heapq.heapify(heap)
        while heap:
            stop_if_interrupted()
            each, _, v = heapq.heappop(heap)
            if keys.get(v) != each:
                continue  # eliminated, or its cost has changed since it was put here
            del keys[v]
            order.append(v)
            bits = self.bits[v] + self.weight(near[v])
            width, entries = max(width, bits), entries + 2.0 ** min(bits, 1000.0)
            if entries >= self.most:
                return
            if width > HOPELESS:  # the rest by what it costs now, and nobody is joined any more
                order += sorted(keys, key=lambda x: (keys[x], x))
                break
            others = self._spare(near, v, weights, costs)
            for x in _join(near, v):
                costs[x] = cost(near, x)
                others.add(x)
            for x in others:
                keys[x] = factors[x] * costs[x]
                heapq.heappush(heap, (keys[x], draw(), x))
        self._keep(order, width, max(entries, 2.0 ** min(width, 1000.0)))

    def along(self, order: list[int]) -> None:
        """A given order of what was not eliminated to begin with."""
        near = list(self.near)
        width, entries = self.begun_width, self.begun_entries
        for v in order:
            bits = self.bits[v] + self.weight(near[v])
            width, entries = max(width, bits), entries + 2.0 ** min(bits, 1000.0)
            if entries >= self.most:
                return
            _join(near, v)
        self._keep(order, width, entries)

    def _keep(self, order: list[int], width: float, entries: float) -> None:
        variables = tuple(self.variables[v] for v in (*self.begun, *order))
        self.order = list(order)
        self.best, self.most, self.found = Order(variables, width, entries), entries, self.looked

    def _spare(self, near: Near, v: int, weights: Weights, costs: dict[int, float]) -> set[int]:
        """Edges that v's elimination adds are spared to all others that see both ends: lower their costs, say whose."""
        changed: set[int] = set()
        if weights is None:
            return changed
        around, further = near[v], 0
        members = list(bits_of(around))
        for x in members:
            further |= near[x]
        outside = further & ~around & ~(1 << v)
        if outside.bit_count() > CROWD:
            return changed
        for x in members:
            for y in bits_of(around & ~near[x] & (-2 << x)):
                both = near[x] & near[y] & outside
                spared = 2 * weights[x] * weights[y]
                for w in bits_of(both):
                    costs[w] -= spared
                    changed.add(w)
                self.looked += self.pace * (1 + both.bit_count() / 2)
        return changed

    def weight(self, mask: int) -> float:
        """log2 of the entries of a table over these variables."""
        if len(self.classes) == 1:
            return self.classes[0][0] * mask.bit_count()
        return sum(bits * (mask & own).bit_count() for bits, own in self.classes)

    def fill(self, near: Near, v: int) -> float:
        """Twice the edges that eliminating a variable would add, each times the bits at both ends."""
        around, bits, total = near[v], self.bits, 0.0
        classes = [(each, mask) for each, own in self.classes if (mask := own & around)]
        if len(classes) == 1:
            return classes[0][0] ** 2 * self.plain_fill(near, v)
        for x in bits_of(around):
            strangers = around & ~near[x]
            if strangers != 1 << x:
                weight = sum(each * (strangers & mask).bit_count() for each, mask in classes)
                total += bits[x] * (weight - bits[x])
        self.looked += self.pace * around.bit_count() * (1 + len(classes)) / 2
        return total

    def plain_fill(self, near: Near, v: int) -> float:
        """The same without weights."""
        around = near[v]
        count = around.bit_count()
        self.looked += self.pace * count
        return float(sum(count - 1 - (around & near[x]).bit_count() for x in bits_of(around)))

    def size(self, near: Near, v: int) -> float:
        """The table of the variable and its neighbours first, then the edges that it adds."""
        return self.weight(near[v]) + self.bits[v] + 1e-6 * self.plain_fill(near, v)


def neighbours(problem: Reduced) -> Near:
    """Which variables, numbered as in `unary`, share a factor."""
    place = {v: number for number, v in enumerate(problem.unary)}
    near = [0] * len(place)
    for scope in problem.factors:
        mask = sum(1 << place[v] for v in scope)
        for v in scope:
            near[place[v]] |= mask
    return [mask & ~(1 << number) for number, mask in enumerate(near)]


def bits_of(mask: int) -> Iterator[int]:
    """Places of the ones of an integer."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _banded(near: Near, left: list[int]) -> list[int]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    place = {v: number for number, v in enumerate(left)}
    pairs = np.array([(place[v], place[x]) for v in left for x in bits_of(near[v])]).reshape(-1, 2)
    touching = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(left), len(left)))
    return [left[int(number)] for number in reverse_cuthill_mckee(touching.tocsr(), symmetric_mode=True)]


def _join(near: Near, v: int) -> list[int]:
    """Join v's neighbours and take v away; returns these."""
    around = near[v]
    members = list(bits_of(around))
    for x in members:
        near[x] = (near[x] | around) & ~(1 << x | 1 << v)
    return members
