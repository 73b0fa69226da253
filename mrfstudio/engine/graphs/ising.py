"""Ising graphs of a few shapes with seeded random couplings and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.protocol.catalogue import Parameters, choice, integer, number

if TYPE_CHECKING:
    import torch

    from mrfstudio.engine.graphs.factor_graph import FactorGraph


def grid_edges(height: int, width: int) -> np.ndarray:
    """Edges (m, 2) of a 4-connected grid; node (r, c) has number r · width + c."""
    nodes = np.arange(height * width).reshape(height, width)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1)
    return np.concatenate([across, down])


def torus_edges(height: int, width: int) -> np.ndarray:
    """A grid whose borders meet. Sides of one or two nodes get no second edge between the same pair."""
    nodes = np.arange(height * width).reshape(height, width)
    wrapped = [grid_edges(height, width)]
    if width > 2:
        wrapped.append(np.stack([nodes[:, -1], nodes[:, 0]], 1))
    if height > 2:
        wrapped.append(np.stack([nodes[-1], nodes[0]], 1))
    return np.concatenate(wrapped)


def complete_edges(nodes: int) -> np.ndarray:
    """Every pair, (nodes · (nodes - 1) / 2, 2)."""
    return np.stack(np.triu_indices(nodes, 1), 1).astype(np.int64)


def random_edges(nodes: int, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Erdős–Rényi: every pair with the same probability."""
    pairs = complete_edges(nodes)
    return pairs[rng.random(len(pairs)) < probability]


def tree_edges(nodes: int, rng: np.random.Generator) -> np.ndarray:
    """A random recursive tree: every node joins one that was there before it."""
    later = np.arange(1, nodes)
    return np.stack([(rng.random(max(nodes - 1, 0)) * later).astype(np.int64), later], 1)


def ring_edges(nodes: int) -> np.ndarray:
    """A cycle; two nodes have one edge and a single one none."""
    first = np.arange(nodes if nodes > 2 else nodes - 1)
    return np.stack([first, (first + 1) % max(nodes, 1)], 1)


class IsingGraph(Parameters):
    """An Ising graph by its shape, strengths and seed: p ∝ exp(Σ J_ij x_i x_j + Σ h_i x_i).

    Strengths scale one draw of standard normal numbers, so that a dragged slider stays on the same graph.
    """

    name = "ising-graph"
    title = "Ising graph"
    summary = "Spins on a grid, torus, complete graph, random graph, tree or ring, with seeded couplings and fields."

    shape: str = choice(
        "grid", ("grid", "torus", "complete", "erdos-renyi", "tree", "ring"), "Which pairs of nodes have an edge."
    )
    height: int = integer(10, "Rows of a grid or torus.", low=1, high=1000, logarithmic=True)
    width: int = integer(10, "Columns of a grid or torus.", low=1, high=1000, logarithmic=True)
    nodes: int = integer(16, "Nodes of the other shapes.", low=1, high=100_000, logarithmic=True)
    probability: float = number(0.3, "How likely two nodes of an Erdős–Rényi graph have an edge.", low=0, high=1)
    coupling: float = number(0.5, "Standard deviation of the couplings, or their value where all are equal.")
    field: float = number(0.1, "Standard deviation of the fields.", low=0)
    couplings: str = choice("random", ("random", "equal"), "Normal couplings around 0, or the same for all edges.")
    seed: int = integer(0, "The same seed draws the same graph.", low=0)

    def draw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges (m, 2), couplings (m,) and fields (n,)."""
        rng = np.random.default_rng(self.seed)
        on_grid = self.shape in ("grid", "torus")
        nodes = self.height * self.width if on_grid else self.nodes
        if self.shape == "grid":
            edges = grid_edges(self.height, self.width)
        elif self.shape == "torus":
            edges = torus_edges(self.height, self.width)
        elif self.shape == "complete":
            edges = complete_edges(nodes)
        elif self.shape == "erdos-renyi":
            edges = random_edges(nodes, self.probability, rng)
        else:
            edges = tree_edges(nodes, rng) if self.shape == "tree" else ring_edges(nodes)
        unit = rng.normal(size=len(edges)) if self.couplings == "random" else np.ones(len(edges))
        return edges, self.coupling * unit, self.field * rng.normal(size=nodes)

    def make(self, dtype: torch.dtype | None = None) -> FactorGraph:
        """The graph itself, in 64 bits unless others are named."""
        from mrfstudio.engine.graphs.factor_graph import FactorGraph  # who only draws needs no torch

        graph = FactorGraph.ising(*self.draw())
        return graph if dtype is None else graph.to(dtype=dtype)


def ising_grid(
    height: int,
    width: int,
    *,
    coupling: float = 1.0,
    field: float = 0.1,
    seed: int = 0,
    dtype: torch.dtype | None = None,
) -> FactorGraph:
    """A grid with J ~ N(0, coupling²) on edges and h ~ N(0, field²) on nodes."""
    return IsingGraph(height=height, width=width, coupling=coupling, field=field, seed=seed).make(dtype)
