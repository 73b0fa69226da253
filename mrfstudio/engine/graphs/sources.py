"""Where a graph of the Converge workspace comes from: one class a source, its parameters make the form.

A source gives one seeded draw, couplings and fields at strength 1; `Strengths` scales it. Numpy only.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mrfstudio.engine.graphs.ising import IsingGraph
from mrfstudio.engine.graphs.layouts.placing import place
from mrfstudio.engine.graphs.sketch import DRAWN, MOST_EDGES, Sketch, Strengths, checked
from mrfstudio.engine.protocol.catalogue import Entry, Parameters, UnknownName, choice, ending, integer, number
from mrfstudio.engine.protocol.errors import StudioError

Draw = tuple[np.ndarray, np.ndarray, np.ndarray]
SEED = "The same seed draws the same couplings and fields."
COUPLINGS = "Normal around 0, all the same, or all the same and against it: neighbours want to differ."
KINDS = ("random", "equal", "opposed")


class GraphSource(Parameters):
    """Base. A subclass gives `draw`: edges (m, 2), couplings (m,) and fields (n,) at strength 1."""

    layout: ClassVar[str] = "automatic"
    first: ClassVar[Strengths] = Strengths()
    """The strengths that a new graph of this kind begins with."""

    def draw(self) -> Draw:
        raise NotImplementedError

    @property
    def lattice(self) -> tuple[int, int] | None:
        return None

    def sketch(self, strengths: Strengths | None = None) -> Sketch:
        """The graph as a document holds it. Raises `StudioError` where it is too large."""
        edges, couplings, fields = self.draw()
        positions = place(self.layout, len(fields), edges, self.lattice)
        return checked(
            Sketch(self.name, self.values(), strengths or self.first, positions, edges, couplings, fields, self.lattice)
        )


def _ising(couplings: str, **options: Any) -> Draw:
    kind = "random" if couplings == "random" else "equal"
    edges, strengths, fields = IsingGraph(coupling=1.0, field=1.0, couplings=kind, **options).draw()
    return edges, -strengths if couplings == "opposed" else strengths, fields


class GridGraph(GraphSource):
    name = "grid"
    title = "Grid"
    summary = "Nodes in rows and columns, each joined with its four neighbours."
    layout = "lattice"

    rows: int = integer(10, "Rows of nodes.", low=1, high=300, logarithmic=True)
    columns: int = integer(10, "Columns of nodes.", low=1, high=300, logarithmic=True)
    couplings: str = choice("random", KINDS, COUPLINGS)
    seed: int = integer(0, SEED, low=0)

    def draw(self) -> Draw:
        return _ising(self.couplings, shape=self.name, height=self.rows, width=self.columns, seed=self.seed)

    @property
    def lattice(self) -> tuple[int, int]:
        return self.rows, self.columns


class Torus(GridGraph):
    name = "torus"
    title = "Torus"
    summary = "A grid whose opposite borders meet: every node has four neighbours."


class Complete(GraphSource):
    name = "complete"
    title = "Complete graph"
    summary = "Every node is joined with every other."
    layout = "circle"
    first = Strengths(coupling=0.2)

    nodes: int = integer(16, "Nodes of the graph.", low=1, high=500, logarithmic=True)
    couplings: str = choice("random", KINDS, COUPLINGS)
    seed: int = integer(0, SEED, low=0)

    def draw(self) -> Draw:
        return _ising(self.couplings, shape=self.name, nodes=self.nodes, seed=self.seed)


class ErdosRenyi(GraphSource):
    name = "erdos-renyi"
    title = "Erdős–Rényi"
    summary = "Every pair of nodes has an edge with the same probability, drawn from the seed."

    nodes: int = integer(24, "Nodes of the graph.", low=1, high=3000, logarithmic=True)
    probability: float = number(0.15, "How likely two nodes have an edge.", low=0, high=1)
    couplings: str = choice("random", KINDS, COUPLINGS)
    seed: int = integer(0, "The same seed draws the same edges, couplings and fields.", low=0)

    def draw(self) -> Draw:
        expected = self.probability * self.nodes * (self.nodes - 1) / 2
        if expected > 1.2 * MOST_EDGES:
            raise StudioError(
                f"The graph would have about {expected:.0f} edges: expected at most {MOST_EDGES}; take fewer nodes."
            )
        options = {"nodes": self.nodes, "probability": self.probability, "seed": self.seed}
        return _ising(self.couplings, shape=self.name, **options)


class Tree(GraphSource):
    name = "tree"
    title = "Tree"
    summary = "Every node joins one that was there before it: no loops, so BP is exact."
    layout = "layers"

    nodes: int = integer(31, "Nodes of the graph.", low=1, high=20_000, logarithmic=True)
    couplings: str = choice("random", KINDS, COUPLINGS)
    seed: int = integer(0, "The same seed draws the same tree, couplings and fields.", low=0)

    def draw(self) -> Draw:
        return _ising(self.couplings, shape=self.name, nodes=self.nodes, seed=self.seed)


class Ring(GraphSource):
    name = "ring"
    title = "Ring"
    summary = "One loop. With an odd number of opposed couplings neighbours cannot all have their way."
    layout = "circle"

    nodes: int = integer(5, "Nodes of the graph.", low=1, high=20_000, logarithmic=True)
    couplings: str = choice("opposed", KINDS, COUPLINGS)
    seed: int = integer(0, SEED, low=0)

    def draw(self) -> Draw:
        return _ising(self.couplings, shape=self.name, nodes=self.nodes, seed=self.seed)


MOST_COPIES = 4000


class ComputationTree(GraphSource):
    name = "computation-tree"
    title = "Computation tree"
    summary = "A graph with loops as BP sees it from node 0: after so many iterations, copies of nodes in a tree."
    layout = "layers"

    of: str = choice("ring", ("ring", "grid"), "The graph that is unrolled; a grid is as wide as it is high.")
    nodes: int = integer(3, "Nodes of the ring, or nodes on a side of the grid.", low=2, high=12)
    depth: int = integer(4, "Iterations of BP, and layers below the root.", low=0, high=40)
    couplings: str = choice("equal", KINDS, COUPLINGS)
    seed: int = integer(0, SEED, low=0)

    def draw(self) -> Draw:
        shape = {"nodes": self.nodes} if self.of == "ring" else {"height": self.nodes, "width": self.nodes}
        return unrolled(*_ising(self.couplings, shape=self.of, seed=self.seed, **shape), self.depth)


def unrolled(edges: np.ndarray, couplings: np.ndarray, fields: np.ndarray, depth: int) -> Draw:
    """The computation tree of node 0: every walk of up to `depth` edges that never turns back, as a node.

    The exact belief of its root is what BP believes of node 0 after `depth` parallel iterations from flat messages.
    Raises `StudioError` where the tree is too large.
    """
    around: list[list[tuple[int, int]]] = [[] for _ in fields]
    for edge, (a, b) in enumerate(edges.tolist()):
        around[a].append((b, edge))
        around[b].append((a, edge))
    found, walked = [0], [-1]  # the node that each copy stands for, and the edge that leads to it
    joined: list[tuple[int, int]] = []
    layer = [0]
    for _ in range(depth):
        below: list[int] = []
        for copy in layer:
            for node, edge in around[found[copy]]:
                if edge == walked[copy]:
                    continue
                below.append(len(found))
                joined.append((copy, len(found)))
                found.append(node)
                walked.append(edge)
                if len(found) > MOST_COPIES:
                    raise StudioError(f"The tree has more than {MOST_COPIES} nodes: take a smaller depth or graph.")
        layer = below
    return np.array(joined, np.int64).reshape(-1, 2), couplings[walked[1:]], fields[found]


class MimoGraph(GraphSource):
    name = "mimo"
    title = "MIMO detection"
    summary = "Which signs were sent over several antennas? The posterior is an Ising model on a complete graph."
    layout = "circle"
    first = Strengths(coupling=1.0, field=1.0)

    antennas: int = integer(4, "Antennas on each side; nodes are twice as many.", low=1, high=64, logarithmic=True)
    snr: float = number(
        10.0, "Signal to noise variance, a linear ratio.", low=0.01, high=1e6, logarithmic=True, slider_high=40
    )
    seed: int = integer(0, "The same seed draws the same channel, symbols and noise.", low=0)

    def draw(self) -> Draw:
        from mrfstudio.engine.data.mimo import Mimo, posterior_ising

        found = Mimo(count=1, antennas=self.antennas, snr=self.snr, seed=self.seed).open()["test"]
        return posterior_ising(found["channel"], found["received"], 1 / self.snr)


class Drawn(GraphSource):
    name = DRAWN
    title = "Drawn by hand"
    summary = "Begin with one node. With the Draw tool (D) a click adds one and a drag joins two."
    first = Strengths(coupling=1.0, field=1.0)

    def draw(self) -> Draw:
        return np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(1)


SOURCES: dict[str, type[GraphSource]] = {
    cls.name: cls for cls in (GridGraph, Torus, Complete, ErdosRenyi, Tree, Ring, ComputationTree, MimoGraph, Drawn)
}


def make_source(name: str, parameters: dict[str, Any]) -> GraphSource:
    """A source by name with some parameters set. Raises `StudioError`."""
    if name not in SOURCES:
        raise UnknownName(
            f"There is no graph source {name!r}: expected one of {', '.join(SOURCES)}{ending(name, SOURCES)}"
        )
    made: GraphSource = SOURCES[name]().replace(**parameters)
    return made


def entries() -> tuple[Entry, ...]:
    """The sources as forms see them."""
    return tuple(source.entry() for source in SOURCES.values())
