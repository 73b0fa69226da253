"""Elimination orders of graphs with many thousands of variables: the smallest table first, one draw.

Neighbours are sets: integers with a bit for each variable would take too much memory, and looking at fill edges too
much time. Where the smallest table that is left has more than 2^`HOPELESS` entries no exact way is near: what is left
is ordered by the number of its neighbours, and nobody is joined any more.
"""

from __future__ import annotations

import heapq

from mrfstudio.engine.inference.join.reduction import Reduced
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

HOPELESS = 40.0


def smallest_first(problem: Reduced) -> tuple[list[int], float, float]:
    """An order of all variables, log2 of its largest table, and the entries of all its tables together."""
    bits = problem.bits
    near: dict[int, set[int]] = {v: set() for v in problem.unary}
    for scope in problem.factors:
        for v in scope:
            near[v].update(scope)
    weights: dict[int, float] = {}
    for v, around in near.items():
        around.discard(v)
        weights[v] = bits[v] + sum(bits[x] for x in around)
    heap = [(weight, v) for v, weight in weights.items()]
    heapq.heapify(heap)
    order: list[int] = []
    width = entries = 0.0
    while heap:
        stop_if_interrupted()
        weight, v = heapq.heappop(heap)
        if weights.get(v) != weight:
            continue  # eliminated, or its table has changed since it was put here
        if weight > HOPELESS:
            rest = sorted(weights, key=lambda x: (weights[x], x))
            return order + rest, max(weights.values()), entries + 2.0 ** min(max(weights.values()), 1000.0)
        width, entries = max(width, weight), entries + 2.0**weight
        order.append(v)
        del weights[v]
        around = near.pop(v)
        for x in around:
            joined = near[x]
            joined |= around
            joined.discard(v)
            joined.discard(x)
            weights[x] = bits[x] + sum(bits[y] for y in joined)
            heapq.heappush(heap, (weights[x], x))
    return order, width, entries
