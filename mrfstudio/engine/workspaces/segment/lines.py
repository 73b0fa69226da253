"""Lines of drawings as grid models know them: one pixel wide, and closed.

scikit-image and scipy take a while to import, so they are imported where they are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ink = NDArray[np.bool_]  # (height, width)


def thinned(ink: Ink) -> Ink:
    """The middle of every line of `ink`, connected as it was and with its holes kept (Guo and Hall 1989)."""
    from skimage.morphology import thin

    return np.asarray(thin(np.asarray(ink, np.bool_)))


def line_ends(thin: Ink) -> NDArray[np.int64]:
    """Rows and columns (n, 2) of the pixels of thin lines that have one neighbour or none."""
    from scipy import ndimage

    around = ndimage.convolve(thin.astype(np.uint8), np.ones((3, 3), np.uint8), mode="constant") - 1
    return np.argwhere(thin & (around <= 1))


def bridged(ink: Ink, gap: int) -> Ink:
    """The ink with straight lines between ends of lines that at most `gap` empty pixels keep apart, nearest first.

    Each end gets one bridge. Ends that a line joins on a short way already, such as those of a short stroke or of a
    fork at the end of a thick line, are not joined again: they would become a blot.
    """
    ink = np.asarray(ink, np.bool_)
    bridges = ink.copy()
    used: set[int] = set()
    for first, second, pixels in _candidates(ink, gap):
        if first not in used and second not in used:
            used |= {first, second}
            bridges[pixels] = True
    return bridges


def _candidates(ink: Ink, gap: int) -> list[tuple[int, int, tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """Pairs of ends that a bridge may join, with its pixels; those with the fewest missing pixels first."""
    from scipy import ndimage
    from scipy.spatial import cKDTree
    from skimage.draw import line

    thin = thinned(ink)
    ends = line_ends(thin)
    if len(ends) < 2:
        return []
    depth = ndimage.distance_transform_edt(np.pad(ink, 1))[1:-1, 1:-1]  # ends of thick lines lie inside their ink
    reach = gap + 1 + 2 * float(depth[tuple(ends.T)].max())
    found = []
    for first, second in sorted(cKDTree(ends).query_pairs(reach)):
        a, b = ends[first], ends[second]
        pixels = line(*a, *b)
        missing = int((~ink[pixels]).sum())
        if 0 < missing <= gap and not _joined_nearby(thin, a, b):
            found.append((missing, float(np.hypot(*(a - b))), first, second, pixels))
    found.sort(key=lambda each: each[:4])
    return [(first, second, pixels) for _, _, first, second, pixels in found]


def _joined_nearby(thin: Ink, a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether a line joins two of its pixels without going far around their rectangle."""
    from scipy import ndimage

    margin = int(np.ceil(np.hypot(*(a - b)) / 2))
    corner = np.maximum(np.minimum(a, b) - margin, 0)
    bottom, right = np.maximum(a, b) + margin + 1
    pieces, _ = ndimage.label(thin[corner[0] : bottom, corner[1] : right], np.ones((3, 3)))
    return bool(pieces[tuple(a - corner)] == pieces[tuple(b - corner)])
