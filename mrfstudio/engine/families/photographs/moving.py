"""Iterations where messages still move: after a few of the whole picture most of it is at rest, and only tiles go on.

A tile with a rim of one pixel holds everything that its own messages are made of. After each iteration a rim hears from
the tile beside it, so that tiles do what the whole picture would do; only what comes from tiles at rest is held. Rims
that hear later, after a few iterations, make two tiles swap what they believe of their border for ever. A tile rests
when nothing in it or beside it moves by more than QUIET.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.photographs.rules import SumProduct
from mrfstudio.engine.families.scored_grid.messages import OFFSETS
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads

SETTLED = 1e-3
"""Change of messages, as a probability, below which a cut-out has settled."""
QUIET = 2e-4
"""Change of messages below which a pixel is at rest."""
AT_ONCE = 8
"""Iterations of tiles in a step, at least: reading and writing them takes as long as a few."""
LONGER, FEW = 4, 1_000_000
"""How many times as many while tiles have fewer than FEW messages: a step copies those of the whole picture."""
TILE = 32
SIDE = TILE + 2
"""Of a tile with its rim."""


def moving_pixels(rule: SumProduct, local: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """Where the last step moved a message, (height, width)."""
    return rule.change(local, new, old) > QUIET


def moving_tiles(moving: Tensor) -> Tensor:
    """Rows and columns (tiles, 2) of tiles in which, or beside which, a pixel moves."""
    height, width = moving.shape
    down, right = -height % TILE, -width % TILE
    wide = functional.pad(moving[None, None].float(), (1, 1 + right, 1, 1 + down))
    return functional.max_pool2d(wide, TILE + 2, TILE)[0, 0].nonzero()


def step_tiles(
    rule: SumProduct, local: Tensor, gains: list[Tensor], old: Tensor, moving: Tensor
) -> tuple[Tensor, float, Tensor, int]:
    """Iterations of the tiles that move: all messages, the largest change in the last AT_ONCE, what moves, how many.

    local (…, height, width) and messages (slots, …, height, width) as the rule has them, gains e^w - 1.
    """
    tiles = moving_tiles(moving)
    if not len(tiles):
        return old, 0.0, moving, AT_ONCE
    row = _Row(tiles, *moving.shape)
    here, edges, now = row.of(local, 1.0), row.edges(gains), row.of(old, 1.0)
    times = LONGER if now.numel() < FEW else 1
    before = now
    with fitting_threads(now.numel()):
        for _ in range(times):
            before, now = now, _iterated(rule, row, here, edges, now)
    change = row.own(rule.change(here, now, before))
    new, still = recycled(old.shape, old).copy_(old), moving.clone()
    row.put(new, row.own(now))
    row.put(still, change > QUIET)
    return new, float(change.max()), still, times * AT_ONCE


def _iterated(rule: SumProduct, row: _Row, here: Tensor, edges: list[Tensor], old: Tensor) -> Tensor:
    """AT_ONCE iterations of tiles with evidence `here` (…, SIDE, tiles · SIDE) and messages `old`, (slots, …)."""
    held, now, after = row.held(old), old.clone(), recycled(old.shape, old)
    for _ in range(AT_ONCE):
        rule.step(here, edges, now, after, measured=False)
        row.hear(after, held)
        now, after = after, now
    return now


class _Row:
    """Tiles with their rims side by side as one picture, (SIDE, tiles · SIDE); only rims touch each other."""

    def __init__(self, tiles: Tensor, height: int, width: int) -> None:
        along = torch.arange(-1, TILE + 1)
        self._rows = (tiles[:, 0] * TILE + along[:, None]).repeat_interleave(SIDE, 1).flatten()
        self._columns = (tiles[:, 1:] * TILE + along).reshape(1, -1).expand(SIDE, -1).flatten()
        own = self._inside(len(tiles), height, width)
        self._here, rim = own.nonzero()[:, 0], (~own).nonzero()[:, 0]
        """Places of the pixels that belong to a tile and to the photograph, and of those that belong to a rim."""
        rows, columns = self._rows[self._here], self._columns[self._here]
        self._there = rows * width + columns
        places = torch.full(((height + 2) * (width + 2),), -1)  # where a pixel, from -1 on, is its tile's own
        places[(rows + 1) * (width + 2) + columns + 1] = self._here
        rows, columns = self._rows[rim] + 1, self._columns[rim] + 1
        source = places[rows.clamp(max=height + 1) * (width + 2) + columns.clamp(max=width + 1)]
        self._told, self._source, self._held = rim[source >= 0], source[source >= 0], rim[source < 0]

    def own(self, values: Tensor) -> Tensor:
        """What tiles without their rims have in values (…, SIDE, tiles · SIDE), (…, pixels)."""
        return values.flatten(-2).index_select(-1, self._here)

    def put(self, values: Tensor, own: Tensor) -> None:
        """Write what `own` says, (…, pixels), into values (…, height, width) of the photograph, in place."""
        values.flatten(-2).index_copy_(-1, self._there, own)

    def held(self, values: Tensor) -> Tensor:
        """What rims beside tiles at rest have in values (…, SIDE, tiles · SIDE), (…, rims)."""
        return values.flatten(-2).index_select(-1, self._held)

    def hear(self, values: Tensor, held: Tensor) -> None:
        """Rims take what the tile beside them has; beside tiles at rest they have what is `held`, (…, rims).

        `values` (…, SIDE, tiles · SIDE) change in place.
        """
        flat = values.flatten(-2)
        flat.index_copy_(-1, self._held, held)
        flat.index_copy_(-1, self._told, flat.index_select(-1, self._source))

    def of(self, values: Tensor, outside: float, begin: int = 0) -> Tensor:
        """The same of values (…, height, width), whose first column is the picture's `begin`."""
        height, width = values.shape[-2:]
        rows, columns = self._rows, self._columns - begin
        missing = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
        place = rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)
        found = values.flatten(-2).index_select(-1, place)
        if bool(missing.any()):
            found.masked_fill_(missing, outside)
        return found.unflatten(-1, (SIDE, -1))

    def edges(self, gains: list[Tensor]) -> list[Tensor]:
        """Gains of its edges, shaped as `weight_shape` says; 0 where one leaves the photograph."""
        width = len(self._rows) // SIDE
        made = []
        for (dy, dx), gain in zip(OFFSETS, gains, strict=False):
            left = max(0, -dx)
            made.append(self.of(gain, 0.0, left)[: SIDE - dy, left : left + width - abs(dx)])
        return made

    def _inside(self, tiles: int, height: int, width: int) -> Tensor:
        """Whether a place belongs to a tile, not to its rim, and to the photograph, (SIDE · tiles · SIDE,)."""
        own = torch.zeros(SIDE, dtype=torch.bool)
        own[1:-1] = True
        return (own[:, None] & own.repeat(tiles)).flatten() & (self._rows < height) & (self._columns < width)
