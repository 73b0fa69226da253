"""A contraction path for small graphs, found in less time than their contraction takes: variables one by one, the one
whose factors together have the smallest table first; its factors are multiplied two at a time, small ones first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class PathStep(NamedTuple):
    """Places of what is contracted among the operands that are left, its variables, and which of those are kept.

    The result goes to the end of the operands.
    """

    chosen: tuple[int, ...]
    joined: frozenset[int]
    kept: frozenset[int]


def quick_path(scopes: Sequence[tuple[int, ...]], sizes: Mapping[int, int]) -> list[PathStep]:
    """Pairs, and single operands that nothing is left to be multiplied with, until all are numbers."""
    alive = list(range(len(scopes)))
    members = [frozenset(scope) for scope in scopes]
    of: dict[int, set[int]] = {}
    near: dict[int, set[int]] = {}  # the variables that share an operand with each, and itself
    for number, scope in enumerate(members):
        for v in scope:
            of.setdefault(v, set()).add(number)
            near.setdefault(v, set()).update(scope)
    path: list[PathStep] = []

    def weight(v: int) -> int:
        return math.prod(map(sizes.__getitem__, near[v]))

    def contract(*chosen: int) -> int:
        places = tuple([alive.index(number) for number in chosen])
        joined = frozenset().union(*[members[number] for number in chosen])
        for number in chosen:
            alive.remove(number)
            for v in members[number]:
                of[v].discard(number)
        kept = frozenset([v for v in joined if of[v]])
        gone = joined - kept
        path.append(PathStep(places, joined, kept))
        for v in kept:
            of[v].add(len(members))
            near[v] |= kept
            near[v] -= gone
        alive.append(len(members))
        members.append(kept)
        return len(members) - 1

    weights = {v: weight(v) for v in of}
    heap = [(each, v) for v, each in weights.items()]
    heapq.heapify(heap)
    while heap:
        each, v = heapq.heappop(heap)
        if weights.get(v) != each:
            continue
        del weights[v]
        touched: set[int] = set()
        while len(of[v]) > 1:
            one, other = sorted(of[v], key=lambda number: (len(members[number]), number))[:2]
            touched |= members[contract(one, other)]
        touched.update(*(members[contract(number)] for number in list(of[v]) if _finished(members[number], of)))
        for u in touched.intersection(weights):
            now = weight(u) if of[u] else 1
            if now != weights[u]:
                weights[u] = now
                heapq.heappush(heap, (now, u))
    return path


def _finished(scope: frozenset[int], of: Mapping[int, set[int]]) -> bool:
    """Whether no other operand has any of these variables."""
    return all(len(of[v]) == 1 for v in scope)
