"""The strongest loops through a message: ways by which what a factor says comes back to it.

A factor of strength s passes on about tanh(s) of what it hears; a loop passes on the product of its factors. The
strongest way back is a shortest path with lengths -log tanh(s).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import neighbours_of, scope_of
from mrfstudio.engine.graphs.strength import strengths_of

MOST_VISITED = 20_000
TRIES = 8  # factors of the best loop that are left out in turn to find others


@dataclass(frozen=True)
class Loop:
    """Factors and variables of a loop in turn, beginning at the message's factor; how much of a message comes back.

    `sign` is -1 where an odd number of its factors favours different states, 0 where that has no meaning.
    """

    factors: tuple[int, ...]
    variables: tuple[int, ...]
    strength: float
    sign: int


def loops_through(graph: FactorGraph, factor: int, axis: int, most: int = 5) -> list[Loop]:
    """The strongest loops through the message of a factor to its variable `axis`, the strongest first."""
    scope = scope_of(graph, factor)
    start = scope[axis]
    found: dict[frozenset[int], Loop] = {}

    def look(left_out: frozenset[int]) -> list[Loop]:
        made = []
        for goal in scope:
            if goal == start:
                continue
            path = _path(graph, start, goal, left_out)
            if path is not None:
                loop = _loop(graph, factor, start, path)
                if found.setdefault(frozenset(loop.factors), loop) is loop:
                    made.append(loop)
        return made

    first = look(frozenset((factor,)))
    for loop in sorted(first, key=lambda each: -each.strength)[:2]:
        for other in loop.factors[1 : 1 + TRIES]:
            look(frozenset((factor, other)))
    return sorted(found.values(), key=lambda each: -each.strength)[:most]


def _path(graph: FactorGraph, start: int, goal: int, left_out: frozenset[int]) -> list[tuple[int, int]] | None:
    """Pairs (factor, variable after it) of the strongest way between two variables."""
    strength, _ = strengths_of(graph)
    length = -np.log(np.maximum(np.tanh(strength.astype(np.float64)), 1e-9))
    best = {start: 0.0}
    came: dict[int, tuple[int, int]] = {}
    queue, visited = [(0.0, start)], 0
    while queue and visited < MOST_VISITED:
        away, variable = heapq.heappop(queue)
        if away > best[variable]:
            continue
        visited += 1
        if variable == goal:
            path, place = [], goal
            while place != start:
                path.append((came[place][0], place))
                place = came[place][1]
            return path[::-1]
        for factor, _ in neighbours_of(graph, variable):
            if factor in left_out:
                continue
            further = away + float(length[factor])
            for other in scope_of(graph, factor):
                if other != variable and further < best.get(other, math.inf):
                    best[other], came[other] = further, (factor, variable)
                    heapq.heappush(queue, (further, other))
    return None


def _loop(graph: FactorGraph, factor: int, start: int, path: list[tuple[int, int]]) -> Loop:
    strength, sign = strengths_of(graph)
    factors = (factor, *(each for each, _ in path))
    variables = (start, *(variable for _, variable in path))
    passed = float(np.prod(np.tanh(strength[list(factors)].astype(np.float64))))
    return Loop(factors, variables, passed, int(np.prod(sign[list(factors)].astype(np.int64))))
