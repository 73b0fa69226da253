"""A Potts grid with four or eight neighbours whose weights follow the contrast of a picture.

p(x) ∝ ∏_i e_i(x_i) ∏_{i~j} exp(w_ij [x_i = x_j])

w_ij = smoothness / |i - j| · (floor + (1 - floor) exp(-|Δcolour|² / 2⟨|Δcolour|²⟩))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.scored_grid.messages import OFFSETS, STRONGEST, moved, places, weight_shape
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.protocol.errors import StudioError

FLOOR = 0.1
"""What a weight keeps across the strongest edge: a single noisy pixel is still held by its neighbours."""


class ContrastGrid:
    """Weights of edges to the right, down and, for eight neighbours, down right and down left, all in [0, 4]."""

    kind = "contrast-grid"

    def __init__(self, weights: Sequence[Tensor], labels: int) -> None:
        """`weights[k]` has the shape that `weight_shape(k, height, width)` says."""
        if len(weights) not in (2, 4):
            raise StudioError(f"The grid has {len(weights)} kinds of edges: expected 2 (four neighbours) or 4 (eight).")
        height, width = int(weights[0].shape[0]), int(weights[1].shape[1])
        for k, weight in enumerate(weights):
            wanted = weight_shape(k, height, width)
            if tuple(weight.shape) != wanted:
                raise StudioError(f"The weights of edge {k} have shape {tuple(weight.shape)}: expected {wanted}.")
            if weight.numel() and not bool(((weight >= 0) & (weight <= STRONGEST)).all()):
                raise StudioError(f"A weight of the grid is outside [0, {STRONGEST:g}].")
        self.weights, self.labels = tuple(weights), labels
        self.height, self.width = height, width
        self.gains = [torch.expm1(w) for w in weights]

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        """A variable for each pixel in row-major order; evidence (height, width, labels) packed."""
        device = evidence.log_potentials.device
        nodes = torch.arange(self.height * self.width, device=device).reshape(self.height, self.width)
        pairs, weights = [], []
        for offset, weight in zip(OFFSETS, self.weights, strict=False):
            first = places(offset, self.height, self.width)
            pairs.append(torch.stack([nodes[first].reshape(-1), nodes[moved(first, offset)].reshape(-1)]))
            weights.append(weight.reshape(-1))
        edges, strengths = torch.cat(pairs, 1), torch.cat(weights)
        tables = torch.eye(self.labels, dtype=strengths.dtype, device=strengths.device)[:, :, None] * strengths
        groups = (
            [FactorGroup(tables, edges, torch.arange(edges.shape[1], device=edges.device))] if edges.numel() else []
        )
        graph = FactorGraph(
            np.full(self.height * self.width, self.labels), groups, dtype=strengths.dtype, device=strengths.device
        )
        packed = torch.zeros(graph.packing.size, dtype=evidence.log_potentials.dtype, device=graph.device)
        packed[self._entries(graph)] = evidence.log_potentials.reshape(-1, self.labels)
        return graph, Evidence(packed)

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        """Packed beliefs as (height, width, labels)."""
        graph, _ = self.as_graph(evidence)
        return beliefs[self._entries(graph)].reshape(self.height, self.width, self.labels)

    def _entries(self, graph: FactorGraph) -> Tensor:
        return torch.as_tensor(graph.packing.entries(np.arange(graph.variables), self.labels), device=graph.device).T


def contrast_weights(colours: Tensor, smoothness: float, neighbours: int = 8, floor: float = FLOOR) -> list[Tensor]:
    """The weights of the module's header for a picture (channels, …, height, width), each (…, rows, columns)."""
    height, width = colours.shape[-2:]
    apart = []
    for offset in OFFSETS[: neighbours // 2]:
        first = places(offset, height, width)
        apart.append((colours[moved(first, offset)] - colours[first]).square_().sum(0))
    count = sum(d.numel() for d in apart)
    mean = sum(float(d.sum(dtype=torch.float64)) for d in apart) / max(count, 1)
    return weights_of_contrast(apart, mean, smoothness, floor)


def weights_of_contrast(apart: list[Tensor], mean: float, smoothness: float, floor: float = FLOOR) -> list[Tensor]:
    """Weights from squared differences of colours, (…, rows, columns) each, and their `mean`. Overwrites `apart`."""
    made = []
    for (dy, dx), d in zip(OFFSETS, apart, strict=False):
        scale = smoothness / float(np.hypot(dy, dx))
        # A picture of one colour has no contrast to compare with: every weight is then at its largest.
        weight = d.div_(-2 * mean - 1e-9).exp_().mul_(scale * (1 - floor)).add_(scale * floor)
        made.append(weight.clamp_(max=STRONGEST))
    return made
