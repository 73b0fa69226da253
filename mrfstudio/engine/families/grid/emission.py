"""What a pixel shows, and how likely each label shows it: a piece of a line, nothing, or a short edge.

The noise of border ownership adds *short edges*: three pixels in a straight row that touch nothing else. A contour of
which a fifth is missing has few pieces of just that form. So a model may tell them apart:

    e(line | label) = P(line | label)            e(nothing | label) = P(nothing | label)
    e(short | label) = max(P(line | label), (P(short | label) / 12)^⅓)

A short edge is a piece of a contour whose next pixels are missing, which their own evidence says; or noise drew it as a
whole, then each of its pixels stands for a third of the logarithm. (A pixel is part of twelve possible edges: three
places in four directions.) So a piece of a line is next to certainly contour, and a short edge is where its neighbours
say so. What a pixel shows depends on the picture and on no label: evidence stays one factor for each pixel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mrfstudio.engine.families.contours import SEEN, UNKNOWN, UNSEEN
from mrfstudio.engine.families.grid.shape import GridError

SHORT = 3
"""What a pixel of a short edge shows, besides `SEEN`, `UNSEEN` and `UNKNOWN`."""
SMALLEST_PROBABILITY = 1e-10
"""An emission of exactly 0 would forbid a label for ever after one surprising pixel."""
EDGES_AT_A_PIXEL = 12
"""Short edges that a pixel can be part of: three places in four directions."""

_NEAR = tuple((row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0))
_HALF = _NEAR[: len(_NEAR) // 2]  # one of each two opposite neighbours


def short_edges(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels of short edges among those seen, both (…, H, W): three in a straight row without other neighbours.

    A piece that touches the canvas' border is none: it may go on beyond.
    """
    padded = np.pad(seen, [(0, 0)] * (seen.ndim - 2) + [(1, 1), (1, 1)])
    height, width = padded.shape[-2:]

    def beside(step: tuple[int, int], image: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The pixel of a padded image that lies one step from each of the middle, (…, H, W)."""
        row, column = step
        return image[..., 1 + row : height - 1 + row, 1 + column : width - 1 + column]

    count = np.zeros(seen.shape, np.int8)
    for step in _NEAR:
        count += beside(step, padded)
    ends, middles, found = np.zeros_like(padded), np.zeros_like(padded), np.zeros(seen.shape, np.bool_)
    ends[..., 2:-2, 2:-2] = (seen & (count == 1))[..., 1:-1, 1:-1]
    for row, column in _HALF:
        opposite = (-row, -column)
        middle = seen & (count == 2) & beside((row, column), ends) & beside(opposite, ends)
        middles[..., 1:-1, 1:-1] = middle
        found |= middle | beside((row, column), middles) | beside(opposite, middles)
    return found


def shown(observed: ArrayLike, with_short: bool) -> NDArray[np.uint8]:
    """What each pixel shows, (…, H, W), for a picture of `SEEN`, `UNSEEN` and `UNKNOWN`: a row of `log_table`."""
    given = np.asarray(observed)
    kinds = np.where(given == SEEN, SEEN, np.where(given == UNKNOWN, UNKNOWN, UNSEEN)).astype(np.uint8)
    if with_short and given.ndim >= 2 and min(given.shape[-2:]) > 2:
        kinds[short_edges(kinds == SEEN)] = SHORT
    return kinds


def checked(emission: ArrayLike | None, labels: int, with_short: bool) -> NDArray[np.float64]:
    """An emission (labels,), or (3, labels) with short edges, of one's own; without one, all labels show the same."""
    even = np.full((3, labels) if with_short else labels, 1 / 2)
    found = even if emission is None else np.array(emission, dtype=np.float64)
    if found.shape == even.shape and ((found > 0) & (found < 1)).all():
        return found
    each = " each of a line, of nothing and of a short edge" if with_short else ""
    raise GridError(f"The emission is {found.tolist()}: expected {labels} probabilities{each} between 0 and 1.")


def log_table(emission: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of e(what is shown | label), (4, labels), by what `shown` gives.

    `emission` is P(seen | label), (labels,), or e of a line, of nothing and of a short edge, (3, labels).
    """
    line, nothing, short = (emission, 1 - emission, emission) if emission.ndim == 1 else emission
    return np.stack([np.log(line), np.log(nothing), np.zeros_like(line), np.log(short)])


def estimated(labels: ArrayLike, noisy: ArrayLike, before: NDArray[np.float64]) -> NDArray[np.float64]:
    """The emission that `noisy` has where `labels`, (…, H, W) both, are true, in the form of `before`.

    A label that never occurs keeps its emission.
    """
    label, kinds = np.asarray(labels).ravel(), shown(noisy, before.ndim > 1).ravel()
    total = np.bincount(label, minlength=before.shape[-1])
    hits = [np.bincount(label[kinds == kind], minlength=len(total)) for kind in (SEEN, UNSEEN, SHORT)]
    part = np.clip(np.stack(hits) / np.maximum(total, 1), SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    part[2] = np.maximum(part[0], (part[2] / EDGES_AT_A_PIXEL) ** (1 / 3))
    return np.where(total > 0, part if before.ndim > 1 else part[0], before)
