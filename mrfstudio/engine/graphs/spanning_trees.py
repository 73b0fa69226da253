"""How often an edge is in a spanning tree drawn uniformly: the matrix-tree theorem.

The probability is the effective resistance of the edge with unit resistors, μ_st = Z_ss + Z_tt - 2 Z_st, where Z
inverts the Laplacian with one node of each component grounded. Only entries of Z on edges are needed: small graphs
invert densely, large sparse ones follow their LU factors backwards (Takahashi's equations).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.protocol.errors import StudioError

# scipy's sparse matrices are imported where they are used: whoever lists the algorithms need not wait for them.
if TYPE_CHECKING:
    from scipy import sparse

DENSE = 1500
"""Nodes up to which a dense inverse is quicker than the sparse one."""
MOST_ENTRIES = 200_000_000
"""Entries of all fronts together that are still worth it: about a minute and a gigabyte and a half."""


class TooDense(StudioError):
    """The graph is too large and too dense for its spanning trees to be counted."""


def appearance_probabilities(nodes: int, edges: np.ndarray) -> np.ndarray:
    """μ (m,) for edges (m, 2) of a graph of any number of components; parallel edges are counted each for itself."""
    if not len(edges):
        return np.zeros(0)
    from scipy.sparse import csgraph

    laplacian = _laplacian(nodes, edges)
    _, component = csgraph.connected_components(laplacian, directed=False)
    grounded = np.unique(component, return_index=True)[1]
    kept = np.setdiff1d(np.arange(nodes), grounded)
    place = np.full(nodes, -1)
    place[kept] = np.arange(len(kept))
    a, b = place[edges[:, 0]], place[edges[:, 1]]
    inner = laplacian[kept][:, kept]
    if len(kept) <= DENSE:
        inverse = np.linalg.inv(inner.toarray())
        diagonal, across = np.diag(inverse).copy(), inverse[a, b]
    else:
        diagonal, across = _selected_inverse(inner.tocsc(), a, b)
    across = np.where((a >= 0) & (b >= 0), across, 0.0)
    found = np.where(a >= 0, diagonal[a], 0.0) + np.where(b >= 0, diagonal[b], 0.0) - 2 * across
    return np.clip(found, np.finfo(float).tiny, 1.0)  # a bridge is 1 up to rounding


def _laplacian(nodes: int, edges: np.ndarray) -> sparse.csr_matrix:
    from scipy import sparse

    ones = np.ones(len(edges))
    adjacency = sparse.coo_matrix((ones, (edges[:, 0], edges[:, 1])), (nodes, nodes)).tocsr()
    adjacency = adjacency + adjacency.T
    return sparse.csr_matrix(sparse.diags(np.asarray(adjacency.sum(1)).ravel()) - adjacency)


def _selected_inverse(matrix: sparse.csc_matrix, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal (n,) of the inverse of a symmetric positive definite matrix, and its entries (a, b) where both are ≥ 0.

    With L of the factorisation and F_j the rows of its column j, the inverse on F_j × F_j follows from the inverse on
    the front of the elimination tree's parent, which contains F_j without j: from the last column to the first.
    """
    from scipy.sparse.linalg import splu

    factors = splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
    )
    lower = factors.L.tocsc()
    lower.sort_indices()
    pivots = factors.U.diagonal()
    size = len(pivots)
    starts = lower.indptr
    if float((np.diff(starts).astype(float) ** 2).sum()) > MOST_ENTRIES:
        raise TooDense("The spanning trees of this graph are too many to count in reasonable memory.")
    rank = factors.perm_c  # the row of L that a row of `matrix` became
    first, second = np.maximum(rank[a], rank[b]), np.minimum(rank[a], rank[b])
    asked = np.flatnonzero((a >= 0) & (b >= 0))
    asked = asked[np.argsort(second[asked], kind="stable")]
    bounds = np.searchsorted(second[asked], np.arange(size + 1))

    diagonal, across = np.empty(size), np.zeros(len(a))
    parent = np.array([lower.indices[starts[j] + 1] if starts[j + 1] - starts[j] > 1 else -1 for j in range(size)])
    children = np.bincount(parent[parent >= 0], minlength=size)
    fronts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for j in range(size - 1, -1, -1):
        rows = lower.indices[starts[j] : starts[j + 1]]
        column = lower.data[starts[j] + 1 : starts[j + 1]]
        front = np.empty((len(rows), len(rows)))
        if len(rows) > 1:
            up_rows, up = fronts[parent[j]]
            at = np.searchsorted(up_rows, rows[1:])
            front[1:, 1:] = up[at[:, None], at]
            front[1:, 0] = front[0, 1:] = -(front[1:, 1:] @ column)
            children[parent[j]] -= 1
            if not children[parent[j]]:
                del fronts[parent[j]]
        front[0, 0] = 1.0 / pivots[j] - column @ front[1:, 0]
        diagonal[j] = front[0, 0]
        here = asked[bounds[j] : bounds[j + 1]]
        across[here] = front[np.searchsorted(rows, first[here]), 0]
        if children[j]:
            fronts[j] = rows, front
    return diagonal[rank], across
