"""Distances along a picture: a path is long where it crosses edges, and a little for each pixel.

d(i) = min over paths from a source to i of Σ (ε |step| + |Δfeatures|), eight neighbours.

Sweeps over rows, down and up. Within a row the shortest path is a running minimum of d - s and of d + s, where s is
the sum of costs from the left, so that a row costs a few array operations however long it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FAR = np.float32(1e6)


def distances(features: Floats, sources: Floats, length: float, sweeps: int = 2) -> Floats:
    """d for several sets of sources at once, (sets, height, width).

    features (channels, height, width); sources (sets, height, width) hold where d starts: 0 on strokes, FAR elsewhere.
    `length` is what a straight path over the whole of a flat square picture costs.
    """
    height, width = features.shape[1:]
    step = np.float32(length / np.sqrt(height * width))
    across = _difference(features[:, :, 1:], features[:, :, :-1]) + step
    run = np.zeros((height, width), np.float32)
    np.cumsum(across, 1, out=run[:, 1:])
    down = _difference(features[:, 1:], features[:, :-1]) + step
    right = _difference(features[:, 1:, 1:], features[:, :-1, :-1]) + np.float32(np.sqrt(2)) * step
    left = _difference(features[:, 1:, :-1], features[:, :-1, 1:]) + np.float32(np.sqrt(2)) * step
    # A row of all sets is one block of memory.
    d = np.ascontiguousarray(np.minimum(sources, FAR).transpose(1, 0, 2))
    for _ in range(sweeps):
        _along(d[0], run[0])
        for y in range(1, height):
            _from_row(d[y], d[y - 1], down[y - 1], right[y - 1], left[y - 1])
            _along(d[y], run[y])
        for y in range(height - 2, -1, -1):
            _from_row(d[y], d[y + 1], down[y], left[y], right[y])
            _along(d[y], run[y])
    return np.ascontiguousarray(d.transpose(1, 0, 2))


def _from_row(row: Floats, other: Floats, straight: Floats, from_left: Floats, from_right: Floats) -> None:
    """Paths that come from the neighbouring row: the pixel itself, one to its left, one to its right."""
    np.minimum(row, other + straight, out=row)
    np.minimum(row[:, 1:], other[:, :-1] + from_left, out=row[:, 1:])
    np.minimum(row[:, :-1], other[:, 1:] + from_right, out=row[:, :-1])


def _along(row: Floats, run: Floats) -> None:
    """Paths along the row, from the left and from the right."""
    np.minimum(row, np.minimum.accumulate(row - run, 1) + run, out=row)
    back = (row + run)[:, ::-1]
    np.minimum(row, np.minimum.accumulate(back, 1)[:, ::-1] - run, out=row)


def _difference(a: Floats, b: Floats) -> Floats:
    made: Floats = np.sqrt(np.square(a - b).sum(0))
    return made
