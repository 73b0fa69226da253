"""Refined edges: hair and soft borders as alpha, from marginals in a narrow band around a label's border.

A pixel of the band is taken as a mixture I = a F + (1 - a) B of the colours F of the label and B of the rest nearby,
outside the band. Its node score is logit a, so that without neighbours the marginal is a itself; where F and B are
hardly apart the belief that was there decides. A weak contrast grid on the band makes neighbours agree.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.families.photographs.rules import SumProduct
from mrfstudio.engine.families.scored_grid.contrast_grid import contrast_weights

WIDTH = 0.006
"""Half the width of the band, in parts of the longer side of the picture."""
NARROWEST, WIDEST = 2, 24
"""Bounds of the same in pixels."""
SMOOTHNESS = 0.6
ITERATIONS = 6
TELLING = 0.06
"""Distance of F and B (of 1 for black and white) at which colours say as much as the belief."""
SUREST = 0.01
"""Least and greatest alpha that a pixel of the band gets from its colour."""
SIDE = 768
"""Pixels of a tile: a large photograph is never in memory as numbers."""

Floats = NDArray[np.float32]


def refined(rgb: NDArray[np.uint8], belief: NDArray[np.floating], longer: int | None = None) -> Floats:
    """Alpha (height, width) of a label from colours (height, width, 3) and its beliefs (height, width).

    Outside the band it is 0 or 1. `longer` is the longer side of the whole picture where this is a part of it.
    """
    reach = int(np.clip(round(WIDTH * (longer or max(belief.shape))), NARROWEST, WIDEST))
    inside = np.asarray(belief) > 0.5
    alpha = inside.astype(np.float32)
    band = _band(inside, reach)
    margin = 4 * reach
    height, width = inside.shape
    for top in range(0, height, SIDE):
        for left in range(0, width, SIDE):
            if not band[top : top + SIDE, left : left + SIDE].any():
                continue
            y, x = slice(max(top - margin, 0), top + SIDE + margin), slice(max(left - margin, 0), left + SIDE + margin)
            made = _tile(rgb[y, x], np.asarray(belief[y, x], np.float32), inside[y, x], band[y, x], reach)
            part = np.s_[top - y.start : top - y.start + SIDE, left - x.start : left - x.start + SIDE]
            alpha[top : top + SIDE, left : left + SIDE] = made[part]
    return alpha


def _band(inside: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    from scipy.ndimage import binary_dilation, binary_erosion  # scipy: loaded with the first answer

    near: NDArray[np.bool_] = binary_dilation(inside, iterations=reach)
    near &= ~binary_erosion(inside, iterations=reach, border_value=1)
    return near


def _tile(
    rgb: NDArray[np.uint8], belief: Floats, inside: NDArray[np.bool_], band: NDArray[np.bool_], reach: int
) -> Floats:
    colours: Floats = rgb.astype(np.float32) / np.float32(255)
    own, rest = (_nearby(colours, sure, 3 * reach) for sure in (inside & ~band, ~inside & ~band))
    apart = own - rest
    length = np.square(apart).sum(-1)
    mixed = ((colours - rest) * apart).sum(-1) / np.maximum(length, 1e-6)
    trust = length / (length + TELLING**2)
    known = _logit(np.clip(mixed, SUREST, 1 - SUREST))
    before = _logit(np.clip(belief, SUREST, 1 - SUREST))
    score = np.where(band, trust * known + (1 - trust) * before, np.where(inside, 20.0, -20.0)).astype(np.float32)
    found = _marginals(torch.from_numpy(score), torch.from_numpy(colours).permute(2, 0, 1)).numpy()
    return np.where(band, found, inside).astype(np.float32)


def _marginals(score: torch.Tensor, colours: torch.Tensor) -> torch.Tensor:
    """p (height, width) from log-odds (height, width), on a grid whose weights follow colours (3, height, width)."""
    rule = SumProduct()
    gains = [w.expm1_() for w in contrast_weights(colours.contiguous(), SMOOTHNESS, 8)]
    local = rule.local(torch.stack([torch.zeros_like(score), score]))
    old = rule.start(gains, local)
    new = torch.empty_like(old)
    for _ in range(ITERATIONS):
        rule.step(local, gains, old, new, measured=False)
        old, new = new, old
    return rule.beliefs(local, old)[1]


def _nearby(colours: Floats, sure: NDArray[np.bool_], reach: int) -> Floats:
    """The mean colour of sure pixels around each one, (height, width, 3); farther ones where none are near."""
    from scipy.ndimage import uniform_filter

    weight = sure.astype(np.float32)
    side = 2 * reach + 1
    total = uniform_filter(weight, side) + np.float32(1e-6)
    mean = uniform_filter(colours * weight[..., None], (side, side, 0)) / total[..., None]
    count = float(weight.sum())
    average = (colours * weight[..., None]).sum((0, 1)) / max(count, 1.0)
    share = np.minimum(total * side * side / 4, 1)[..., None]  # fewer than four pixels are no colour
    made: Floats = (share * mean + (1 - share) * average).astype(np.float32)
    return made


def _logit(p: Floats) -> Floats:
    made: Floats = np.log(p) - np.log1p(-p)
    return made
