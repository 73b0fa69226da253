"""Where the squares of factors stand among the circles of variables: the same in the window and in a notebook."""

from __future__ import annotations

import numpy as np

CLEAR = 0.55
"""How far squares keep from nodes, in units: nodes of a lattice stand one apart."""
ROUNDS = 24
BEND = 0.3  # units between factors over the same two nodes


def middles_of(positions: np.ndarray, edges: np.ndarray, stars: np.ndarray) -> np.ndarray:
    """The middle of the variables of every factor, (factors, 2): edges (m, 2), then stars (k, 2) as in `GraphFrame`.

    Factors over the same two variables stand beside each other.
    """
    first, second = positions[edges[:, 0]], positions[edges[:, 1]]
    middles, again = (first + second) / 2, _repeats(edges)
    if again.any():
        way = second - first
        length = np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-6)[:, None]
        aside = np.stack([-way[:, 1], way[:, 0]], 1) / length
        side = np.where(again % 2 == 1, 1, -1) * ((again + 1) // 2)
        side = np.where(edges[:, 0] > edges[:, 1], -side, side)  # an edge the other way has its sides the other way
        middles = middles + BEND * side[:, None] * aside
    if not len(stars):
        return middles
    count = np.bincount(stars[:, 0])
    sums = [np.bincount(stars[:, 0], positions[stars[:, 1], axis]) for axis in (0, 1)]
    return np.concatenate([middles, np.stack(sums, 1) / count[:, None]])


def _repeats(edges: np.ndarray) -> np.ndarray:
    """For each edge how many before it join the same two nodes, (m,)."""
    if not len(edges):
        return np.zeros(0, np.int64)
    ends = np.sort(edges.astype(np.int64), 1)
    key = ends[:, 0] * (int(edges.max()) + 1) + ends[:, 1]
    order = np.argsort(key, kind="stable")
    fresh = np.r_[True, key[order][1:] != key[order][:-1]]
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(key)), 0))
    again = np.empty(len(key), np.int64)
    again[order] = np.arange(len(key)) - first
    return again


def room_of(positions: np.ndarray, edges: np.ndarray, stars: np.ndarray) -> np.ndarray:
    """How far each factor's square keeps from nodes, (factors,): on short edges less, or they would bend."""
    way = positions[edges[:, 1]] - positions[edges[:, 0]]
    larger = int(stars[:, 0].max(initial=-1)) + 1
    return np.concatenate([np.minimum(CLEAR, 0.45 * np.hypot(way[:, 0], way[:, 1])), np.full(larger, CLEAR)])


def cleared(squares: np.ndarray, nodes: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Squares (k, 2) moved until none is nearer than its `room` (k,) to a node (n, 2), or half of that to another."""
    places = squares.astype(np.float64).copy()
    # Two squares on the very same spot part in directions of their own.
    angle = np.arange(len(places)) * 2.399963
    nudge = 1e-3 * np.stack([np.cos(angle), np.sin(angle)], 1)
    for _ in range(ROUNDS):
        points = np.concatenate([nodes, places])
        mine, other = _near(places, points, CLEAR)
        keep = other != mine + len(nodes)
        mine, other = mine[keep], other[keep]
        way = places[mine] + nudge[mine] - points[other]
        distance = np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)
        reach = np.where(other < len(nodes), room[mine], room[mine] / 2)
        missing = reach - distance
        close = missing > 1e-3
        if not close.any():
            break
        push = way[close] * (missing[close] / distance[close])[:, None]
        # Squares share the way with each other; nodes do not move.
        push *= np.where(other[close] >= len(nodes), 0.5, 1.0)[:, None]
        for axis in (0, 1):
            places[:, axis] += np.bincount(mine[close], push[:, axis], minlength=len(places))
    return places


def _near(mine: np.ndarray, points: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (index in `mine`, index in `points`) that may be within `reach`: those of the same or touching cells."""
    low = points.min(0, initial=0.0)
    cells, here = (np.floor((each - low) / reach).astype(np.int64) for each in (points, mine))
    wide = int(max(cells[:, 0].max(initial=0), here[:, 0].max(initial=0))) + 3
    key = (cells[:, 1] + 1) * wide + cells[:, 0] + 1
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    found_mine, found_other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            wanted = (here[:, 1] + 1 + down) * wide + here[:, 0] + 1 + right
            first, last = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
            count = last - first
            owner = np.repeat(np.arange(len(mine)), count)
            step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
            found_mine.append(owner)
            found_other.append(order[np.repeat(first, count) + step])
    return np.concatenate(found_mine), np.concatenate(found_other)
