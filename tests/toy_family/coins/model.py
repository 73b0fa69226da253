"""Independent pixels: p(v) = Π σ(odds_i)^v_i (1 - σ(odds_i))^(1 - v_i)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import image_shape
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.catalogue import number
from mrfstudio.engine.registry import MODELS
from mrfstudio.engine.training.learner import TrainingData


class Coins:
    """One tensor: the log-odds of white of each pixel, (height, width)."""

    kind = "coins"

    def __init__(self, image_shape: Sequence[int]) -> None:
        self.image_shape = tuple(image_shape)
        self.odds = torch.zeros(self.image_shape, requires_grad=True)

    def tensors(self) -> dict[str, Tensor]:
        return {"odds": self.odds}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            self.odds.copy_(tensors["odds"])

    def hyperparameters(self) -> dict[str, Any]:
        return {"image_shape": list(self.image_shape)}

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        odds = self.odds.detach().flatten()
        unary = torch.stack([torch.zeros_like(odds), odds], 1).numpy()
        graph = FactorGraph([2] * len(odds), [], list(unary), dtype=odds.dtype)
        return graph, Evidence(graph.pack(list(evidence.log_potentials.reshape(-1, 2).numpy())))

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        graph, _ = self.as_graph(evidence)
        states = [graph.packing.entry_of(torch.full((graph.variables,), state)) for state in (0, 1)]
        return beliefs[..., torch.stack(states, 1)].unflatten(-2, self.image_shape)

    def evidence_from_image(
        self, grey: Tensor, unknown: Tensor | None = None, strength: Tensor | float = 1.0, hidden: Tensor | None = None
    ) -> Evidence:
        against = torch.log1p(-torch.as_tensor(strength).expand(grey.shape))
        if unknown is not None:
            against = against.masked_fill(unknown, 0.0)
        white = grey > 0.5
        return Evidence(torch.stack([against.where(white, 0.0), against.where(~white, 0.0)], -1))

    def bits(self, beliefs: Tensor, grey: Tensor) -> Tensor:
        logs = beliefs.clamp_min(1e-30).log2()
        return -torch.where(grey > 0.5, logs[..., 1], logs[..., 0])


@MODELS.register
class CoinsPlan(ModelPlan):
    """What a person chooses about coins."""

    name = "coins"
    title = "Coins"
    summary = "Every pixel is a coin of its own."
    default_data = "glyphs"

    start: float = number(0.0, "The first log-odds of every pixel.")

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> Coins:
        return Coins(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> Coins:
        model = Coins(image_shape(data.train[torch.arange(1)]) or (1, 1))
        with torch.no_grad():
            model.odds.fill_(self.start)
        return model
