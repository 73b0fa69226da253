"""Gathers over blocks of tables that lie one after the other in a flat vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.runtime.device import from_host


@dataclass(frozen=True)
class TableBlock:
    """`count` tables with `entries` entries each, from `offset` on in the flat vector, as (count, entries)."""

    entries: int
    count: int
    offset: int

    @property
    def stop(self) -> int:
        return self.offset + self.entries * self.count


class GatherSum:
    """Sums of chosen sources for every entry of a flat vector: out[e] = Σ_t source[index[t, e]].

    One index (terms, entries) a block; the missing terms of shorter sums point at a zero behind the last source.
    """

    def __init__(
        self, blocks: Sequence[TableBlock], terms: Sequence[Sequence[Sequence[np.ndarray]]], zero: int
    ) -> None:
        """`terms[block][table]` are arrays (entries,) of source numbers."""
        self.indices = []
        for block, tables in zip(blocks, terms, strict=True):
            most = max((len(arrays) for arrays in tables), default=0)
            index = np.full((most, block.count, block.entries), zero, dtype=np.int64)
            for place, arrays in enumerate(tables):
                for term, array in enumerate(arrays):
                    index[term, place] = array
            self.indices.append((most, block.count * block.entries, from_host(index.reshape(-1))))

    def __call__(self, sources: Tensor) -> Tensor:
        """Sources (…, n) without the zero → (…, entries)."""
        padded = torch.cat([sources, sources.new_zeros((*sources.shape[:-1], 1))], -1)
        parts = []
        for terms, entries, index in self.indices:
            if terms == 0:
                parts.append(sources.new_zeros((*sources.shape[:-1], entries)))
            else:
                picked = padded.index_select(-1, index.to(sources.device))
                parts.append(picked.unflatten(-1, (terms, entries)).sum(-2))
        return torch.cat(parts, -1)


class Marginals:
    """Sums of table entries for groups of targets: a target (entries,) takes `ratio` entries of a table for each."""

    def __init__(self, groups: Sequence[np.ndarray]) -> None:
        """One index (n, entries, ratio) for each group of targets with the same shape."""
        self.groups = [(index.shape, from_host(np.ascontiguousarray(index).reshape(-1))) for index in groups]

    def __call__(self, tables: Tensor, reduce: Callable[[Tensor, int], Tensor] = torch.sum) -> Tensor:
        """(…, region entries) → (…, target entries), with `reduce` over the last axis (sum, logsumexp)."""
        parts = [
            reduce(tables.index_select(-1, index.to(tables.device)).unflatten(-1, shape), -1).flatten(-2)
            for shape, index in self.groups
        ]
        return torch.cat(parts, -1) if parts else tables.new_zeros((*tables.shape[:-1], 0))


def table_blocks(sizes: np.ndarray, order: np.ndarray) -> tuple[tuple[TableBlock, ...], np.ndarray]:
    """Blocks of equal sizes along `order`, and the first entry of each table by its own number."""
    along = sizes[order]
    starts = np.cumsum(along) - along
    offsets = np.zeros(len(sizes), dtype=np.int64)
    offsets[order] = starts
    blocks = [TableBlock(int(along[a]), b - a, int(starts[a])) for a, b in equal_runs(along[:, None])]
    return tuple(blocks), offsets


def equal_runs(keys: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of runs of equal rows."""
    if not len(keys):
        return []
    cuts = np.flatnonzero((keys[1:] != keys[:-1]).any(axis=1)) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(keys)], strict=True))


def table_views(flat: Tensor, blocks: Sequence[TableBlock]) -> list[Tensor]:
    """Views (…, count, K) of a vector (…, entries), one for each block of tables of K entries."""
    return [flat[..., b.offset : b.stop].unflatten(-1, (b.count, b.entries)) for b in blocks]
