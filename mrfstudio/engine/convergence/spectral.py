"""The spectral radius of the contraction matrix, enclosed from both sides, and whether it is below 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from mrfstudio.engine.convergence.contraction import ContractionMatrix, fitting, largest_ratio
from mrfstudio.engine.convergence.perron import ROUNDING, Enclosure, dot, enclose, solve


def spectral_radius(matrix: ContractionMatrix, tolerance: float = 1e-4, start: np.ndarray | None = None) -> Enclosure:
    """The spectral radius of M to a relative `tolerance`; `start` (nodes,) is the `vector` of an enclosure nearby."""
    if not matrix.size or not matrix.tanh.any():
        largest = float(matrix.kept.max(initial=0.0))
        return Enclosure(largest, largest, None, 0)
    if not matrix.kept.any() and _is_forest(matrix):
        return Enclosure(0.0, 0.0, None, 0)  # nothing returns on a tree: a power of M vanishes
    nodal = Nodal(matrix)
    near = fitting(start, matrix.nodes)
    if near is not None and nodal.lower(near) == 0.0:
        near = None
    if near is None and nodal.lies_below_its_pole():
        return _below_the_pole(nodal, tolerance)
    return enclose(nodal, tolerance, near, nodal.pole)


class Nodal:
    """Eigenvalues λ of M above all poles d + |a|, a = T (1 - d), from nodes instead of edges.

    Solving (λI - M) z = r on each pair of directed edges leaves a symmetric system in the sums S,

        H(λ)_ss = 1 + Σ_t T a/(λ'² - a²),   H(λ)_st = -T λ'/(λ'² - a²),   λ' = λ - d,

    which is positive definite exactly above the spectral radius.
    """

    def __init__(self, matrix: ContractionMatrix) -> None:
        self.matrix = matrix
        self.ceiling = min(matrix.norm_1, matrix.norm_inf)
        self.cross = matrix.tanh * matrix.lost  # a
        self.pole = float((matrix.kept + np.abs(self.cross)).max())
        counts = np.concatenate([[0], np.cumsum(matrix.degree)])
        # Directed edges sorted by receiver are the rows of a sparse matrix; its columns are the senders.
        self.rows = (matrix.sender, counts)

    def weights(self, value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """λ', 1/(λ'² - a²) and T/(λ'² - a²), (size,) each."""
        distance = value - self.matrix.kept
        inverse = 1.0 / ((distance - self.cross) * (distance + self.cross))
        return distance, inverse, self.matrix.tanh * inverse

    def parts(self, value: float) -> tuple[np.ndarray, sparse.csr_matrix, np.ndarray]:
        """Diagonal and negated rest of H, and the right-hand side Σ_t 1/(λ' + a)."""
        distance, _, weight = self.weights(value)
        nodes = self.matrix.nodes
        diagonal = 1.0 + self.matrix.sums(weight * self.cross)
        rest = sparse.csr_matrix((weight * distance, *self.rows), (nodes, nodes))
        return diagonal, rest, self.matrix.sums(1.0 / (distance + self.cross))

    def at(self, value: float) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        diagonal, rest, right = self.parts(value)
        return (lambda s: diagonal * s - rest @ s), right

    def lower(self, vector: np.ndarray) -> float:
        """The largest λ with SᵀH(λ)S ≤ 0 for S (nodes,), 0 if there is none: above the spectral radius it is positive.

        SᵀHS = Σ S² + Σ_edges ½T ((S_s - S_t)²/(λ' - a) - (S_s + S_t)²/(λ' + a)).
        """
        once = self.matrix.sender < self.matrix.receiver
        half, kept, cross = self.matrix.tanh[once] / 2, self.matrix.kept[once], self.cross[once]
        own, other = vector[self.matrix.receiver[once]], vector[self.matrix.sender[once]]
        apart, together, alone = half * (own - other) ** 2, half * (own + other) ** 2, dot(vector, vector)

        def form(value: float) -> float:
            distance = value - kept
            return alone + float((apart / (distance - cross)).sum() - (together / (distance + cross)).sum())

        # Near the poles it may be positive again: come down from the ceiling to the first sign change, then bisect.
        high = self.ceiling
        low = high
        for _ in range(60):
            low = self.pole + 0.85 * (high - self.pole)
            if low <= self.pole * (1 + 1e-9):
                return 0.0
            if form(low) <= 0:
                break
            high = low
        else:
            return 0.0
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if form(middle) > 0 else (middle, high)
        return low

    def edge_vector(self, vector: np.ndarray, value: float) -> np.ndarray:
        """z (size,) of (λI - M) z = 1 from its sums S (nodes,)."""
        distance, inverse, _ = self.weights(value)
        given = self.matrix.tanh * vector[self.matrix.sender] + 1
        back = self.matrix.tanh * vector[self.matrix.receiver] + 1
        return (distance * given - self.cross * back) * inverse

    def upper(self, vector: np.ndarray, value: float) -> float:
        z = self.edge_vector(vector, value)
        return largest_ratio(self.matrix.times(z), z)

    def feasible(self, value: float) -> float:
        """An upper bound near `value` by a direct solve, which needs no definiteness; inf if the radius is above."""
        if value <= self.matrix.kept.max():
            return np.inf
        diagonal, rest, right = self.parts(value)
        try:
            solution = splu((sparse.diags(diagonal) - rest).tocsc()).solve(right)
        except RuntimeError:  # exactly singular
            return np.inf
        bound = self.upper(solution, value)
        return bound if bound <= value * (1 + 1e-9) else np.inf

    def lies_below_its_pole(self) -> bool:
        """Whether the spectral radius is at or below the poles: on trees and graphs that are nearly trees."""
        z = np.ones(self.matrix.size)
        for _ in range(8):
            z = self.matrix.times(z)
            z /= z.max()
        if self.ceiling > self.pole and self.lower(self.matrix.sums(z)) > 0:
            return False
        return self.ceiling <= self.pole or self.feasible(self.pole * (1 + 1e-7)) < np.inf


def _below_the_pole(nodal: Nodal, tolerance: float) -> Enclosure:
    low = float(nodal.matrix.kept.max())
    high = min(nodal.ceiling, nodal.pole * (1 + 1e-7))
    solves = 0
    while solves < 60:
        if high <= low * (1 + tolerance) or high < 1e-9:
            break
        middle = (low + high) / 2
        solves += 1
        bound = nodal.feasible(middle)
        low, high = (middle, high) if bound == np.inf else (low, min(middle, bound) * (1 + ROUNDING))
    return Enclosure(low, high, None, solves)


def _is_forest(matrix: ContractionMatrix) -> bool:
    return bool(matrix.size // 2 == matrix.nodes - (matrix.component.max() + 1))


def contracts(matrix: ContractionMatrix) -> bool:
    """Whether the spectral radius is certainly below 1: one solve at 1, and the bound from what it gives."""
    if not matrix.size:
        return True
    if min(matrix.norm_1, matrix.norm_inf) < 1:
        return True
    nodal = Nodal(matrix)
    if matrix.kept.max() >= 1:
        return False
    if nodal.pole >= 1:  # tables with zeros: tanh is 1
        return spectral_radius(matrix).upper < 1
    operator, right = nodal.at(1.0)
    vector, found, _ = solve(operator, right, None)
    return found and nodal.upper(vector, 1.0) * (1 + ROUNDING) < 1
