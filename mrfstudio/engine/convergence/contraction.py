"""The contraction matrix M of α-BP on binary pairwise graphs (Eq. 3.24), never written out.

Rows and columns are directed edges t→s. With d = |1 - α_ts| and T = tanh|α_ts J_ts|,

    (M z)_ts = d z_ts + T (S_t - (1 - d) z_st),      S_t = Σ_{w ∈ N(t)} z_wt,

so a product costs a sum a node and a few operations an edge. α-BP converges to its only fixed point whenever the
spectral radius of M is below 1; the largest singular value, ‖M‖₁ and ‖M‖∞ (Eqs. 3.43, 3.44) are upper bounds of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from mrfstudio.engine.convergence.perron import ROUNDING, Enclosure, dot, enclose


class ContractionMatrix:
    """M for edges (m, 2) with couplings J (m,) and α, one for all or (m,). Directed edges are sorted by receiver."""

    def __init__(self, edges: ArrayLike, couplings: ArrayLike, alpha: float | ArrayLike) -> None:
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        count = len(pairs)
        self.alphas = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (count,))
        tanh = np.tanh(np.abs(self.alphas * np.broadcast_to(np.asarray(couplings, dtype=np.float64), (count,))))
        labels, nodes = np.unique(pairs, return_inverse=True)  # nodes without edges have no place here
        self.nodes = len(labels)
        ends = nodes.reshape(-1, 2)
        receiver = np.concatenate([ends[:, 1], ends[:, 0]])
        order = np.argsort(receiver, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(2 * count)
        self.size = 2 * count
        self.undirected = order % count if count else order  # the edge behind each directed one
        self.reverse = place[(order + count) % (2 * count)] if count else order
        self.receiver = receiver[order]
        self.sender = self.receiver[self.reverse]
        self.degree = np.bincount(receiver, minlength=self.nodes)
        self.starts = np.cumsum(self.degree) - self.degree
        self.kept = np.abs(1 - self.alphas)[self.undirected]  # d
        self.tanh = tanh[self.undirected]  # T
        self.lost = 1 - self.kept
        # Three times quicker than numpy's reduceat.
        bounds = np.concatenate([self.starts, [self.size]])
        self.gather = sparse.csr_matrix((np.ones(self.size), np.arange(self.size), bounds), (self.nodes, self.size))

    @property
    def is_bp(self) -> bool:
        return bool((self.alphas == 1.0).all())

    def times(self, z: np.ndarray) -> np.ndarray:
        """M z, (size,) as z: one entry for each message."""
        inner = self.sums(z).take(self.receiver, mode="clip")  # clip: no check of indices that are known to be right
        inner -= self.lost * z
        result = inner.take(self.reverse, mode="clip")
        result *= self.tanh
        result += np.multiply(self.kept, z, out=inner)
        return result

    def transposed_times(self, y: np.ndarray) -> np.ndarray:
        """Mᵀ y, (size,) as y."""
        scaled = self.tanh * y
        sent = scaled.take(self.reverse, mode="clip")
        result = self.sums(sent).take(self.receiver, mode="clip")
        result += np.multiply(self.kept, y, out=scaled)
        sent *= self.lost
        result -= sent
        return result

    def gram_times(self, z: np.ndarray) -> np.ndarray:
        """Mᵀ M z, (size,) as z."""
        return self.transposed_times(self.times(z))

    def sums(self, z: np.ndarray) -> np.ndarray:
        """S: what each node receives, (nodes,)."""
        return np.asarray(self.gather @ z)

    @cached_property
    def norm_1(self) -> float:
        """The largest column sum, Eq. 3.43."""
        return float(self.transposed_times(np.ones(self.size)).max(initial=0.0))

    @cached_property
    def norm_inf(self) -> float:
        """The largest row sum, Eq. 3.44."""
        return float(self.times(np.ones(self.size)).max(initial=0.0))

    @cached_property
    def component(self) -> np.ndarray:
        """The connected component of each node, (nodes,)."""
        shape = (self.nodes, self.nodes)
        return csgraph.connected_components(
            sparse.coo_matrix((np.ones(self.size), (self.sender, self.receiver)), shape), directed=False
        )[1]


# The largest singular value -------------------------------------------------------------------------------------------


def sigma_max(matrix: ContractionMatrix, tolerance: float = 1e-4, start: np.ndarray | None = None) -> Enclosure:
    """The largest singular value of M to a relative `tolerance`; `start` (size,) is the `vector` of one nearby."""
    if not matrix.size:
        return Enclosure(0.0, 0.0, None, 0)
    if matrix.is_bp:
        lower, upper = node_sigmas(matrix)
        return Enclosure(float(lower.max()), float(upper.max()) * (1 + ROUNDING), start, 0)
    squared = enclose(_Gram(matrix), 2 * tolerance, fitting(start, matrix.size), float(matrix.kept.max()) ** 2)
    return squared.map(lambda value: float(np.sqrt(value)))


def node_sigmas(matrix: ContractionMatrix) -> tuple[np.ndarray, np.ndarray]:
    """At α = 1, Mᵀ M falls apart into the nodes: σ of each from below and above, (nodes,) both.

    With the node's tanh as t (k,), σ² is the largest eigenvalue of diag(t)² + (k - 2) t tᵀ: the root above max t² of
    1 = (k - 2) Σ t²/(λ - t²), found by bisection.
    """
    squares = matrix.tanh**2
    low = np.maximum.reduceat(squares, matrix.starts)
    total = matrix.sums(squares)
    extra = matrix.degree - 2.0
    high = np.where(extra > 0, low + extra * total, np.where(extra == 0, low, 0.0))
    low = np.minimum(low, high)
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = squares / (middle[matrix.receiver] - squares)
            above = extra * matrix.sums(terms) > 1
        open_ = (extra > 0) & (middle > low) & (middle < high)
        low, high = np.where(open_ & above, middle, low), np.where(open_ & ~above, middle, high)
    return np.sqrt(low), np.sqrt(high)


class _Gram:
    """cI - MᵀM: positive definite exactly for c above σ_max²."""

    def __init__(self, matrix: ContractionMatrix) -> None:
        self.matrix = matrix
        self.ceiling = matrix.norm_1 * matrix.norm_inf
        self.ones = np.ones(matrix.size)

    def at(self, value: float) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        return (lambda z: value * z - self.matrix.gram_times(z)), self.ones

    def lower(self, vector: np.ndarray) -> float:
        image = self.matrix.times(vector)
        return dot(image, image) / dot(vector, vector)

    def upper(self, vector: np.ndarray, value: float) -> float:
        return largest_ratio(self.matrix.gram_times(vector), vector)


def largest_ratio(image: np.ndarray, vector: np.ndarray) -> float:
    """max_i (A x)_i / x_i of A x and x, both (n,): for x > 0 an upper bound of the spectral radius of A ≥ 0."""
    if not (vector > 0).all():
        return np.inf
    return float((image / vector).max())


def fitting(start: np.ndarray | None, size: int) -> np.ndarray | None:
    """A vector (size,) to start from, if it is one for this size."""
    if start is None or len(start) != size or not np.isfinite(start).all():
        return None
    return start
