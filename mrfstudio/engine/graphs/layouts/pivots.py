"""A layout for large graphs: distances from a few pivots, flattened, then loosened where nodes stand on each other.

Pivot MDS ([BP07]): the doubly centred squared distances from each node to k pivots, projected on their two strongest
directions. It takes k breadth-first searches, so that fifty thousand nodes are placed in seconds, and shows the shape
of a graph where a spiral shows none. Parts that are not joined are laid out by themselves and set side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PIVOTS = 40
CROWD = 600
"""Nodes from which a middle may be too crowded to be read."""
AREA, WIDE = 1.6, 1.5
"""Room a node gets on the sheet, and how much wider than high that is."""
ROOM = 0.9
"""How far apart neighbours end up, in units."""


def pivot_layout(nodes: int, edges: np.ndarray) -> np.ndarray:
    """Positions (n, 2) float64; nodes have about a unit of room."""
    members, joined = components(nodes, edges), _joined(nodes, edges)
    boxes = [_component(joined[each][:, each]) if len(each) > 2 else _row(len(each)) for each in members]
    positions = np.zeros((nodes, 2))
    for each, points, corner in zip(members, boxes, packed(boxes), strict=True):
        positions[each] = points + corner
    return positions


def _joined(nodes: int, edges: np.ndarray) -> Any:
    """The adjacency matrix, (n, n) sparse."""
    from scipy.sparse import coo_matrix

    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    return coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes)).tocsr()


def components(nodes: int, edges: np.ndarray) -> list[np.ndarray]:
    """The nodes of each part of a graph whose parts are not joined."""
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(_joined(nodes, edges), directed=False)
    order = np.argsort(part, kind="stable")
    return np.split(order, np.cumsum(np.bincount(part, minlength=count))[:-1])


def _row(count: int) -> np.ndarray:
    return np.stack([np.arange(count, dtype=np.float64), np.zeros(count)], 1)


def _component(joined: Any) -> np.ndarray:
    """Positions of one connected part, its corner at the origin."""
    from scipy.sparse.csgraph import dijkstra

    nodes = joined.shape[0]
    away = np.zeros((min(PIVOTS, nodes), nodes))
    nearest, pivot = np.full(nodes, np.inf), 0
    for row in range(len(away)):  # each pivot is the node farthest from all before it
        away[row] = dijkstra(joined, directed=False, unweighted=True, indices=pivot)
        nearest = np.minimum(nearest, away[row])
        pivot = int(nearest.argmax())
    squared = away.T**2
    centred = -(squared - squared.mean(0) - squared.mean(1, keepdims=True) + squared.mean()) / 2
    _, _, directions = np.linalg.svd(centred.T @ centred)
    points = centred @ directions[:2].T
    spread = np.maximum(points.std(0), 1e-9)
    # A long thin picture wastes the screen: its short side is drawn out a little.
    points = points / spread * np.sqrt(spread * spread.max())
    points = loosened(_evened(points * (0.35 * np.sqrt(nodes) / points.std())))
    return points - points.min(0)


def _evened(points: np.ndarray) -> np.ndarray:
    """Points (n, 2) with as much room in a crowded middle as at a thin border, on a sheet that is wider than high.

    Along each axis a node moves towards its rank, the more the further the borders lie beyond nine tenths of all nodes:
    a random graph, which crowds like a bell curve, fills the sheet, and a ring stays as it is.
    """
    nodes = len(points)
    if nodes < CROWD:
        return points
    width, height = WIDE * np.sqrt(AREA * nodes / WIDE), np.sqrt(AREA * nodes / WIDE)
    made = points.copy()
    for axis, side in enumerate((width, height)):
        along = points[:, axis]
        low, high = np.quantile(along, [0.05, 0.95])
        crowded = np.clip((0.8 - (high - low) / max(float(np.ptp(along)), 1e-9)) / 0.3, 0.0, 1.0)
        rank = np.empty(nodes)
        rank[np.argsort(along, kind="stable")] = np.linspace(0, side, nodes)
        made[:, axis] = (1 - crowded) * along + crowded * rank
    return made


def loosened(points: np.ndarray) -> np.ndarray:
    """Nodes that stand on each other step apart until most have a unit of room."""
    from scipy.spatial import cKDTree

    angle = np.arange(len(points)) * 2.399963
    points = points + 1e-2 * np.stack([np.cos(angle), np.sin(angle)], 1)
    for _ in range(int(np.clip(500_000 / len(points), 15, 120))):
        distance, other = cKDTree(points).query(points, min(7, len(points)))
        way = points[:, None] - points[other[:, 1:]]
        missing = np.maximum(ROOM - distance[:, 1:], 0.0) / np.maximum(distance[:, 1:], 1e-2)
        if not (missing > 0.25).any():
            break
        push = (way * np.minimum(missing, 8.0)[..., None]).sum(1)
        length = np.hypot(push[:, 0], push[:, 1])[:, None]
        points = points + 0.5 * push * np.minimum(1.0, 1.0 / np.maximum(length, 1e-9))
    return points


def packed(boxes: list[np.ndarray]) -> np.ndarray:
    """Where the corner of each part stands: the largest first, in rows as wide as all together are high."""
    sizes = np.array([points.max(0) + 1.5 for points in boxes])
    wide = max(1.3 * np.sqrt((sizes[:, 0] * sizes[:, 1]).sum()), sizes[:, 0].max())
    corners = np.zeros_like(sizes)
    x = y = tall = 0.0
    for number in np.lexsort((-sizes[:, 0], -sizes[:, 1])).tolist():
        width, height = sizes[number]
        if x + width > wide and x > 0:
            x, y, tall = 0.0, y + tall, 0.0
        corners[number] = x, y
        x, tall = x + width, max(tall, height)
    return corners
