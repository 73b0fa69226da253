"""How an iteration goes through a canvas: in blocks of image rows, each hearing from one direction after the other."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import NamedTuple

from mrfstudio.engine.families.grid.shape import GridShape

BLOCK = 300_000
"""Entries (S, pixels) of a block at most: fewer cost more calls than they save memory traffic."""


class Way(NamedTuple):
    """What a block of pixels hears from one direction, as slices of N.

    `senders` are as many for every direction; of what they send the block hears `heard`, which goes to `receivers`.
    Its image rows `edge` and its image column `column` hear from outside the image.
    """

    block: int
    direction: int
    opposite: int
    pixels: slice
    senders: slice
    heard: slice
    receivers: slice
    edge: slice
    column: int | None

    @property
    def length(self) -> int:
        """Pixels of the block."""
        return int(self.pixels.stop - self.pixels.start)


def ways(shape: GridShape, states: int) -> tuple[Way, ...]:
    """Every direction to every block, a block after the other: the same for every iteration on a canvas."""
    return _ways(shape, states, BLOCK)


@lru_cache(maxsize=64)
def _ways(shape: GridShape, states: int, most: int) -> tuple[Way, ...]:
    rows = shape.batch * shape.height
    pieces = min(math.ceil(states * shape.pixels / most), rows)
    ends = [round(number * rows / pieces) * shape.width for number in range(pieces + 1)]
    blocks = [slice(begin, end) for begin, end in itertools.pairwise(ends)]
    return tuple(
        _way(shape, block, pixels, direction)
        for block, pixels in enumerate(blocks)
        for direction in range(shape.connectivity)
    )


def _way(shape: GridShape, block: int, pixels: slice, direction: int) -> Way:
    offset, length = shape.offset(direction), pixels.stop - pixels.start
    begin, end = max(pixels.start, offset), min(pixels.stop, shape.pixels + offset)
    low = min(max(pixels.start - offset, 0), shape.pixels - length)
    receivers = slice(begin, max(begin, end))  # none where the image is too small to have a neighbour there
    heard = slice(begin - offset - low, receivers.stop - offset - low) if begin < end else slice(0, 0)
    edge, column = shape.border(direction, pixels.start // shape.width)
    return Way(
        block, direction, shape.opposite(direction), pixels, slice(low, low + length), heard, receivers, edge, column
    )
