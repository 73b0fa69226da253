"""A photograph as the cut-out needs it: colours at halved sizes and the weights between neighbours, made once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.photographs.colours import ColourCells, lab
from mrfstudio.engine.families.photographs.network import features
from mrfstudio.engine.families.scored_grid.contrast_grid import contrast_weights
from mrfstudio.engine.protocol.commands.photographs import LEANING

FINEST = 2_000_000
"""Pixels up to which the whole picture takes part in the last iterations; larger ones get a band at full size."""
THINKING = 80_000
"""Pixels of the level where colours and distances are found: more cost time and were measured to bring nothing."""
SOFT = 0.5
"""How much a soft stroke marks its pixels; a hard one is 1."""
COARSEST = 32
"""Shortest side of the coarsest level."""


@dataclass(frozen=True, eq=False)
class Level:
    """One size of the picture: colours (3, height, width) in Lab, and where they lie in the table of colours."""

    picture: Tensor

    @property
    def size(self) -> tuple[int, int]:
        return int(self.picture.shape[1]), int(self.picture.shape[2])

    @cached_property
    def cells(self) -> ColourCells:
        return ColourCells(self.picture.numpy())

    @cached_property
    def features(self) -> NDArray[np.float32]:
        """What networks see of it, (FEATURES, height, width)."""
        return features(self.picture.numpy())

    def gains(self, smoothness: float, neighbours: int) -> list[Tensor]:
        """e^w - 1 of the edges of this level."""
        return [w.expm1_() for w in contrast_weights(self.picture, smoothness, neighbours)]


class Photograph:
    """Levels from the finest, of at most two megapixels, to the coarsest; each has half the side of the one before."""

    def __init__(self, rgb: NDArray[np.uint8]) -> None:
        """rgb (height, width, 3), 8 bits of sRGB."""
        self.rgb = np.ascontiguousarray(rgb)
        height, width = rgb.shape[:2]
        self.reduction = max(1, math.ceil(math.sqrt(height * width / FINEST)))
        """How many pixels of the photograph make one of the finest level, in each direction."""
        self.levels = [Level(lab(reduced(self.rgb, self.reduction)))]
        while min(self.levels[-1].size) >= 2 * COARSEST:
            self.levels.append(Level(halved(self.levels[-1].picture)))
        pixels = [math.prod(level.size) for level in self.levels]
        self.thinking = next((k for k, n in enumerate(pixels) if n <= THINKING), len(pixels) - 1)
        """Which level colours and distances are found on."""

    @property
    def size(self) -> tuple[int, int]:
        return self.rgb.shape[0], self.rgb.shape[1]

    def strokes(self, full: NDArray[np.uint8], labels: int) -> list[Tensor]:
        """Strokes 0, 1 … labels at every level: (labels, height, width), 1 where a block has strokes of one label.

        Soft strokes are SOFT; where a block has hard ones too, those alone count.
        """
        marks = torch.from_numpy(np.stack([full == k for k in range(1, labels + 1)])).float()
        if full.max(initial=0) > LEANING:
            leaning = np.stack([full == k + LEANING for k in range(1, labels + 1)])
            marks += SOFT * torch.from_numpy(leaning)
        made = [_pooled(marks, self.reduction)]
        for _ in self.levels[1:]:
            made.append(_pooled(made[-1], 2))
        return [_of_one_label(m) for m in made]


def reduced(rgb: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Blocks of factor × factor pixels averaged; an incomplete block at the edge averages what it has."""
    if factor == 1:
        return rgb
    height, width = rgb.shape[:2]
    rows = []
    pad = -width % factor
    for top in range(0, height, factor):  # row by row of the small picture: a large one is never in memory as floats
        block = rgb[top : top + factor].astype(np.uint16).sum(0)
        block = np.concatenate([block, np.repeat(block[-1:], pad, 0)]) if pad else block
        rows.append(block.reshape(-1, factor, 3).sum(1) / (factor * min(factor, height - top)))
    return np.rint(np.stack(rows)).astype(np.uint8)


def halved(picture: Tensor) -> Tensor:
    """(channels, height, width) at half the size, rounded up; means."""
    return functional.avg_pool2d(picture[None], 2, ceil_mode=True, count_include_pad=False)[0]


def doubled(values: Tensor, size: tuple[int, int]) -> Tensor:
    """(…, height, width) at twice the size, cut to `size`: the inverse of `halved` for what is constant in blocks."""
    wide = values.repeat_interleave(2, -2).repeat_interleave(2, -1)
    return wide[..., : size[0], : size[1]].contiguous()


def smoothly_doubled(values: Tensor, size: tuple[int, int]) -> Tensor:
    """(channels, height, width) at twice the size by bilinear interpolation, aligned like `doubled`."""
    wide = functional.interpolate(values[None], scale_factor=2, mode="bilinear", align_corners=False)[0]
    return wide[..., : size[0], : size[1]].contiguous()


def _of_one_label(marks: Tensor) -> Tensor:
    """Marks (labels, height, width) of the strongest kind, where only one label has them."""
    strongest = marks == marks.amax(0)
    clear = strongest & (marks > 0)
    return torch.where(clear & (clear.sum(0) == 1), marks, torch.zeros_like(marks))


def _pooled(marks: Tensor, factor: int) -> Tensor:
    """Marks (labels, height, width) of blocks: the strongest of factor × factor pixels."""
    return marks if factor == 1 else functional.max_pool2d(marks[None], factor, ceil_mode=True)[0]
