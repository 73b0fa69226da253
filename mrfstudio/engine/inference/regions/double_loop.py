"""A double loop that lowers the region-based free energy turn by turn.

Entropies of regions with negative counting numbers make F_R non-convex. Each turn replaces them by their tangents at
the present beliefs, which gives a convex bound that touches F_R there,

    Σ_α b_α (log b_α - log φ_α) + Σ_β [c̃_β b_β log b_β - b_β ψ_β],
    c̃_β = max(c_β, 0),    ψ_β = c_β log φ_β - (c_β - c̃_β) log b_β^old,

over roots α and inner regions β, under b_β = Σ_{x_α∖x_β} b_α for every pair. Multipliers μ_αβ of these constraints are
found by coordinate ascent on the dual: with ν_αβ = Σ b_α / exp μ_αβ and n_β roots around β,

    log b_β = (Σ_α log ν_αβ + ψ_β) / (n_β + c̃_β),    μ_αβ = log b_β - log ν_αβ.

Inner regions of one colour share no root, so updating them together is updating them one after the other. Enough
sweeps over the colours for each new tangent make every turn lower F_R; one sweep settles just as well in practice.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.inference.regions.gathers import (
    GatherSum,
    Marginals,
    TableBlock,
    equal_runs,
    table_blocks,
    table_views,
)
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.residuals import largest_change
from mrfstudio.engine.runtime.device import from_host


class Swept(NamedTuple):
    """Multipliers (…, pairs), log-beliefs of all regions (…, entries), largest disagreement of a root (…-less)."""

    multipliers: Tensor
    log_beliefs: Tensor
    residual: Tensor


@dataclass(frozen=True, eq=False)
class RegionColour:
    """Inner regions that share no root, and their pairs with roots."""

    pairs: slice  # where their multipliers lie
    marginals: Marginals  # from root tables to pairs
    spread: Tensor  # (touched root entries,) the pair entry that each one belongs to
    touched: Tensor  # (touched root entries,) in the flat vector of region tables
    pair_blocks: tuple[TableBlock, ...]
    gather: GatherSum  # from pairs to inner regions
    back: Tensor  # (pair entries,) from inner regions to pairs
    entries: Tensor  # (inner entries,) in the flat vector of region tables
    blocks: tuple[TableBlock, ...]
    counting: Tensor  # (inner entries,) c_β
    around: Tensor  # (inner entries,) n_β

    def on(self, device: torch.device) -> RegionColour:
        """The same with its indices where the numbers are."""
        if self.entries.device == device:
            return self
        names = ("spread", "touched", "back", "entries")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


class DoubleLoop:
    """The layout of the inner loop for one region graph."""

    def __init__(self, tables: RegionTables) -> None:
        self.tables = tables
        regions = tables.regions
        roots = frozenset(regions.roots.tolist())
        self._around = [sorted(above & roots) for above in regions.ancestors]
        inner = [region for region in range(len(regions.regions)) if self._around[region]]
        self.colours: list[RegionColour] = []
        self.size = 0
        for members in _coloured(inner, self._around):
            self.colours.append(self._colour(members))

    def _colour(self, members: list[int]) -> RegionColour:
        tables = self.tables
        members = sorted(members, key=lambda region: tables.sizes[region])
        pairs = [(root, region) for region in members for root in self._around[region]]
        keys = np.array([(tables.sizes[b], tables.sizes[a]) for a, b in pairs])
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        pairs, keys = [pairs[i] for i in order], keys[order]
        names = tables.regions.regions
        indices = [tables.entries_within(names[b], a) for a, b in pairs]
        groups = [np.stack(indices[start:stop]) for start, stop in equal_runs(keys)]
        sizes = tables.sizes[members]
        blocks, offsets = table_blocks(sizes, np.arange(len(members)))
        pair_blocks, pair_offsets = table_blocks(keys[:, 0], np.arange(len(pairs)))
        place = {region: i for i, region in enumerate(members)}
        incoming: list[list[np.ndarray]] = [[] for _ in members]
        for number, (_, region) in enumerate(pairs):
            incoming[place[region]].append(pair_offsets[number] + np.arange(keys[number, 0]))
        firsts = np.cumsum([0, *(block.count for block in blocks)])
        terms = [incoming[a:b] for a, b in itertools.pairwise(firsts)]
        total = pair_blocks[-1].stop
        numbered = [offset + np.arange(len(index)) for offset, index in zip(pair_offsets, indices, strict=True)]
        spread = [np.repeat(n, index.shape[1]) for n, index in zip(numbered, indices, strict=True)]
        start = self.size
        self.size += total
        return RegionColour(
            slice(start, self.size),
            Marginals(groups),
            from_host(np.concatenate(spread)),
            from_host(np.concatenate([index.reshape(-1) for index in indices])),
            pair_blocks,
            GatherSum(blocks, terms, total),
            from_host(np.concatenate([offsets[place[b]] + np.arange(tables.sizes[b]) for _, b in pairs])),
            from_host(np.concatenate([tables.offsets[b] + np.arange(tables.sizes[b]) for b in members])),
            blocks,
            from_host(np.repeat(tables.regions.counting[members].astype(np.float64), sizes)),
            from_host(np.repeat([float(len(self._around[b])) for b in members], sizes)),
        )

    def start(self, potentials: Tensor) -> tuple[Tensor, Tensor]:
        """No multipliers (…, size), and log-beliefs (…, entries) for the first tangents: uniform over the possible."""
        uniform = self.tables.normalise(torch.where(potentials.isneginf(), potentials, 0.0))
        return potentials.new_zeros((*potentials.shape[:-1], self.size)), uniform

    def turn(self, potentials: Tensor, multipliers: Tensor, log_beliefs: Tensor, sweeps: int = 1) -> Swept:
        """Tangents at `log_beliefs`, then every colour `sweeps` times. Potentials are log φ_R, (…, entries). The
        residual is that of the first sweep: it sees both the disagreement and the change of the tangents.
        """
        first = last = self._sweep(potentials, multipliers, log_beliefs)
        for _ in range(sweeps - 1):
            last = self._sweep(potentials, last.multipliers, log_beliefs)
        return last._replace(residual=first.residual)

    def _sweep(self, potentials: Tensor, multipliers: Tensor, log_beliefs: Tensor) -> Swept:
        """Every colour once; potentials and log-beliefs (…, entries), multipliers (…, size)."""
        roots = self._root_tables(potentials, multipliers)
        beliefs, parts = log_beliefs, []
        # What is impossible stays so, and has neither a field nor a multiplier: -inf minus -inf would have no value.
        zeros = bool(potentials.isneginf().any())
        known = potentials.masked_fill(potentials.isneginf(), 0.0) if zeros else potentials
        tangents = log_beliefs.masked_fill(log_beliefs.isneginf(), 0.0) if zeros else log_beliefs
        largest = potentials.new_zeros(())
        for colour in (colour.on(potentials.device) for colour in self.colours):
            old = multipliers[..., colour.pairs]
            said = _log_softmax(colour.marginals(roots, torch.logsumexp), colour.pair_blocks)
            cavity = said - old
            counting = colour.counting.to(potentials)
            kept = counting.clamp(min=0)
            tangent = tangents.index_select(-1, colour.entries)
            field = counting * known.index_select(-1, colour.entries) - (counting - kept) * tangent
            fresh = (colour.gather(cavity) + field) / (colour.around.to(potentials) + kept)
            fresh = _log_softmax(fresh, colour.blocks)
            wanted = fresh.index_select(-1, colour.back)
            largest = torch.maximum(largest, largest_change(wanted, said))
            moved = torch.where(wanted.isneginf(), wanted, wanted - cavity) if zeros else wanted - cavity
            new = _log_softmax(moved, colour.pair_blocks)
            if zeros:
                new = new.masked_fill(wanted.isneginf(), 0.0)
            roots = roots.index_add(-1, colour.touched, (new - old).index_select(-1, colour.spread))
            beliefs = beliefs.index_copy(-1, colour.entries, fresh)
            parts.append(new)
        whole = roots
        for colour in (colour.on(potentials.device) for colour in self.colours):
            whole = whole.index_copy(-1, colour.entries, beliefs.index_select(-1, colour.entries))
        found = torch.cat(parts, -1) if parts else multipliers
        return Swept(found, self.tables.normalise(whole), largest)

    def _root_tables(self, potentials: Tensor, multipliers: Tensor) -> Tensor:
        """log φ_α + Σ_β μ_αβ on roots, (…, entries); what stands in the places of inner regions has no meaning."""
        roots = potentials
        for colour in (colour.on(potentials.device) for colour in self.colours):
            values = multipliers[..., colour.pairs].index_select(-1, colour.spread)
            roots = roots.index_add(-1, colour.touched, values)
        return roots


def _coloured(inner: list[int], around: list[list[int]]) -> list[list[int]]:
    """Greedy colours, so that no two regions of one colour lie in the same root."""
    taken: dict[int, set[int]] = {}
    classes: list[list[int]] = []
    for region in inner:
        forbidden: set[int] = set().union(*(taken.setdefault(root, set()) for root in around[region]))
        colour = next(c for c in range(len(classes) + 1) if c not in forbidden)
        if colour == len(classes):
            classes.append([])
        classes[colour].append(region)
        for root in around[region]:
            taken[root].add(colour)
    return classes


def _log_softmax(flat: Tensor, blocks: tuple[TableBlock, ...]) -> Tensor:
    """Log-tables (…, entries) of these blocks, each table shifted so that its exponentials sum to 1."""
    return torch.cat([torch.log_softmax(view, -1).flatten(-2) for view in table_views(flat, blocks)], -1)
