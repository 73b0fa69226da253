"""Scores of a generator: what carrying its points to held-out data costs, and how far they lie from any of them."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.transport.model import Generator, points_in
from mrfstudio.engine.families.transport.sinkhorn import distances, sinkhorn
from mrfstudio.engine.training.evaluation import Evaluation, evaluation

MOST = 1000
STRENGTH = 0.05


@evaluation("transport")
def evaluate_generator(model: Generator, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`cost` W at λ = 0.05 with distances, and `cost_of_data`: the same between held-out and training points."""
    limit = min(asked.limit or MOST, MOST)
    data = points_in({"x": torch.from_numpy(splits[asked.split]["x"][:limit])})
    asked.tick(f"{len(data)} points")
    noise = model.drawn_noise(len(data), torch.Generator().manual_seed(asked.seed))
    made = model.generated(noise)
    scores: dict[str, Any] = {"images": len(data), "cost": sinkhorn(distances(data, made), STRENGTH).value}
    if "train" in splits:
        other = points_in({"x": torch.from_numpy(splits["train"]["x"][:limit])})
        scores["cost_of_data"] = sinkhorn(distances(data, other), STRENGTH).value
    return scores
