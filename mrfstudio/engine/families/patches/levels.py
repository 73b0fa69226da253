"""A damaged photograph and smaller copies of it, around the hole: a hole is filled in coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.patches.windows import Places
from mrfstudio.engine.families.repairs import Damaged

REACH = 4
"""How far, in pixels, what is unknown may lie from what is known: deeper holes begin on smaller copies."""
EXACT = 0.003
"""Deviation of a known pixel: that of 8 bits, and a little of the sensor."""
PARTLY = 0.03
"""What is added to it where only a part of a coarse pixel is known."""
GREY = 0.5
"""Where nothing is known at all."""


@dataclass(frozen=True, eq=False)
class RepairLevel:
    """One copy: colours (height, width, channels), where it is unknown, and the variance (height, width) elsewhere."""

    colours: Tensor
    unknown: Tensor
    variance: Tensor
    held: Tensor | None

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.colours.shape[0]), int(self.colours.shape[1])

    def deep(self, side: int) -> Tensor:
        """Pixels (height, width) at most a window away from one that lies farther than `REACH` from what is known."""
        return torch.from_numpy(_dilated(_far_inside(self.unknown), side))

    def places(self, side: int, stride: int) -> Places:
        return Places.touching(self.unknown, side, stride)


@dataclass(frozen=True, eq=False)
class Pyramid:
    """Levels, the finest first, of the part of a photograph around its hole; `corner` (top, left) is where it lies."""

    levels: tuple[RepairLevel, ...]
    corner: tuple[int, int]

    @classmethod
    def around(cls, damaged: Damaged, side: int) -> Pyramid:
        """As many levels as the depth of the hole asks for and the picture has room for."""
        part, corner = _around(damaged.unknown, 4 * side)
        colours = torch.from_numpy(np.ascontiguousarray(damaged.colours[part], np.float32))
        unknown = torch.from_numpy(np.ascontiguousarray(damaged.unknown[part]))
        colours = torch.where(unknown[..., None], 0.0, colours)
        variance = torch.full(unknown.shape, EXACT**2)
        if damaged.strength is not None:
            firm = torch.from_numpy(np.ascontiguousarray(damaged.strength[part], np.float32)).clamp(1e-3, 1)
            variance = variance + ((1 - firm) / firm) * PARTLY**2
        held = None if damaged.held is None else torch.from_numpy(np.ascontiguousarray(damaged.held[part]))
        levels = [_at_least(RepairLevel(colours, unknown, variance, held), side)]
        while _far_inside(levels[-1].unknown).any() and min(levels[-1].shape) >= 2 * side:
            levels.append(_halved(levels[-1]))
        return cls(tuple(levels), corner)


def _around(unknown: np.ndarray, margin: int) -> tuple[tuple[slice, slice], tuple[int, int]]:
    """The part of a picture that holds the hole and a margin."""
    ranges = []
    for axis in (0, 1):
        lines = np.flatnonzero(unknown.any(1 - axis))
        first, last = (int(lines[0]), int(lines[-1])) if len(lines) else (0, 0)
        ranges.append((max(first - margin, 0), min(last + margin + 1, unknown.shape[axis])))
    return (slice(*ranges[0]), slice(*ranges[1])), (ranges[0][0], ranges[1][0])


def _at_least(level: RepairLevel, side: int) -> RepairLevel:
    """A level as large as a window, with unknown pixels beyond the edges of a tiny picture."""
    down, right = (max(side - size, 0) for size in level.shape)
    if not down and not right:
        return level
    edge = (0, right, 0, down)
    return RepairLevel(
        functional.pad(level.colours, (0, 0, *edge)),
        functional.pad(level.unknown, edge, value=True),
        functional.pad(level.variance, edge, value=1.0),
        None if level.held is None else functional.pad(level.held, edge, value=-1),
    )


def _far_inside(unknown: Tensor) -> NDArray[np.bool_]:
    """Where something unknown lies farther than `REACH` from all that is known, (height, width)."""
    return ~_dilated(~unknown.numpy(), REACH)


def _dilated(mask: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """A mask (height, width) and all that lies at most so many rows and columns from it."""
    whole = np.pad(mask, reach)
    for axis in (0, 1):
        covered, length = 1, 2 * reach + 1
        whole = np.moveaxis(whole, axis, 0)
        while covered < length:  # each round covers twice as many lines
            step = min(covered, length - covered)
            whole = whole[:-step] | whole[step:]
            covered += step
        whole = np.moveaxis(whole, 0, axis)
    return whole


def _halved(level: RepairLevel) -> RepairLevel:
    """A coarse pixel is the mean of what is known of four; it is unknown where none of them is known."""
    known = (~level.unknown).to(torch.float32)
    share = _pooled(known[..., None])
    colours = _pooled(level.colours * known[..., None]) / share.clamp_min(1e-6)
    variance = _pooled((level.variance * known)[..., None]) / share.clamp_min(1e-6)
    share = share[..., 0]
    partly = (1 - share) * PARTLY**2
    held = None if level.held is None else level.held[::2, ::2]
    return RepairLevel(colours, share == 0, variance[..., 0] / 2 + EXACT**2 / 2 + partly, held)


def _pooled(values: Tensor) -> Tensor:
    """Means of 2×2 pixels of (height, width, channels); at an odd edge of those there are."""
    moved = values.permute(2, 0, 1)[None]
    return functional.avg_pool2d(moved, 2, ceil_mode=True, count_include_pad=False)[0].permute(1, 2, 0)


def filled(level: RepairLevel) -> Tensor:
    """The first answer, at once: colours (height, width, channels) from smaller and smaller copies, drawn smoothly."""
    copies = [level]
    while bool(copies[-1].unknown.any()) and max(copies[-1].shape) > 1:
        copies.append(_halved(copies[-1]))
    last = copies[-1]
    found = torch.where(last.unknown[..., None], GREY, last.colours)
    for each in reversed(copies[:-1]):
        found = torch.where(each.unknown[..., None], enlarged(found, each.shape), each.colours)
    return found


def enlarged(values: Tensor, shape: tuple[int, int]) -> Tensor:
    """(height, width, channels) drawn twice as large, smoothly."""
    moved = values.permute(2, 0, 1)[None]
    larger = functional.interpolate(moved, scale_factor=2, mode="bilinear", align_corners=False)
    return larger[0].permute(1, 2, 0)[: shape[0], : shape[1]]
