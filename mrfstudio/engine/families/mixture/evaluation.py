"""Scores of mixtures on held-out points."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.mixture.density import MixtureDensity
from mrfstudio.engine.families.mixture.model import FlowMixture
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import TensorSource


@evaluation("flow-mixture")
def evaluate_mixture(model: FlowMixture, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`nll` in nats a point."""
    source = TensorSource(x=torch.from_numpy(splits[asked.split]["x"][: asked.limit]))
    asked.tick(f"{len(source)} points")
    return {"images": len(source), **MixtureDensity.measure(model, source), "components": model.components}
