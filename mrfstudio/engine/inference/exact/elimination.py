"""In which order to sum variables out, and how large the tables on the way become."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph


def elimination_order(model: FactorGraph) -> list[int]:
    """Variables in a good order: the cheapest first, or along the graph's bands where that needs smaller tables.

    On lattices the first leaves large fronts in the middle; the second goes through them row by row.
    """

    def make() -> list[int]:
        cheapest, largest = eliminated(model, math.inf)
        banded = _banded(model)
        return banded if _largest_along(model, banded) < largest else cheapest

    return model.structural("elimination order", make)


def elimination_bytes(model: FactorGraph, give_up: float) -> float:
    """Bytes of the largest table when variables are summed out one by one, the cheapest first.

    Returns early with a value above `give_up` once that is passed.
    """
    return eliminated(model, give_up)[1]


def eliminated(model: FactorGraph, give_up: float) -> tuple[list[int], float]:
    """Variables in the order of the cheapest first, and the bytes of the largest joint table."""
    neighbours = _neighbours(model)
    logs = np.log2(model.cardinalities.astype(np.float64))
    itemsize = torch.finfo(model.dtype).bits // 8

    def cost(variable: int) -> float:
        return float(sum(logs[v] for v in neighbours[variable]))

    heap = [(cost(v), v) for v in range(model.variables)]
    heapq.heapify(heap)
    done = [False] * model.variables
    order: list[int] = []
    largest = 0.0
    while heap:
        size, variable = heapq.heappop(heap)
        if done[variable] or size != cost(variable):
            continue  # an entry from before a neighbour was eliminated
        largest = max(largest, itemsize * 2.0 ** min(size, 1000.0))
        if largest > give_up:
            break
        done[variable] = True
        order.append(variable)
        for other in _joined(neighbours, variable):
            heapq.heappush(heap, (cost(other), other))
    return order, largest


def _banded(model: FactorGraph) -> list[int]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pairs = np.array([(v, other) for v, near in enumerate(_neighbours(model)) for other in near]).reshape(-1, 2)
    shape = (model.variables, model.variables)
    touching = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=shape)
    return [int(v) for v in reverse_cuthill_mckee(touching.tocsr(), symmetric_mode=True)]


def _largest_along(model: FactorGraph, order: Sequence[int]) -> float:
    neighbours = _neighbours(model)
    logs = np.log2(model.cardinalities.astype(np.float64))
    largest = 0.0
    for variable in order:
        largest = max(largest, float(sum(logs[v] for v in neighbours[variable])))
        _joined(neighbours, variable)
    return torch.finfo(model.dtype).bits // 8 * 2.0 ** min(largest, 1000.0)


def _neighbours(model: FactorGraph) -> list[set[int]]:
    """Of each variable those it shares a factor with, itself among them."""
    neighbours: list[set[int]] = [{v} for v in range(model.variables)]
    for group in model.groups:
        for members in group.scopes.T.tolist():
            for variable in members:
                neighbours[variable].update(members)
    return neighbours


def _joined(neighbours: list[set[int]], variable: int) -> set[int]:
    """Sum a variable out: all that were around it are neighbours of each other from then on."""
    clique = neighbours[variable] - {variable}
    for other in clique:
        neighbours[other] |= clique
        neighbours[other].discard(variable)
    return clique
