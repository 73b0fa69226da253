"""Dust and scratches: pixels that the field finds improbable given what lies around them.

Every pixel that stands out from the median around it is suspected. The suspects are taken for unknown, and the windows
of the model say what they expect there from the pixels beside, and how surely; a suspect is dust by how many of these
deviations it lies off. A texture stands out too, but there the windows are unsure. On nine photographs with drawn dust
and scratches a threshold of 6 finds four pixels of five, and three of four that it finds are damage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.families.repairs import Colours, Damaged, repaired
from mrfstudio.engine.session.photo import Photo

AROUND = 9
"""Side of the neighbourhood whose median a pixel is compared with: wider than a scratch, narrower than a thing."""
WIDE = 25
"""Side of the part over which it is counted how much a picture usually differs from its median."""
LEAST = 0.012
"""Deviation, in parts of white, that any part of a photograph has."""
SUSPECT, LARGEST_SHARE, MOST = 2.0, 0.04, 100_000
"""How far suspects stand out, in usual distances; no more than this part of a picture, nor so many pixels."""
CLEARED = 2.5
"""Deviations below which a suspect is let go after the first look."""
VISIBLE = 0.04
"""Deviation, in parts of white, that is always allowed: dust that differs less is not worth a repair."""
SMALLEST, LARGEST = 2.0, 20.0
"""The thresholds that make sense, in deviations."""


class Dust:
    """How improbable each pixel of the last photograph is to a model; looked for once."""

    def __init__(self) -> None:
        self._of: tuple[str, int] = "", 0
        self._doubt: NDArray[np.float32] | None = None

    def doubt(self, photo: Photo, model: Any) -> NDArray[np.float32]:
        """How many deviations each pixel lies from what the model expects of its neighbours, (height, width)."""
        of = photo.digest, id(model)
        if self._doubt is None or self._of != of:
            self._doubt, self._of = improbability(photo.rgb, model), of
        return self._doubt

    def found(self, photo: Photo, model: Any, threshold: float) -> NDArray[np.bool_]:
        """Where the doubt is larger than a threshold, and a pixel around: the rim of dust is half transparent."""
        from scipy import ndimage  # loaded when it is first looked for

        core = self.doubt(photo, model) > min(max(threshold, SMALLEST), LARGEST)
        return np.asarray(ndimage.binary_dilation(core, np.ones((3, 3), bool)))


def improbability(rgb: NDArray[np.uint8], model: Any) -> NDArray[np.float32]:
    """|colour - what the windows expect| in their deviations, the largest of the channels, (height, width).

    Twice: suspects that lie where they are expected are known the second time, so that things and their edges, which
    stand out from the median too, say themselves how they go on. 0 where nothing was suspected in the end. `model` is
    one that repairs photographs.
    """
    from scipy import ndimage

    colours, suspects = np.asarray(rgb / np.float32(255), np.float32), suspected(rgb)
    first = _apart(colours, suspects, model)
    return _apart(colours, suspects & ndimage.binary_dilation(first > CLEARED), model)


def _apart(colours: Colours, suspects: NDArray[np.bool_], model: Any) -> NDArray[np.float32]:
    """How many deviations suspects lie from what is expected without any of them."""
    apart = np.zeros(suspects.shape, np.float32)
    if suspects.any():
        found = repaired(model, Damaged(colours, suspects))
        off = np.abs(found.colours - colours)[suspects].max(-1)
        apart[suspects] = off / np.sqrt(found.deviation[suspects] ** 2 + VISIBLE**2)
    return apart


def suspected(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Pixels that stand out from the median around them more than is usual there, and their neighbours.

    The usual distance is itself a median, over a wider part: a scratch does not raise it, a texture does.
    """
    from scipy import ndimage

    apart = np.zeros(rgb.shape[:2], np.float32)
    for channel in range(rgb.shape[2]):
        levels = rgb[..., channel]
        middle = ndimage.median_filter(levels, AROUND)
        apart = np.maximum(apart, np.abs(levels.astype(np.float32) - middle) / 255)
    # Every third pixel says enough about a part 25 pixels wide, in a ninth of the time.
    coarse = ndimage.percentile_filter(apart[::3, ::3], 75, WIDE // 3)
    usual = np.repeat(np.repeat(coarse, 3, 0), 3, 1)[: rgb.shape[0], : rgb.shape[1]]
    out = apart / (usual + LEAST)
    most = min(round(LARGEST_SHARE * out.size), MOST)
    least = SUSPECT
    if int((out > SUSPECT).sum()) > most:
        least = float(np.partition(out.ravel(), out.size - most - 1)[out.size - most - 1])
    return np.asarray(ndimage.binary_dilation(out > least, np.ones((3, 3), bool)))
