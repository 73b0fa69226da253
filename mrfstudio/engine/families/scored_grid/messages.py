"""Messages of a Potts grid in O(labels) a pixel and direction, in stripes of rows that stay in the cache.

Edge k joins a pixel to the one at OFFSETS[k]; a grid with four neighbours has the first two, one with eight all four.
Messages have two slots for each k: 2k holds what a pixel hears from its upper or left end, 2k + 1 from the other.

Two labels, ratios r = m(1) / m(0), a = e^w, cavity ratio c:      r' = (a c + 1) / (c + a)
More labels, g = e^w - 1, normalised cavity c(x):                 m'(x) = 1 + g c(x)

The second form is the normalised message times (labels + g). Kept so, a message is never below 1, and the product of
eight of them neither underflows nor, with weights up to STRONGEST, overflows 32 bits.
"""

from __future__ import annotations

from types import EllipsisType

import torch
from torch import Tensor

OFFSETS = ((0, 1), (1, 0), (1, 1), (1, -1))
STRONGEST = 4.0
"""Largest weight: nine factors e^4 times evidence of e^52 are still below the largest number of 32 bits."""
SUREST = 52.0
"""Evidence of two labels is cut here, in log-odds: eight neighbours together say 32, and e^-20 is rounding."""
STRIPE = 262_144
"""Numbers of one array that a stripe holds: large enough for two threads, small enough for the cache."""

Place = tuple[EllipsisType, slice, slice]


def places(offset: tuple[int, int], height: int, width: int, top: int = 0, bottom: int | None = None) -> Place:
    """The pixels of rows top … bottom that have a neighbour at `offset`, as an index of (…, height, width)."""
    dy, dx = offset
    last = height if bottom is None else bottom
    rows = slice(max(top, -dy), max(min(last, height - dy), top, -dy))
    return ..., rows, slice(max(0, -dx), width - max(0, dx))


def moved(place: Place, offset: tuple[int, int]) -> Place:
    """The neighbours at `offset` of the pixels of a place."""
    dy, dx = offset
    _, rows, columns = place
    return ..., slice(rows.start + dy, rows.stop + dy), slice(columns.start + dx, columns.stop + dx)


def weight_shape(k: int, height: int, width: int) -> tuple[int, int]:
    """Rows and columns of the weights of edge k."""
    dy, dx = OFFSETS[k]
    return height - dy, width - abs(dx)


def ratio_start(gains: list[Tensor], local: Tensor) -> Tensor:
    """Messages that say nothing, (2 edges, *local.shape)."""
    return torch.ones((2 * len(gains), *local.shape), dtype=local.dtype, device=local.device)


def label_start(gains: list[Tensor], local: Tensor) -> Tensor:
    """The same for labels (labels, …, height, width): uniform messages are 1 + g / labels."""
    made = ratio_start(gains, local)
    height, width = local.shape[-2:]
    for slot in range(len(made)):
        _, target, _, edges = ends(slot, height, width, 0, height)
        made[slot][target] += gains[slot // 2][edges] / len(local)
    return made


def ratio_local(log_odds: Tensor) -> Tensor:
    """Evidence (…, height, width) of two labels as a ratio, cut where one more is certainty."""
    surest = SUREST if log_odds.dtype == torch.float32 else 5 * SUREST
    return log_odds.clamp(-surest, surest).exp_()


def label_local(log_potentials: Tensor) -> Tensor:
    """Evidence of labels (labels, …, height, width) with a largest value of 1 at each pixel."""
    return (log_potentials - log_potentials.amax(0)).exp_()


def ratio_step(local: Tensor, gains: list[Tensor], old: Tensor, new: Tensor, measured: bool = True) -> Tensor:
    """All messages of a grid of two labels once, from `old` into `new`; the largest change as a probability.

    local (…, h, w), gains e^w - 1 as `weight_shape` says, messages (2 edges, …, h, w). The change takes half of the
    time: 0 where it is not `measured`.
    """
    height, width = local.shape[-2:]
    residual = local.new_zeros(())
    for top, bottom in _stripes(local):
        rows = (..., slice(top, bottom), slice(None))
        total = local[rows] * old[0][rows]
        for slot in range(1, len(old)):
            total *= old[slot][rows]
        for slot in range(len(old)):
            there, target, back, gain = ends(slot, height, width, top, bottom)
            if _empty(there):
                continue
            sender = total[(..., slice(there[1].start - top, there[1].stop - top), there[2])]
            told = old[back][there]
            a = gains[slot // 2][gain] + 1.0
            below = torch.addcmul(sender, a, told)
            made = torch.div(torch.addcmul(told, a, sender), below, out=new[slot][target])
            if measured:
                residual = torch.maximum(residual, ratio_change(made, old[slot][target]).amax())
    _rims(new)
    return residual


def label_step(local: Tensor, gains: list[Tensor], old: Tensor, new: Tensor, measured: bool = True) -> Tensor:
    """The same for any number of labels: local (labels, …, h, w), messages (2 edges, labels, …, h, w)."""
    height, width = local.shape[-2:]
    labels, residual = local.shape[0], local.new_zeros(())
    for top, bottom in _stripes(local):
        rows = (..., slice(top, bottom), slice(None))
        total = local[rows] * old[0][rows]
        for slot in range(1, len(old)):
            total *= old[slot][rows]
        for slot in range(len(old)):
            there, target, back, gain = ends(slot, height, width, top, bottom)
            if _empty(there):
                continue
            g = gains[slot // 2][gain]
            cavity = total[(..., slice(there[1].start - top, there[1].stop - top), there[2])] / old[back][there]
            made = torch.mul(cavity, g / cavity.sum(0), out=new[slot][target]).add_(1.0)
            if measured:
                change = torch.sub(made, old[slot][target], out=cavity).abs_().amax(0) / (g + labels)
                residual = torch.maximum(residual, change.amax())
    _rims(new)
    return residual


def ratio_total(local: Tensor, messages: Tensor) -> Tensor:
    """The ratio (…, height, width) of a pixel's beliefs, of messages (2 edges, …, height, width)."""
    total = local * messages[0]
    for message in messages[1:]:
        total *= message
    return total


def label_total(local: Tensor, messages: Tensor) -> Tensor:
    """Beliefs of labels, normalised, (labels, …, h, w)."""
    total = ratio_total(local, messages)
    return total.div_(total.sum(0))


def ends(slot: int, height: int, width: int, top: int, bottom: int) -> tuple[Place, Place, int, Place]:
    """Who sends a slot's message from these rows, who hears it, the slot of the answer, and the edges' weights."""
    k, reverse = divmod(slot, 2)
    dy, dx = OFFSETS[k]
    offset = (-dy, -dx) if reverse else (dy, dx)
    there = places(offset, height, width, top, bottom)
    target = moved(there, offset)
    first = target if reverse else there
    left = max(0, -dx)  # weights begin with the first column that has the neighbour
    edges = (..., first[1], slice(first[2].start - left, first[2].stop - left))
    return there, target, slot ^ 1, edges


def _empty(place: Place) -> bool:
    _, rows, columns = place
    return bool(rows.start >= rows.stop or columns.start >= columns.stop)


def ratio_change(new: Tensor, old: Tensor) -> Tensor:
    """|p' - p| of p = r / (1 + r), of ratios (…, height, width)."""
    below = new + 1.0
    return (new - old).div_(torch.addcmul(below, below, old, out=below)).abs_()


def _rims(new: Tensor) -> None:
    """What the outside of the picture says: nothing. Messages (2 edges, …, height, width), in place."""
    for slot in range(len(new)):
        dy, dx = OFFSETS[slot // 2]
        if slot % 2:
            dy, dx = -dy, -dx
        if dy:
            new[slot][..., 0 if dy > 0 else -1, :] = 1.0
        if dx:
            new[slot][..., 0 if dx > 0 else -1] = 1.0


def _stripes(local: Tensor) -> list[tuple[int, int]]:
    """First row of each stripe of (…, height, width) that stays in the cache, and the row after its last."""
    height = local.shape[-2]
    rows = max(1, STRIPE * height // max(local.numel(), 1))
    return [(top, min(top + rows, height)) for top in range(0, height, rows)]
