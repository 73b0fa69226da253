"""Frustrated cycles: around them the wishes of factors cannot all come true, and there BP often swings.

A cycle of factors of two variables is frustrated where an odd number of them favours different states ([Tou77]).
The shortest frustrated cycle through an edge is a shortest path from one of its nodes to the other in the graph with
two copies of each node, one for each parity of the negative edges passed.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.graphs.strength import strengths_of

LONGEST = 12  # edges of a cycle; longer ones carry little back
SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Frustration:
    """The factors (k,) int64 on frustrated cycles, and a sentence about them."""

    factors: np.ndarray
    text: str


def frustrated_factors(graph: FactorGraph, longest: int = LONGEST, seconds: float = SECONDS) -> Frustration:
    """Every factor of two variables on a frustrated cycle of at most `longest` of them, as far as the time goes."""
    edges, signs = links_of(graph).edges, strengths_of(graph)[1][: len(links_of(graph).edges)]
    signed = np.flatnonzero(signs)
    if not len(signed):
        return Frustration(np.zeros(0, np.int64), "No factor here favours equal or different states.")
    near: list[list[tuple[int, int, bool]]] = [[] for _ in range(graph.variables)]
    for edge in signed.tolist():
        first, second = edges[edge].tolist()
        near[first].append((second, edge, bool(signs[edge] < 0)))
        near[second].append((first, edge, bool(signs[edge] < 0)))
    lit, searched, until = np.zeros(len(edges), np.bool_), 0, time.monotonic() + seconds
    for edge in signed.tolist():
        searched += 1
        if lit[edge]:
            continue
        first, second = edges[edge].tolist()
        lit[_cycle(near, edge, first, second, bool(signs[edge] > 0), longest)] = True
        if time.monotonic() > until:
            break
    found = np.flatnonzero(lit)
    many = "No cycle is frustrated" if not len(found) else f"{len(found)} of {len(signed)} lie on frustrated cycles"
    rest = "" if searched == len(signed) else f"; looked at {searched} of {len(signed)} edges"
    return Frustration(found, f"{many}, of up to {longest} edges{rest}.")


def _cycle(
    near: list[list[tuple[int, int, bool]]], edge: int, start: int, goal: int, odd: bool, longest: int
) -> list[int]:
    """The edges of a shortest path from `start` to `goal` with an odd, or even, number of negative edges, and `edge`
    itself; empty where there is none.
    """
    begin, end = (start, False), (goal, odd)
    came: dict[tuple[int, bool], tuple[tuple[int, bool], int]] = {}
    queue: deque[tuple[tuple[int, bool], int]] = deque([(begin, 1)])
    while queue:
        place, length = queue.popleft()
        if place == end:
            path = [edge]
            while place != begin:
                place, passed = came[place]
                path.append(passed)
            return path
        if length >= longest:
            continue
        for other, passed, negative in near[place[0]]:
            following = (other, place[1] ^ negative)
            if passed != edge and following not in came and following != begin:
                came[following] = (place, passed)
                queue.append((following, length + 1))
    return []
