"""Ising graphs with seeded random couplings and fields."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.models.factor_graph import FactorGraph


def grid_edges(height: int, width: int) -> np.ndarray:
    """Edges (m, 2) of a 4-connected grid; node (r, c) has number r · width + c."""
    nodes = np.arange(height * width).reshape(height, width)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1)
    return np.concatenate([across, down])


def ising_grid(
    height: int,
    width: int,
    *,
    coupling: float = 1.0,
    field: float = 0.1,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> FactorGraph:
    """A grid with J ~ N(0, coupling²) on edges and h ~ N(0, field²) on nodes."""
    rng = np.random.default_rng(seed)
    edges = grid_edges(height, width)
    couplings = coupling * rng.normal(size=len(edges))
    return FactorGraph.ising(edges, couplings, field * rng.normal(size=height * width), dtype=dtype)
