"""Potts grids: neighbouring pixels like to have the same label, more so where the picture has no edge.

p(x) ∝ ∏_i e_i(x_i) ∏_{i~j} exp(w_ij [x_i = x_j]),   4-connected
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.models.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.models.ising import grid_edges

STRONGEST = 15.0
"""Largest weight: four messages of e^-15 still multiply to a normal number in 32 bits."""


class PottsGrid:
    """Weights of a Potts grid: `across` (height, width - 1) and `down` (height - 1, width), both in [0, 15]."""

    kind = "potts"

    def __init__(self, across: Tensor, down: Tensor, labels: int) -> None:
        height, width = across.shape[0], down.shape[1]
        if across.shape != (height, width - 1) or down.shape != (height - 1, width):
            shapes = f"{tuple(across.shape)} and {tuple(down.shape)}"
            raise StudioError(f"The weights have shapes {shapes}: expected (h, w - 1) and (h - 1, w).")
        for weights in (across, down):
            if weights.numel() and not bool(((weights >= 0) & (weights <= STRONGEST)).all()):
                raise StudioError(f"A Potts weight is outside [0, {STRONGEST:g}].")
        self.across, self.down, self.labels = across, down, labels

    @property
    def height(self) -> int:
        return int(self.across.shape[0])

    @property
    def width(self) -> int:
        return int(self.down.shape[1])

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """A variable for each pixel in row-major order; evidence (height, width, labels) packed."""
        edges = torch.from_numpy(grid_edges(self.height, self.width).T.copy())
        weights = torch.cat((self.across.reshape(-1), self.down.reshape(-1)))
        tables = torch.eye(self.labels, dtype=weights.dtype)[:, :, None] * weights
        groups = [FactorGroup(tables, edges, torch.arange(edges.shape[1]))] if edges.numel() else []
        graph = FactorGraph(np.full(self.height * self.width, self.labels), groups, dtype=weights.dtype)
        flat = evidence.log_potentials.reshape(-1, self.labels)
        packed = torch.zeros(graph.packing.size, dtype=flat.dtype)
        packed[self._entries(graph)] = flat
        return graph, Evidence(packed)

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs as (height, width, labels)."""
        graph, _ = self.as_graph(evidence)
        return beliefs[self._entries(graph)].reshape(self.height, self.width, self.labels)

    def _entries(self, graph: FactorGraph) -> Tensor:
        pixels = torch.from_numpy(graph.packing.entries(np.arange(graph.variables), self.labels))
        return pixels.T
