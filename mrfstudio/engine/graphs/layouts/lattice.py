"""Whether a graph is a lattice of rows and columns, whatever its file calls its variables."""

from __future__ import annotations

import numpy as np

LEAST = 0.8
"""Part of a lattice's edges that must be there: a few may be missing where a file leaves out what says nothing."""


def row_by_row(nodes: int, edges: np.ndarray) -> tuple[int, int] | None:
    """Rows and columns of a lattice, or a torus, with nodes numbered row by row and edges (n, 2); None for others."""
    if nodes < 9 or len(edges) < nodes:
        return None
    first, second = edges.min(1), edges.max(1)
    pairs = len(np.unique(first.astype(np.int64) * nodes + second))
    for columns in range(3, nodes // 3 + 1):
        rows, rest = divmod(nodes, columns)
        if rest or pairs < LEAST * (2 * nodes - rows - columns):
            continue
        (row, column), (other_row, other_column) = np.divmod(first, columns), np.divmod(second, columns)
        down, right = other_row - row, np.abs(other_column - column)
        down, right = np.minimum(down, rows - down), np.minimum(right, columns - right)
        if (down + right == 1).all():
            return rows, columns
    return None


def by_corners(nodes: int, edges: np.ndarray) -> np.ndarray | None:
    """Positions (n, 2) float32 of a whole lattice whose nodes are numbered anyhow; None where it is none.

    With the distances a and b from two corners of one side of c columns, a node is in column (a - b + c - 1) / 2.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import dijkstra

    if nodes < 9 or not nodes < len(edges) < 2 * nodes:
        return None
    joined = coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes)).tocsr()
    degrees = np.asarray((joined + joined.T).astype(bool).sum(1)).ravel()
    corners = np.flatnonzero(degrees == 2)
    if len(corners) != 4 or degrees.max() > 4:
        return None
    away = dijkstra(joined, directed=False, unweighted=True, indices=corners)
    if not np.isfinite(away).all():
        return None
    # Of the other corners the farthest lies across; the two others are the ends of sides.
    order = np.argsort(away[0, corners])
    side = away[order[2]].astype(np.int64)
    first, columns = away[0].astype(np.int64), int(away[0, corners[order[2]]]) + 1
    column = (first - side + columns - 1) // 2
    row = first - column
    places = np.stack([column, row], 1)
    steps = np.abs(places[edges[:, 0]] - places[edges[:, 1]]).sum(1)
    if (steps != 1).any() or len(np.unique(places, axis=0)) != nodes or places.min() < 0:
        return None
    return (places + 0.5).astype(np.float32)
