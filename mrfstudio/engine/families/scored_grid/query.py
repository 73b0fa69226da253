"""Query training of scored grids: the picture is given, every labelled pixel is asked for; BP is unrolled.

The first part of a run trains the network alone: a step with messages costs fifteen times as much, and from nothing
the field only learns to repeat the commonest label (measured: 0.50 bits after 9 s, against 0.22 without messages).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.scored_grid.evaluation import measure
from mrfstudio.engine.families.scored_grid.field import UNLABELLED, ScoreField, flat_messages, next_messages
from mrfstudio.engine.families.scored_grid.model import ScoredGrid, labels_of, pictures_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData
from mrfstudio.engine.training.learners.query import Query, iterations_now, query_objective

ALONE = 0.3
"""Part of a run in which the network learns alone."""


@query_objective("scored-grid")
class ScoredGridObjective:
    """Cross-entropy of beliefs at labelled pixels, in bits."""

    def start(self, learner: Query, model: ScoredGrid, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {}

    def batch(
        self,
        learner: Query,
        model: ScoredGrid,
        batch: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        context: BatchContext,
    ) -> BatchResult:
        labels = labels_of(batch, model.labels)
        field = model.field(pictures_of(batch))
        iterations = 0 if context.progress < ALONE else iterations_now(learner, context)
        answers = unrolled(field, iterations, learner.readouts)
        known = labels != UNLABELLED
        targets = max(1, int(known.sum()))
        truth = labels.clamp_min(0).unsqueeze(-1)
        nats = -torch.stack([logs.gather(-1, truth).squeeze(-1)[known].sum() for logs in answers]).mean()
        loss = nats / (math.log(2) * targets)
        loss.backward()
        return BatchResult(float(loss.detach()), float(targets), {"iterations": float(iterations)}, state)

    def validate(self, learner: Query, model: ScoredGrid, source: BatchSource) -> dict[str, float]:
        return measure(model, source, learner.iterations)


def unrolled(field: ScoreField, iterations: int, readouts: int) -> list[Tensor]:
    """Log-beliefs (B, H, W, C) after the last few iterations, differentiable; without any, those of the network."""
    if iterations == 0:
        return [torch.log_softmax(field.node, -1)]
    messages, answers = flat_messages(field), []
    for iteration in range(iterations):
        messages = next_messages(field, field.node, messages)
        if iteration >= iterations - readouts:
            answers.append(torch.log_softmax(field.node + messages.sum(0), -1))
    return answers
