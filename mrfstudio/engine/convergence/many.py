"""The largest singular value of M for many small graphs at once, given as one graph of many components."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.convergence.contraction import ContractionMatrix, node_sigmas, sigma_max

ROUNDS = 400
"""Power iterations before the few graphs that are left are worked on one by one."""


def sigma_max_each(
    edges: np.ndarray, couplings: np.ndarray, alpha: float, graphs: int, nodes: int, tolerance: float = 1e-4
) -> np.ndarray:
    """Certified upper bounds (graphs,), each within a relative `tolerance`; graph g has the nodes g·nodes … of `edges`.

    Power iteration on all components together: with x > 0, the largest and the smallest (MᵀM x)_i / x_i of a component
    enclose its σ².
    """
    if not len(edges):
        return np.zeros(graphs)
    matrix = ContractionMatrix(edges, couplings, alpha)
    owner = np.unique(edges) // nodes  # the graph of each node of the matrix
    found = np.zeros(graphs)
    if matrix.is_bp:
        np.maximum.at(found, owner, node_sigmas(matrix)[1])
        return found
    component = matrix.component[matrix.receiver]
    order = np.argsort(component, kind="stable")
    starts = np.flatnonzero(np.diff(component[order], prepend=-1))
    lengths = np.diff(starts, append=matrix.size)
    x = np.ones(matrix.size)
    low, high = np.zeros(len(starts)), np.full(len(starts), np.inf)
    for _ in range(ROUNDS):
        image = matrix.gram_times(x)
        ratio = (image / x)[order]
        low = np.maximum(low, np.minimum.reduceat(ratio, starts))
        high = np.minimum(high, np.maximum.reduceat(ratio, starts))
        if (high <= low * (1 + tolerance) ** 2).all():
            break
        largest = np.maximum.reduceat(image[order], starts)
        x[order] = image[order] / np.repeat(largest, lengths)
    bounds = np.sqrt(high)
    for left in np.flatnonzero(high > low * (1 + tolerance) ** 2):
        mine = np.unique(matrix.undirected[order[starts[left] : starts[left] + lengths[left]]])
        bounds[left] = min(
            bounds[left], sigma_max(ContractionMatrix(edges[mine], couplings[mine], alpha), tolerance).upper
        )
    first_node = matrix.receiver[order[starts]]
    np.maximum.at(found, owner[first_node], bounds)
    return found
