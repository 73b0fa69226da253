"""Colours of a photograph, and what colours each label has: smoothed tables in CIE Lab, refitted in milliseconds.

A pixel's colour falls between eight cells of a table of BINS³ and is shared among them; a label's table is the sum over
its pixels, smoothed and normalised. Fitting from beliefs weighs each pixel by its belief: the M-step of EM.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BINS = 20
SPREAD = 0.6
"""Half the range of a and b that the table resolves, in hundreds: stronger colours share its outermost cells."""
RARE = 1.25e-4
"""Density that every colour has under every label: one over the number of cells."""
Floats = NDArray[np.float32]


def lab(rgb: NDArray[np.uint8]) -> Tensor:
    """(…, 3) 8-bit sRGB as (3, …) CIE Lab (D65) in hundreds, 32 bits."""
    return torch.from_numpy(lab_array(rgb))


def lab_array(rgb: NDArray[np.uint8]) -> Floats:
    """(…, 3) 8-bit sRGB as (3, …) CIE Lab in hundreds: half the time of scikit-image's `rgb2lab`, which also takes
    0.3 s to load.
    """
    linear = _LINEAR[rgb]
    xyz = linear.reshape(-1, 3) @ _TO_XYZ.T
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), xyz * (841 / 108) + 4 / 29)
    x, y, z = f[:, 0], f[:, 1], f[:, 2]
    made = np.stack([1.16 * y - 0.16, 5.0 * (x - y), 2.0 * (y - z)]).astype(np.float32)
    return made.reshape(3, *rgb.shape[:-1])


def _linear() -> Floats:
    value = np.arange(256) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


_LINEAR = _linear()
_TO_XYZ = (
    np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
    / np.array([[0.95047], [1.0], [1.08883]])
).astype(np.float32)


class ColourCells:
    """Where the colours of a picture (3, height, width) lie in the table; made once for a picture."""

    def __init__(self, picture: Floats) -> None:
        self.shape = picture.shape[1:]
        low = np.array([0.0, -SPREAD, -SPREAD], np.float32)[:, None]
        scale = np.array([1.0, 2 * SPREAD, 2 * SPREAD], np.float32)[:, None]
        place = np.clip((picture.reshape(3, -1) - low) / scale, 0.0, 0.9999) * (BINS - 1)
        base = place.astype(np.int32)
        part = place - base
        self.cell = (base[0] * BINS + base[1]) * BINS + base[2]
        corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        self.steps = [(i * BINS + j) * BINS + k for i, j, k in corners]
        sides = np.stack([1 - part, part])
        self.shares = [sides[i, 0] * sides[j, 1] * sides[k, 2] for i, j, k in corners]

    def table(self, weights: Floats, blur: float) -> Floats:
        """A label's density of colours (BINS³), from weights (height, width) of its pixels."""
        from scipy.ndimage import gaussian_filter  # scipy: loaded with the first stroke, not with the families

        flat = weights.reshape(-1)
        chosen = np.flatnonzero(flat > 1e-3 * flat.max(initial=0.0))
        total, cells, given = np.zeros(BINS**3), self.cell[chosen], flat[chosen]
        for step, share in zip(self.steps, self.shares, strict=True):
            total += np.bincount(cells + step, share[chosen] * given, BINS**3)
        smooth = gaussian_filter(total.reshape(BINS, BINS, BINS), blur, mode="constant").reshape(-1)
        made: Floats = (smooth / max(smooth.sum(), 1e-12)).astype(np.float32)
        return made

    def look(self, table: Floats) -> Floats:
        """The table's value at every pixel's colour, (height, width)."""
        value = np.zeros(len(self.cell), np.float32)
        for step, share in zip(self.steps, self.shares, strict=True):
            value += table[self.cell + step] * share
        return value.reshape(self.shape)


def colour_scores(cells: ColourCells, tables: list[Floats], cap: float) -> Floats:
    """log p(colour | label) against the best label's, no lower than -cap: (labels, height, width)."""
    logs = np.stack([np.log(cells.look(table) + RARE) for table in tables])
    made: Floats = np.maximum(logs - logs.max(0), -cap)
    return made
