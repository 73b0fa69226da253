"""The inference network of `renn` and `bethe-net`: from node embeddings to scores of root regions.

    e_i → attention → residual layers → scores of a root's table, linear in the vectors of its variables,
                                        plus a table of the root's own

One embedding e_i for each variable; attention stays within a connected part of the graph, so that a graph of several
parts is several graphs in one batch. The readout is shared by all roots of one shape and can give (i, j, k) only a sum
of what i, j and k ask for. Triangles of a complete graph need more, so each root has scores of its own beside it.
Potentials are no input: the embeddings are found for one graph. Without any layer the scores themselves are the
parameters. All parameters lie in one flat vector, which states can hold and one optimiser step can move at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.regions.region_graph import factor_scopes
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.runtime.device import from_host

WIDE = 1024
"""Entries of a table above which its scores go through a bottleneck: a full readout would have millions of weights."""
BOTTLENECK = 32
OWN = 50.0
"""Scale of the roots' own scores: at the usual learning rate of 0.002 they move by 0.1 in a step, as scores without a
network do best.
"""


@dataclass(frozen=True, eq=False)
class _Readout:
    """Roots of one shape: their variables (n, k) and where their scores lie (n · K,)."""

    variables: Tensor
    entries: Tensor
    size: int

    @property
    def order(self) -> int:
        return int(self.variables.shape[1])


class RegionNetwork:
    """Shapes of the parameters for one region graph, and the scores that they give."""

    def __init__(self, tables: RegionTables, width: int, attention: int, residual: int, own: bool = True) -> None:
        self.tables, self.width, self.own = tables, width, own
        self.attention, self.residual = attention, residual
        shapes: dict[tuple[int, ...], list[int]] = {}
        for root in tables.regions.roots.tolist():
            shapes.setdefault(tables.shapes[root], []).append(root)
        self.readouts = [self._readout(roots) for roots in shapes.values()]

    def _readout(self, roots: list[int]) -> _Readout:
        tables = self.tables
        size = int(tables.sizes[roots[0]])
        entries = np.concatenate([tables.offsets[root] + np.arange(size) for root in roots])
        members = np.array([tables.regions.regions[root] for root in roots])
        return _Readout(from_host(members), from_host(entries), size)

    @property
    def direct(self) -> bool:
        """Without layers the scores are the parameters ([Liu20], Table 4.10, zero and zero layers)."""
        return self.attention == 0 and self.residual == 0

    @cached_property
    def layout(self) -> list[tuple[tuple[int, ...], float]]:
        """Shapes of the parameters in turn, with the deviation that each starts with. The last weights start at 0, so
        that the first scores are uniform.
        """
        if self.direct:
            return [((self.tables.size,), 0.0)]
        width = self.width
        square = (width, width)
        found: list[tuple[tuple[int, ...], float]] = [((self.tables.structure.variables, width), 1.0)]
        found += [(square, 1 / width), (square, width**-0.5)] * self.attention
        for _ in range(self.residual):
            found += [(square, (2 / width) ** 0.5), ((1, width), 0.0), (square, width**-0.5), ((1, width), 0.0)]
        for readout in self.readouts:
            inputs = readout.order * width
            if readout.size > WIDE:
                found.append(((inputs, BOTTLENECK), inputs**-0.5))
                inputs = BOTTLENECK
            found += [((inputs, readout.size), 0.0), ((1, readout.size), 0.0)]
        return [*found, ((self.tables.size,), 0.0)] if self.own else found

    def start(self, seed: int, device: torch.device, batch: Sequence[int] = ()) -> Tensor:
        """Parameters to begin with, (*batch, parameters), in 32 bits: more would only make steps slower."""
        generator = torch.Generator().manual_seed(seed)
        parts = [
            scale * torch.randn((*batch, math.prod(shape)), generator=generator, device="cpu")
            if scale
            else torch.zeros((*batch, math.prod(shape)), device="cpu")
            for shape, scale in self.layout
        ]
        return torch.cat(parts, -1).to(device)

    def scores(self, parameters: Tensor) -> Tensor:
        """Scores of all root tables (*batch, entries); 0 in the places of other regions."""
        shapes = [shape for shape, _ in self.layout]
        pieces = torch.split(parameters, [math.prod(shape) for shape in shapes], -1)
        given = iter([piece.unflatten(-1, shape) for piece, shape in zip(pieces, shapes, strict=True)])
        nodes = next(given)
        if self.direct:
            return nodes
        for _ in range(self.attention):
            nodes = nodes + self._attended(nodes, next(given), next(given))
        for _ in range(self.residual):
            first, shift, second, offset = (next(given) for _ in range(4))
            nodes = nodes + torch.relu(nodes @ first + shift) @ second + offset
        flat = nodes.new_zeros((*nodes.shape[:-2], self.tables.size))
        for readout in self.readouts:
            index = readout.variables.reshape(-1).to(nodes.device)
            inputs = nodes.index_select(-2, index).unflatten(-2, (-1, readout.order)).flatten(-2)
            if readout.size > WIDE:
                inputs = inputs @ next(given)
            values = inputs @ next(given) + next(given)
            flat = flat.index_copy(-1, readout.entries.to(nodes.device), values.flatten(-2))
        return flat + OWN * next(given) if self.own else flat

    def _attended(self, nodes: Tensor, compare: Tensor, value: Tensor) -> Tensor:
        """Attention with one head of every node to the nodes of its own part; nodes (…, nodes, width).

        With one head, queries and keys only occur as a product, and so do values and outputs: two matrices
        (…, width, width) say what the usual four do.
        """
        parts = self._parts
        root = math.sqrt(self.width)
        if parts is None:
            return torch.softmax(nodes @ compare @ nodes.mT / root, -1) @ (nodes @ value)
        index, padding, place = (t.to(nodes.device) for t in parts)
        flat = index.reshape(-1)
        shape = tuple(index.shape)
        query, key, given = (
            vectors.index_select(-2, flat).unflatten(-2, shape) for vectors in (nodes @ compare, nodes, nodes @ value)
        )  # (…, parts, most, width)
        weights = (query @ key.mT / root).masked_fill(padding.unsqueeze(-2), -math.inf)
        return (torch.softmax(weights, -1) @ given).flatten(-3, -2).index_select(-2, place)

    @cached_property
    def _parts(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """Nodes of each connected part (parts, most), what of it is padding, and each node's place; None for one."""
        labels = connected_parts(self.tables.structure)
        parts = int(labels.max()) + 1
        if parts == 1:
            return None
        counts = np.bincount(labels)
        order = np.argsort(labels, kind="stable")
        column = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
        index = np.zeros((parts, counts.max()), dtype=np.int64)
        padding = np.ones(index.shape, dtype=bool)
        index[labels[order], column] = order
        padding[labels[order], column] = False
        place = np.zeros(len(labels), dtype=np.int64)
        place[order] = labels[order] * counts.max() + column
        return from_host(index), from_host(padding), from_host(place)


def connected_parts(graph: FactorGraph) -> np.ndarray:
    """The number of each variable's connected part, (variables,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = [(scope[0], other) for scope in factor_scopes(graph) for other in scope[1:]]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    shape = (graph.variables, graph.variables)
    touching = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    return connected_components(touching, directed=False)[1]
