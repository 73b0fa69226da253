"""Where the lines and squares of a graph are: a line from each node to the square of each of its factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.engine.protocol.squares import cleared, middles_of, room_of
from mrfstudio.ui.graph_canvas.raster import is_lattice

MOST_CLEARED = 6000  # squares and nodes beyond which an image is drawn anyway


@dataclass(frozen=True, eq=False)
class Geometry:
    """Lines and squares of one graph at its positions, in the graph's units."""

    graph: GraphFrame

    @cached_property
    def squares(self) -> np.ndarray:
        """The middle of every factor's square, (factors, 2): of edges half way between their nodes, of larger factors
        in the middle of theirs, moved aside where a node or another square is.
        """
        graph = self.graph
        middles = middles_of(graph.positions, graph.edges, graph.stars)
        across = np.flatnonzero(self.across)
        first, second = (graph.positions[graph.edges[across, side]] for side in (0, 1))
        middles[across] = first + self._outwards(second - first) / 2
        far = ~self.across & (np.abs(self._ways) > 1.5).any(1)
        if graph.lattice is not None and not len(graph.stars) and not far.any():
            return middles
        if len(middles) + graph.nodes > MOST_CLEARED:
            return middles
        return cleared(middles, graph.positions, room_of(graph.positions, graph.edges, graph.stars))

    @cached_property
    def is_lattice(self) -> bool:
        """Whether it can be drawn as a lattice of blocks."""
        return is_lattice(self.graph)

    @cached_property
    def starts(self) -> np.ndarray:
        """The node that each link begins at, (links,)."""
        return np.concatenate([self.graph.edges.ravel(), self.graph.stars[:, 1]])

    @cached_property
    def owners(self) -> np.ndarray:
        """The factor of each link, (links,)."""
        pairs = len(self.graph.edges)
        return np.concatenate([np.repeat(np.arange(pairs), 2), pairs + self.graph.stars[:, 0]])

    @cached_property
    def ends(self) -> np.ndarray:
        """Where each link ends, (links, 2): at its factor's square; across a torus, outwards."""
        ends = self.squares[self.owners].copy()
        across = np.flatnonzero(self.across)
        if len(across):
            graph = self.graph
            first, second = graph.positions[graph.edges[across, 0]], graph.positions[graph.edges[across, 1]]
            outwards = self._outwards(second - first) / 2
            ends[2 * across], ends[2 * across + 1] = first + outwards, second - outwards
        return ends

    @cached_property
    def across(self) -> np.ndarray:
        """Which edges of a lattice go round a torus, (m,) bool: from one end of a row or column to the other."""
        graph = self.graph
        if graph.lattice is None:
            return np.zeros(len(graph.edges), np.bool_)
        sides = np.array(graph.lattice)[::-1]
        whole = (np.abs(np.abs(self._ways) - (sides - 1)) < 0.5) & (sides > 2)
        still = np.abs(self._ways) < 0.5
        return np.asarray((whole & still[:, ::-1]).any(1))

    @cached_property
    def _ways(self) -> np.ndarray:
        graph = self.graph
        return np.asarray(graph.positions[graph.edges[:, 1]] - graph.positions[graph.edges[:, 0]])

    @staticmethod
    def _outwards(way: np.ndarray) -> np.ndarray:
        """A step off the sheet, for a way round a torus."""
        return np.where(np.abs(way) > 1.5, -np.sign(way), way)
