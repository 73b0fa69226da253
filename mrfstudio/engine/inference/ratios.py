"""Messages as ratios e^m of what they say for 1 and for 0: sums of logarithms are products, which cost a twentieth."""

from __future__ import annotations

import math

from torch import Tensor

LARGEST_LOG = 80.0  # e^80 is finite in float32, and so are products of ratios whose logarithms add up to less
MOST_HALVINGS = 5


def halvings_of(largest: float) -> int:
    """How often neighbours may be multiplied before a logarithm, so that no product leaves the finite range.

    No logarithm of a ratio is larger than `largest`.
    """
    return int(math.log2(LARGEST_LOG / max(largest, LARGEST_LOG / 2**MOST_HALVINGS)))


def log_product(ratios: Tensor, axis: int, halvings: int) -> Tensor:
    """Σ log over an axis."""
    alone = []
    for _ in range(halvings):
        half, odd = divmod(ratios.shape[axis], 2)
        if half == 0:
            break
        if odd:
            alone.append(ratios.select(axis, 2 * half).log())
        ratios = ratios.narrow(axis, 0, half) * ratios.narrow(axis, half, half)
    return sum(alone, ratios.log().sum(axis))
