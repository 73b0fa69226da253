"""Region graphs as flat tensors: tables of all regions in one vector, messages of all edges in another.

Regions whose tables have the same number of entries K lie together as a block (n, K); so do messages, by the entries of
the child and of the parent. What a region multiplies together (potentials, messages) is a gather and a sum, what a
parent says about a child a gather and a reduction: a few operations for each block, never a loop over regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.regions.gathers import GatherSum, Marginals, equal_runs, table_blocks, table_views
from mrfstudio.engine.inference.regions.region_graph import RegionError, RegionGraph, factor_scopes
from mrfstudio.engine.runtime.device import from_host

MOST_ENTRIES = 1 << 23
"""Entries of all region tables together; one step touches a few dozen times as many numbers."""


class RegionTables:
    """The layout of one region graph, for all factor graphs of one structure (`FactorGraph.structural`). `order` lists
    regions as they lie in the vector.
    """

    def __init__(self, structure: FactorGraph, regions: RegionGraph) -> None:
        self.structure, self.regions = structure, regions
        self.shapes = [tuple(int(structure.cardinalities[v]) for v in region) for region in regions.regions]
        logs = [float(np.log2(shape).sum()) for shape in self.shapes]
        total = sum(2.0**size for size in logs)
        if total > MOST_ENTRIES:
            raise RegionError(
                f"The regions of this graph would have {total:.2g} entries, at most {MOST_ENTRIES} are allowed: "
                f"set a smaller largest region, or use bp."
            )
        sizes = np.array([int(np.prod(shape)) for shape in self.shapes], dtype=np.int64)
        self.sizes = sizes
        self.order = np.argsort(sizes, kind="stable")
        self.blocks, self.offsets = table_blocks(sizes, self.order)
        edges = regions.edges
        child, parent = (sizes[edges[:, 1]], sizes[edges[:, 0]]) if len(edges) else (sizes[:0], sizes[:0])
        self.edge_order = np.lexsort((np.arange(len(edges)), parent, child))
        """Edges as their messages lie in the flat vector."""
        self.edges = edges[self.edge_order]
        self.message_blocks, self.message_offsets = table_blocks(child[self.edge_order], np.arange(len(edges)))

    @property
    def size(self) -> int:
        """Entries of all regions."""
        return self.blocks[-1].stop

    @property
    def message_size(self) -> int:
        return self.message_blocks[-1].stop if self.message_blocks else 0

    # Potentials -------------------------------------------------------------------------------------------------------

    def potentials(self, graph: FactorGraph, local: Tensor) -> Tensor:
        """log φ_R of a graph: local potentials (…, size of the packing) and the factors of each region, (…, entries).

        -inf where an entry is impossible: for a factor or potential of its own, or because no entry of a region above
        or below it agrees with it. What is possible in a region then is so in all around it, and quotients of
        beliefs have a value wherever they are needed.
        """
        flat = [group.tables.reshape(-1) for group in graph.groups]
        tables = torch.cat(flat) if flat else local.new_zeros(0)
        found = self._potential_sum(torch.cat([local, tables.expand(*local.shape[:-1], -1)], -1))
        if not bool(found.isneginf().any()):
            return found
        possible = self._agreeing(~found.isneginf())
        for block, states in zip(self.blocks, self.by_block(possible), strict=True):
            dead = (~states.any(-1)).reshape(-1, block.count).any(0)
            if bool(dead.any()):
                first = int(np.searchsorted(self.offsets[self.order], block.offset))
                region = self.order[first + int(dead.int().argmax())]
                raise ContradictoryEvidence(graph.labels[self.regions.regions[region][0]])
        return found.masked_fill(~possible, -torch.inf)

    def _agreeing(self, possible: Tensor) -> Tensor:
        """Without the entries (…, entries) of a parent or child that the other has none to agree with."""
        children = self.of_children.to(possible.device)
        while True:
            said = self.to_children(possible.to(torch.uint8), torch.amax)
            index = children.expand(said.shape)
            fewer = possible.to(torch.uint8).scatter_reduce(-1, index, said, "amin") if said.numel() else possible
            gone, start = (fewer.index_select(-1, children) == 0), 0
            parents = torch.zeros_like(possible)
            for (targets, entries, ratio), parent_entries in self.to_children.groups:
                stop = start + targets * entries
                flags = gone[..., start:stop].repeat_interleave(ratio, -1).to(torch.uint8)
                places = parent_entries.to(possible.device).expand(flags.shape)
                parents = parents.to(torch.uint8).scatter_reduce(-1, places, flags, "amax").bool()
                start = stop
            left = fewer.bool() & ~parents
            if torch.equal(left, possible):
                return left
            possible = left

    @cached_property
    def _potential_sum(self) -> GatherSum:
        graph = self.structure
        starts, start = [], graph.packing.size
        for group in graph.groups:
            starts += [(start + number, group.count) for number in range(group.count)]
            start += group.tables.numel()
        scopes = factor_scopes(graph)

        def of(region: int) -> list[np.ndarray]:
            members, shape = self.regions.regions[region], self.shapes[region]
            digits = np.indices(shape).reshape(len(shape), -1)
            axis = {variable: i for i, variable in enumerate(members)}
            packing = graph.packing
            terms = [packing.base[v] + digits[axis[v]] * packing.stride[v] for v in members]
            for factor in self.regions.factors[region]:
                first, stride = starts[factor]
                entry = np.zeros(digits.shape[1], dtype=np.int64)
                for variable in scopes[factor]:
                    entry = entry * graph.cardinalities[variable] + digits[axis[variable]]
                terms.append(first + entry * stride)
            return terms

        return GatherSum(self.blocks, self._by_block(of), start)

    def _by_block(self, of: Callable[[int], list[np.ndarray]]) -> list[list[list[np.ndarray]]]:
        found, first = [], 0
        for block in self.blocks:
            found.append([of(int(region)) for region in self.order[first : first + block.count]])
            first += block.count
        return found

    # Messages ---------------------------------------------------------------------------------------------------------

    def entries_within(self, child: Sequence[int], parent: int) -> np.ndarray:
        """For each entry of `child`'s table (variables in the given order) the parent's entries that agree with it,
        (child entries, ratio), as flat numbers.
        """
        members, shape = self.regions.regions[parent], self.shapes[parent]
        numbers = np.arange(self.sizes[parent]).reshape(shape)
        kept = [members.index(v) for v in child]
        rest = [axis for axis in range(len(members)) if axis not in kept]
        rows = int(np.prod([shape[axis] for axis in kept], dtype=np.int64))
        return self.offsets[parent] + numbers.transpose([*kept, *rest]).reshape(rows, -1)

    @cached_property
    def to_children(self) -> Marginals:
        """From region tables to what each parent says about each child, in the layout of messages."""
        groups = []
        edges = self.edges
        keys = np.stack([self.sizes[edges[:, 1]], self.sizes[edges[:, 0]]], 1) if len(edges) else np.zeros((0, 2))
        for start, stop in equal_runs(keys):
            members = self.regions.regions
            groups.append(np.stack([self.entries_within(members[c], p) for p, c in edges[start:stop].tolist()]))
        return Marginals(groups)

    @cached_property
    def of_children(self) -> Tensor:
        """The region entry that each message entry speaks about, (messages,)."""
        parts = [self.offsets[c] + np.arange(self.sizes[c]) for c in self.edges[:, 1].tolist()]
        return from_host(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))

    @cached_property
    def from_messages(self) -> GatherSum:
        """Eq. 4.4: each region takes the messages into D̂(R) from outside of it."""
        into: list[list[tuple[int, int, int]]] = [[] for _ in self.regions.regions]
        for number, (parent, child) in enumerate(self.edges.tolist()):
            into[child].append((number, parent, child))
        below = self.regions.descendants

        def of(region: int) -> list[np.ndarray]:
            members, shape = self.regions.regions[region], self.shapes[region]
            digits = np.indices(shape).reshape(len(shape), -1)
            axis = {variable: i for i, variable in enumerate(members)}
            terms = []
            for inner in sorted(below[region]):
                entry = np.zeros(digits.shape[1], dtype=np.int64)
                for variable in self.regions.regions[inner]:
                    entry = entry * self.structure.cardinalities[variable] + digits[axis[variable]]
                for number, parent, _ in into[inner]:
                    if parent not in below[region]:
                        terms.append(self.message_offsets[number] + entry)
            return terms

        return GatherSum(self.blocks, self._by_block(of), self.message_size)

    @cached_property
    def messages_by_level(self) -> list[Tensor]:
        """For each level below the roots, which message entries go there, (messages,) of bool."""
        level = self.regions.levels[self.edges[:, 1]] if len(self.edges) else np.zeros(0, dtype=np.int64)
        each = np.repeat(level, self.sizes[self.edges[:, 1]] if len(self.edges) else 0)
        return [from_host(each == depth) for depth in range(1, int(level.max(initial=0)) + 1)]

    # Beliefs ----------------------------------------------------------------------------------------------------------

    def by_block(self, tables: Tensor) -> list[Tensor]:
        """Views (…, n, K) of a vector of region tables."""
        return table_views(tables, self.blocks)

    def by_message(self, messages: Tensor) -> list[Tensor]:
        """Views (…, n, K) of a vector of messages."""
        return table_views(messages, self.message_blocks)

    def normalise(self, tables: Tensor) -> Tensor:
        """Log-tables of regions (…, entries) shifted so that each one's exponentials sum to 1."""
        return torch.cat([torch.log_softmax(block, -1).flatten(-2) for block in self.by_block(tables)], -1)

    def normalise_messages(self, messages: Tensor) -> Tensor:
        """The same for messages (…, message entries)."""
        parts = [torch.log_softmax(block, -1).flatten(-2) for block in self.by_message(messages)]
        return torch.cat(parts, -1) if parts else messages

    @cached_property
    def counting(self) -> Tensor:
        """c_R for each entry of the flat vector, (entries,)."""
        numbers = self.regions.counting[self.order].astype(np.float64)
        return from_host(np.repeat(numbers, self.sizes[self.order]))

    def node_beliefs(self, tables: Tensor) -> Tensor:
        """Marginals of single variables from the smallest region around each, packed (…, size)."""
        return self._nodes[0](tables).index_select(-1, self._nodes[1].to(tables.device))

    @cached_property
    def _nodes(self) -> tuple[Marginals, Tensor]:
        packing = self.structure.packing
        targets = [(variable,) for variable in range(self.structure.variables)]
        marginals, listed = self._targets(targets)
        place = np.zeros(packing.size, dtype=np.int64)
        start = 0
        for (variable,) in (targets[t] for t in listed):
            states = np.arange(self.structure.cardinalities[variable])
            place[packing.base[variable] + states * packing.stride[variable]] = start + states
            start += len(states)
        return marginals, from_host(place)

    def factor_beliefs(self, tables: Tensor) -> list[Tensor]:
        """Marginals of every factor's variables, (…, k_1, …, k_r, n) for each group of factors."""
        found = []
        for group, (marginals, back) in zip(self.structure.groups, self._factors, strict=True):
            flat = marginals(tables).unflatten(-1, (group.count, -1))
            ordered = flat.index_select(-2, back.to(tables.device)).movedim(-2, -1)
            found.append(ordered.unflatten(-2, group.shape))
        return found

    @cached_property
    def _factors(self) -> list[tuple[Marginals, Tensor]]:
        found = []
        first = 0
        for group in self.structure.groups:
            homes = {}
            for region in sorted(range(len(self.sizes)), key=lambda r: -self.sizes[r]):
                homes.update(dict.fromkeys(self.regions.factors[region], region))
            scopes = [tuple(scope) for scope in group.scopes.T.tolist()]
            marginals, listed = self._targets(scopes, [homes[first + i] for i in range(group.count)])
            found.append((marginals, from_host(np.argsort(listed))))
            first += group.count
        return found

    def _targets(
        self, targets: Sequence[tuple[int, ...]], homes: Sequence[int] | None = None
    ) -> tuple[Marginals, list[int]]:
        """Marginals of variable sets, each from its home region or the smallest one around it, and their order."""
        if homes is None:
            around: dict[int, int] = {}
            for region in sorted(range(len(self.sizes)), key=lambda r: -self.sizes[r]):
                around.update(dict.fromkeys(self.regions.regions[region], region))
            homes = [around[target[0]] for target in targets]
        indices = [self.entries_within(target, home) for target, home in zip(targets, homes, strict=True)]
        shapes: dict[tuple[int, ...], list[int]] = {}
        for number, index in enumerate(indices):
            shapes.setdefault(index.shape, []).append(number)
        listed = [number for numbers in shapes.values() for number in numbers]
        return Marginals([np.stack([indices[n] for n in numbers]) for numbers in shapes.values()]), listed
