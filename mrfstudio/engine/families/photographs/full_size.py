"""The answer at the photograph's own size: a large picture is worked out in a band of doubtful pixels only.

Levels end at two megapixels. Of a larger photograph, squares that hold a border or a doubtful pixel are cut out at full
size with a margin; there colours, strokes and contrast are those of the full picture, and the coarser beliefs are the
node scores that hold the rest. All squares of a batch are one grid with one more axis for the messages.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.photographs.colours import ColourCells, colour_scores, lab_array
from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutState
from mrfstudio.engine.families.photographs.evidence import HELD
from mrfstudio.engine.families.scored_grid import messages as grid
from mrfstudio.engine.families.scored_grid.contrast_grid import contrast_weights
from mrfstudio.engine.families.scribbles import Cut

SQUARE = 24
"""Side of a square, in pixels of the finest level."""
MARGIN = 3
"""Pixels of the finest level around a square that take part and are thrown away."""
REACH = 3
"""How far from a border, in pixels of the finest level, a pixel is in doubt."""
SURE = 0.95
"""Belief from which a pixel away from borders is not in doubt."""
BATCH = 600_000
"""Pixels of squares that are worked out at once."""
ITERATIONS = 12
TRUST = 2.0
"""Most that the coarser belief says for a label inside the band."""


def full_size(cutout: Cutout, state: CutoutState) -> Cut:
    """Labels and beliefs of every pixel of the photograph from a state on any level."""
    beliefs = cutout.beliefs(state)
    height, width = cutout.photograph.size
    factor = cutout.photograph.reduction * 2**state.level
    # torch turns 12 megapixels into 16 bits in a tenth of numpy's time.
    made = _enlarged(beliefs, factor)[:, :height, :width].half()
    if state.level == 0 and factor > 1:
        _sharpen(cutout, state, beliefs, made.numpy())
    labels = _winners(made)
    return Cut(labels.add_(1).numpy(), made.numpy())


def _enlarged(beliefs: Tensor, factor: int) -> Tensor:
    """Beliefs (labels, height, width) with sides `factor` times as long, by interpolation."""
    if factor == 1:
        return beliefs
    return functional.interpolate(beliefs[None], scale_factor=factor, mode="bilinear", align_corners=False)[0]


def _winners(beliefs: Tensor) -> Tensor:
    """The most probable of labels (labels, height, width) at each pixel, (height, width) uint8."""
    winner = beliefs[1] > beliefs[0] if len(beliefs) == 2 else beliefs.argmax(0)
    return winner.to(torch.uint8)


def doubtful(beliefs: Tensor) -> NDArray[np.bool_]:
    """Pixels near a border between labels or without a sure belief, (height, width)."""
    from scipy import ndimage  # scipy: loaded with the first stroke, not with the families

    labels = _winners(beliefs).numpy()
    border = ndimage.maximum_filter(labels, 3) != ndimage.minimum_filter(labels, 3)
    unsure = (beliefs.amax(0) < SURE).numpy()
    near: NDArray[np.bool_] = ndimage.binary_dilation(border, iterations=REACH) | unsure
    return near


def _sharpen(cutout: Cutout, state: CutoutState, beliefs: Tensor, made: NDArray[np.float16]) -> None:
    """Work out the squares with doubtful pixels, by beliefs (labels, height, width), and write them into `made`."""
    factor = cutout.photograph.reduction
    band = doubtful(beliefs)
    padded = np.pad(band, [(0, -n % SQUARE) for n in band.shape])
    rows, columns = padded.shape[0] // SQUARE, padded.shape[1] // SQUARE
    busy = np.argwhere(padded.reshape(rows, SQUARE, columns, SQUARE).any((1, 3)))
    side, margin = SQUARE * factor, MARGIN * factor
    rgb = _framed(cutout.photograph.rgb, rows * side, columns * side, margin)
    strokes = _framed(cutout.given, rows * side, columns * side, margin)
    inside = slice(margin, margin + side)
    per = max(1, BATCH // (side + 2 * margin) ** 2)
    for begin in range(0, len(busy), per):
        corners = busy[begin : begin + per]
        found = _squares(cutout, state, beliefs, band, corners, rgb, strokes)[:, :, inside, inside]
        for (r, c), square in zip(corners, found.transpose(1, 0, 2, 3), strict=True):
            y, x = r * side, c * side
            target = made[:, y : y + side, x : x + side]
            target[...] = square[:, : target.shape[1], : target.shape[2]]


def _squares(
    cutout: Cutout,
    state: CutoutState,
    beliefs: Tensor,
    band: NDArray[np.bool_],
    corners: NDArray[np.int64],
    rgb: NDArray[np.uint8],
    strokes: NDArray[np.uint8],
) -> NDArray[np.float16]:
    """Beliefs of squares with their margins, (labels, squares, side, side)."""
    factor, labels = cutout.photograph.reduction, cutout.labels
    side = (SQUARE + 2 * MARGIN) * factor
    at = corners[:, 0] * SQUARE * factor, corners[:, 1] * SQUARE * factor
    pixels = sliding_window_view(rgb, (side, side), (0, 1))[at].transpose(0, 2, 3, 1)
    marks = torch.from_numpy(sliding_window_view(strokes, (side, side))[at].astype(np.int64))
    picture = lab_array(np.ascontiguousarray(pixels))
    coarse = _windows(beliefs.numpy(), corners, np.float32(1 / labels))
    prior = torch.from_numpy(coarse).clamp(min=1e-6).log()
    prior = functional.interpolate(prior, scale_factor=factor, mode="bilinear", align_corners=False).transpose(0, 1)
    prior = prior - prior.amax(0)
    near = np.repeat(np.repeat(_windows(band[None], corners, False)[:, 0], factor, 1), factor, 2)
    flat = picture.reshape(3, -1, side)
    seen = colour_scores(ColourCells(flat), state.clues.tables, cutout.settings.colour_cap)
    doubt = prior.clamp(min=-TRUST) + torch.from_numpy(seen).reshape(labels, *marks.shape)
    scores = torch.where(torch.from_numpy(near), doubt, prior.sign() * HELD)
    held = torch.stack([marks == k + 1 for k in range(labels)])
    scores = torch.where(held.any(0), HELD * held.float(), scores)
    strength = cutout.settings.field * cutout.settings.smoothness
    weights = contrast_weights(torch.from_numpy(picture), strength, int(cutout.settings.neighbours))
    return _settled(scores, [w.expm1_() for w in weights]).half().numpy()


def _settled(scores: Tensor, gains: list[Tensor]) -> Tensor:
    """Beliefs (labels, …) after a few iterations on grids with node scores (labels, …)."""
    two = len(scores) == 2
    local = grid.ratio_local(scores[1] - scores[0]) if two else grid.label_local(scores)
    old = grid.ratio_start(gains, local) if two else grid.label_start(gains, local)
    new = torch.empty_like(old)
    for _ in range(ITERATIONS):
        (grid.ratio_step if two else grid.label_step)(local, gains, old, new, False)
        old, new = new, old
    if not two:
        return grid.label_total(local, old)
    total = grid.ratio_total(local, old)
    return torch.stack([1 / (1 + total), total / (1 + total)])


def _framed(values: NDArray[np.uint8], height: int, width: int, margin: int) -> NDArray[np.uint8]:
    """Padded by its own edge to height × width, and by a margin all around."""
    more = [(margin, height - values.shape[0] + margin), (margin, width - values.shape[1] + margin)]
    if values.ndim == 3:
        return np.pad(values, [*more, (0, 0)], mode="edge")
    return np.pad(values, more)


def _windows(values: NDArray, corners: NDArray[np.int64], outside: object) -> NDArray:
    """Squares with their margins of (channels, height, width): (squares, channels, side, side)."""
    side = SQUARE + 2 * MARGIN
    more = [(MARGIN, MARGIN + -n % SQUARE) for n in values.shape[1:]]
    padded = np.pad(values, [(0, 0), *more], constant_values=outside)  # type: ignore[call-overload]
    view = sliding_window_view(padded, (side, side), (1, 2))
    return np.ascontiguousarray(view[:, corners[:, 0] * SQUARE, corners[:, 1] * SQUARE].transpose(1, 0, 2, 3))
