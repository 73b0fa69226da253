"""Border ownership: labels from silhouettes, and the noise that hides them.

A silhouette becomes three labels: CONTOUR (a pixel beside the figure), OUT and IN. What is seen of them is a noisy
contour image: some contour pixels are missing and a few short edges that bound nothing are added in the background.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import DataError, Progress
from mrfstudio.engine.runtime.workers import map_chunks

CONTOUR, OUT, IN = 0, 1, 2
SEEN, UNSEEN = 0, 1
LABEL_NAMES = ("CONTOUR", "OUT", "IN")

SPURIOUS_EDGES = 8
DELETION = 0.2
SMALLEST_PROBABILITY = 1e-10  # a log-potential of -inf would forbid a label for ever after one surprising pixel

_WINDOW = 2  # half-width of the 5×5 window that must be all OUT around the middle of a spurious edge
_REACH = _WINDOW + 1  # middles up to here from a new edge may have a window that touches it
_WORTHWHILE = 20_000  # images that take about as long as starting a process
_CHUNK = 256  # images at a time: larger chunks leave the cache

# The two end points of a 3-pixel edge relative to its middle: vertical, horizontal and both diagonals, equally likely.
_ENDS = np.array([[[-1, 0], [1, 0]], [[0, -1], [0, 1]], [[-1, -1], [1, 1]], [[-1, 1], [1, -1]]])

Labels = NDArray[np.uint8]


def labels_from_silhouettes(silhouettes: NDArray[np.bool_]) -> Labels:
    """Labels (N, h+2, w+2) of silhouettes (N, h, w): contour is the 4-neighbour dilation minus the figure.

    A frame of OUT surrounds the image; a figure that touches the image's border has no contour there.
    """
    figure = np.asarray(silhouettes)
    if figure.ndim != 3 or figure.dtype != np.bool_:
        found = f"{figure.dtype} of shape {figure.shape}"
        raise DataError(f"The silhouettes are {found}: expected bool of shape (images, height, width).")
    count, height, width = figure.shape
    near = figure.copy()
    near[:, 1:] |= figure[:, :-1]
    near[:, :-1] |= figure[:, 1:]
    near[:, :, 1:] |= figure[:, :, :-1]
    near[:, :, :-1] |= figure[:, :, 1:]
    labels = np.full((count, height + 2, width + 2), OUT, np.uint8)
    inner = labels[:, 1:-1, 1:-1]
    inner[near] = CONTOUR
    inner[figure] = IN
    return labels


def resample_noise(
    labels: Labels, generator: np.random.Generator, spurious: int = SPURIOUS_EDGES, deletion: float = DELETION
) -> Labels:
    """New noisy images (N, H, W) for `labels` (N, H, W); 0 is a contour seen, 1 is not. About 0.05 ms an image."""
    noisy = np.empty_like(labels, dtype=np.uint8)
    for start in range(0, len(labels), _CHUNK):
        part = labels[start : start + _CHUNK]
        keep = generator.random(part.shape, dtype=np.float32) >= deletion
        keys = generator.random(_middles_shape(part), dtype=np.float32)
        direction = generator.integers(len(_ENDS), size=(len(part), spurious))
        noisy[start : start + _CHUNK] = _noisy(part, keep, keys, direction)
    return noisy


def seeded_noise(
    labels: Labels,
    seed: int,
    *,
    stream: int = 0,
    indices: Sequence[int] | NDArray[np.integer] | None = None,
    spurious: int = SPURIOUS_EDGES,
    deletion: float = DELETION,
    workers: int = 1,
    progress: Progress | None = None,
) -> Labels:
    """Noisy images (N, H, W) for `labels` (N, H, W), each from its own generator (seed, stream, index).

    The result for an image depends on nothing but its label image, `seed`, `stream` (one for each split) and its index,
    so neither the number of processes nor the choice of a subset changes it.
    """
    index = np.arange(len(labels)) if indices is None else np.asarray(indices)
    if len(index) != len(labels):
        raise DataError(f"There are {len(index)} indices for {len(labels)} label images: expected one for each.")
    starts = range(0, len(labels), _CHUNK)
    tasks = ((labels[s : s + _CHUNK], seed, stream, index[s : s + _CHUNK], spurious, deletion) for s in starts)
    parts = map_chunks(_seeded_chunk, tasks, len(labels), workers, progress, worthwhile=_WORTHWHILE)
    return np.concatenate(parts) if parts else np.empty(labels.shape, np.uint8)


def emission(pairs: Iterable[tuple[Labels, Labels]]) -> NDArray[np.float64]:
    """P(seen | contour, OUT, IN), shape (3,): the fractions in (labels, noisy) pairs, kept off 0 and 1.

    A label that never occurs gets the probability that the noise process gives it without spurious edges.
    """
    seen, total = np.zeros(3), np.zeros(3)
    for labels, noisy in pairs:
        total += np.bincount(labels.ravel(), minlength=3)
        seen += np.bincount(labels[noisy == SEEN], minlength=3)
    expected = np.array([1 - DELETION, 0.0, 0.0])
    fraction = np.where(total > 0, seen / np.maximum(total, 1), expected)
    return np.clip(fraction, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)


def _seeded_chunk(task: tuple[Labels, int, int, NDArray[np.integer], int, float]) -> Labels:
    labels, seed, stream, indices, spurious, deletion = task
    keep = np.empty(labels.shape, np.bool_)
    keys = np.empty(_middles_shape(labels), np.float32)
    direction = np.empty((len(labels), spurious), np.int64)
    for i, index in enumerate(indices):
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream, int(index))))
        keep[i] = generator.random(labels.shape[1:], dtype=np.float32) >= deletion
        keys[i] = generator.random(keys.shape[1:], dtype=np.float32)
        direction[i] = generator.integers(len(_ENDS), size=spurious)
    return _noisy(labels, keep, keys, direction)


def _middles_shape(labels: Labels) -> tuple[int, int, int]:
    count, height, width = labels.shape
    return count, max(height - 2 * _WINDOW, 0), max(width - 2 * _WINDOW, 0)


def _noisy(labels: Labels, keep: NDArray[np.bool_], keys: NDArray[np.float32], direction: NDArray[np.int64]) -> Labels:
    """The noise process with its random numbers given.

    keep (N, H, W): which contour pixels survive; keys (N, H-4, W-4): the order in which middles of spurious edges are
    tried; direction (N, edges). Taking the largest remaining key is a uniform draw among the middles that remain.
    """
    noisy = np.where((labels == CONTOUR) & keep, SEEN, UNSEEN).astype(np.uint8)
    if keys.size == 0:
        return noisy
    count, rows, columns = keys.shape
    margin = _REACH
    padded = np.full((count, rows + 2 * margin, columns + 2 * margin), -1.0, np.float32)
    padded[:, margin:-margin, margin:-margin] = np.where(_all_out(labels), keys, -1.0)
    flat = padded.reshape(count, -1)
    images = np.arange(count)
    for step in range(direction.shape[1]):
        best = flat.argmax(1)
        found = flat[images, best] >= 0
        if not found.any():
            break  # crowded images get fewer edges rather than edges that touch something
        chosen, middle, way = images[found], best[found], direction[found, step]
        row, column = np.divmod(middle, padded.shape[2])
        top, left = row - margin + _WINDOW, column - margin + _WINDOW
        noisy[chosen, top, left] = SEEN
        for end in range(2):
            noisy[chosen, top + _ENDS[way, end, 0], left + _ENDS[way, end, 1]] = SEEN
        neighbours = middle[:, None] + _OFFSET_ROWS * padded.shape[2] + _OFFSET_COLUMNS
        block = flat[chosen[:, None], neighbours]
        block[_BLOCKED[way]] = -1.0
        flat[chosen[:, None], neighbours] = block
    return noisy


def _all_out(labels: Labels) -> NDArray[np.bool_]:
    """Whether the 5×5 window around each middle is all OUT, (N, H-4, W-4). Separable: rows, then columns."""
    out = labels == OUT
    size = 2 * _WINDOW + 1
    height, width = labels.shape[1] - size + 1, labels.shape[2] - size + 1
    rows = np.logical_and.reduce([out[:, i : i + height] for i in range(size)])
    windows: NDArray[np.bool_] = np.logical_and.reduce([rows[:, :, j : j + width] for j in range(size)])
    return windows


def _blocked_middles() -> NDArray[np.bool_]:
    """For each direction, which middles within reach (7×7, flat) have a window that touches the edge."""
    row, column = np.divmod(np.arange((2 * _REACH + 1) ** 2), 2 * _REACH + 1)
    offset = np.stack([row, column], 1) - _REACH
    pixels = np.concatenate([np.zeros((len(_ENDS), 1, 2), int), _ENDS], 1)
    distance = np.abs(offset[None, :, None] - pixels[:, None]).max(-1)
    touching: NDArray[np.bool_] = (distance <= _WINDOW).any(-1)
    return touching


_OFFSET_ROWS, _OFFSET_COLUMNS = np.divmod(np.arange((2 * _REACH + 1) ** 2), 2 * _REACH + 1)
_OFFSET_ROWS, _OFFSET_COLUMNS = _OFFSET_ROWS - _REACH, _OFFSET_COLUMNS - _REACH
_BLOCKED = _blocked_middles()
