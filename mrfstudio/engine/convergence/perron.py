"""The largest eigenvalue of a non-negative operator, enclosed from both sides.

For A ≥ 0 and any x > 0, max_i (A x)_i / x_i is at least the largest eigenvalue: an upper bound that holds whatever x
is. It is close when x solves (cI - A) x = 1 with c a little above the eigenvalue: then A x = c x - 1 < c x. Conjugate
gradients find such an x, or meet a direction of negative curvature, which proves that c was too small. Lanczos or
power iteration alone give lower estimates and can certify nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

ROUNDING = 1e-12
"""Added to every bound: what rounding may have taken from it."""
MOST_PRODUCTS = 600
"""Products in one solve. One that needs more is a hair's breadth from the eigenvalue; its bound is valid anyway."""
MOST_SOLVES = 25
ON_ONE_THREAD = 8192
"""Longer products of vectors go to numpy's BLAS in pieces: from 10,000 entries on it wakes its threads, and beside
another process one product of 4 µs then took 1.8 ms."""


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """aᵀ b of two vectors (n,), without a second thread."""
    if len(a) <= ON_ONE_THREAD:
        return float(a @ b)
    starts = range(0, len(a), ON_ONE_THREAD)
    return float(sum(a[i : i + ON_ONE_THREAD] @ b[i : i + ON_ONE_THREAD] for i in starts))


@dataclass(frozen=True, eq=False)
class Enclosure:
    """lower ≤ value ≤ upper. `vector` starts the next search nearby; `products` counts matrix products."""

    lower: float
    upper: float
    vector: np.ndarray | None
    products: int

    def map(self, change: Callable[[float], float]) -> Enclosure:
        return Enclosure(change(self.lower), change(self.upper), self.vector, self.products)


class SymmetricPencil(Protocol):
    """A family of symmetric operators that is positive definite exactly above the value looked for."""

    ceiling: float
    """A cheap upper bound of the value."""

    def at(self, value: float) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """The operator at `value` and the positive right-hand side to solve for.

        A positive solution with a residual of at most 1 everywhere must give an upper bound of at most `value`.
        """
        ...

    def lower(self, vector: np.ndarray) -> float:
        """A lower bound of the value from a non-negative vector (n,); 0 where it says nothing."""
        ...

    def upper(self, vector: np.ndarray, value: float) -> float:
        """An upper bound from a positive vector (n,) that about solves at `value`; inf where it gives none."""
        ...


def enclose(pencil: SymmetricPencil, tolerance: float, start: np.ndarray | None, floor: float) -> Enclosure:
    """Narrow the value down to a relative `tolerance`, or as far as `MOST_SOLVES` solves reach.

    `floor` is a lower bound, above 0, from which on the pencil is defined; `start` (n,) that of one nearby.
    """
    upper = pencil.ceiling * (1 + ROUNDING)
    lower, x, products = floor, start, 0
    if start is not None:
        lower = max(lower, pencil.lower(start))
    reach = 0.75 * tolerance
    value = upper if start is None else min(upper, lower * (1 + reach))
    for _ in range(MOST_SOLVES):
        operator, right = pencil.at(value)
        x, found, used = solve(operator, right, x)
        products += used
        if found:
            upper = min(upper, pencil.upper(x, value) * (1 + ROUNDING))
        else:
            lower, x, reach = max(lower, value), np.abs(x), 4 * reach
        x = x / x.max()  # or repeated proofs that a value is too small would lead to smaller and smaller vectors
        lower = min(max(lower, pencil.lower(x)), upper)
        if upper <= lower * (1 + tolerance):
            break
        if found:
            # Towards the lower end by steps: far from it a solve is cheap, and each brings a better lower bound.
            reach = max(0.75 * tolerance, 0.05 * (upper - lower) / lower)
        value = min(lower * (1 + reach), (lower + upper) / 2)
    return Enclosure(lower, upper, x, products)


def solve(
    operator: Callable[[np.ndarray], np.ndarray], right: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, bool, int]:
    """Conjugate gradients until the residual is small enough everywhere and the solution is positive.

    Returns (solution, True, products), or (direction of negative curvature, False, products).
    """
    products = 0
    x = np.zeros_like(right)
    residual = right.copy()
    if start is not None:
        image = operator(start)
        products += 1
        curvature = dot(start, image)
        if curvature <= 0:
            return start, False, products
        scale = dot(start, right) / curvature
        x = scale * start
        residual -= scale * image
    direction = residual.copy()
    square = dot(residual, residual)
    smallest = 1e-26 * dot(right, right)
    for step in range(MOST_PRODUCTS):
        # 1 would do, see `SymmetricPencil.at`; the rest is for the drift of the recurrence from the true residual.
        if step % 4 == 0 and residual.max() < 0.9 and x.min() > 0:
            break
        image = operator(direction)
        products += 1
        curvature = dot(direction, image)
        if curvature <= 0:
            return _lowest(x, right - residual, direction, image), False, products
        length = square / curvature
        x += length * direction
        residual -= length * image
        following = dot(residual, residual)
        if following <= smallest:
            # Solved. A definite operator of this kind has a positive solution, so another one is a proof as well.
            return x, bool(x.min() > 0), products
        direction *= following / square
        direction += residual
        square = following
    return x, True, products


def _lowest(x: np.ndarray, image_of_x: np.ndarray, direction: np.ndarray, image: np.ndarray) -> np.ndarray:
    """The vector of lowest curvature in the plane of x and the direction: x has grown along the eigenvector already."""
    size = np.sqrt(dot(x, x))
    if size == 0:
        return direction
    scale = np.sqrt(dot(direction, direction))
    a, b, image_a, image_b = x / size, direction / scale, image_of_x / size, image / scale
    cosine = dot(a, b)
    sine = np.sqrt(max(1 - cosine**2, 0.0))
    if sine < 1e-6:
        return direction
    b, image_b = (b - cosine * a) / sine, (image_b - cosine * image_a) / sine
    mutual = dot(a, image_b)
    mixed = np.linalg.eigh(np.array([[dot(a, image_a), mutual], [mutual, dot(b, image_b)]]))[1][:, 0]
    return np.asarray(mixed[0] * a + mixed[1] * b)
