"""Query training and scores: how surprising hidden pixels are. Coins learn nothing from the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from coins.model import Coins
from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData
from mrfstudio.engine.training.learners.query import Query, query_objective


@query_objective("coins")
class CoinsObjective:
    def start(self, learner: Query, model: Coins, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {}

    def batch(
        self, learner: Query, model: Coins, batch: Any, state: Mapping[str, Tensor], context: BatchContext
    ) -> BatchResult:
        loss = bits(model, batch)
        loss.backward()
        return BatchResult(loss.item(), 1.0, {}, state)

    def validate(self, learner: Query, model: Coins, source: BatchSource) -> dict[str, float]:
        with torch.no_grad():
            return {"nce_bits": float(bits(model, source[torch.arange(len(source))]))}


@evaluation("coins")
def evaluate_coins(model: Coins, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    return {"images": len(arrays["images"]), "nce_bits": float(bits(model, arrays))}


def bits(model: Coins, batch: Mapping[str, Tensor]) -> Tensor:
    rows = binary_rows(batch)
    return cross_entropy(model.odds.flatten().expand_as(rows), rows) / math.log(2)
