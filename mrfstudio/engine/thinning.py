"""Thick lines made one pixel wide, the way contours are in the pictures that grid models learn from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Neighbours around a pixel, from the one above clockwise: (row, column).
AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def thinned(ink: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The middle of every line of `ink` (height, width), connected as it was and with its holes kept.

    Guo and Hall's parallel thinning (1989, algorithm A1): rounds of two passes take pixels off opposite sides until
    nothing changes.
    """
    kept = np.pad(np.asarray(ink, np.bool_), 1)
    while True:
        before = int(kept.sum())
        for side in (0, 4):
            kept = kept & ~_removable(kept, side)
        if int(kept.sum()) == before:
            return kept[1:-1, 1:-1]


def _removable(ink: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """Pixels at the edge of a line, without which it holds together; `side` 0 or 4 says at which edge."""
    near = [np.roll(ink, (-row, -column), (0, 1)) for row, column in AROUND]
    # How often one comes from paper to ink on the way around: once at an edge, more often where lines would part.
    crossings = sum((~near[i] & (near[i + 1] | near[(i + 2) % 8])).astype(np.int8) for i in (0, 2, 4, 6))
    even = sum((near[i - 1] | near[i]).astype(np.int8) for i in (0, 2, 4, 6))
    odd = sum((near[i] | near[i + 1]).astype(np.int8) for i in (0, 2, 4, 6))
    neighbours = np.minimum(even, odd)
    held = (near[side] | near[side + 1] | ~near[(side + 3) % 8]) & near[(side + 2) % 8]
    # With one neighbour it is the end of a line, which would grow shorter and shorter.
    return ink & (crossings == 1) & (neighbours >= 2) & (neighbours <= 3) & ~held
