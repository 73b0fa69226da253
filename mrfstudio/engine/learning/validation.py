"""Which parameters are the best so far."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.learning.checkpoint import TrainingState
from mrfstudio.engine.learning.contract import BatchSource, Learner, TrainableModel, derive_seed, first_items
from mrfstudio.engine.learning.stepper import copies


def validate(learner: Learner, model: TrainableModel, source: BatchSource, seed: int) -> dict[str, float]:
    """The learner's metrics on the first `validation_items` of the source, without gradients."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        # The same seed each time: two validations then differ by the parameters alone.
        torch.default_generator.manual_seed(derive_seed(seed, "validation"))
        return learner.validate(model, first_items(source, learner.validation_items))


def keep_best(
    state: TrainingState, learner: Learner, metrics: Mapping[str, float], tensors: Mapping[str, Tensor]
) -> None:
    """Copy the tensors into `state.best` if the monitored metric is better than ever, else count the wait."""
    if not metrics:
        return
    name = learner.monitor or next(iter(metrics))
    score = metrics[name]
    sign = 1.0 if learner.better == "lower" else -1.0
    first_or_better = state.best_score is None or sign * score < sign * state.best_score
    if math.isfinite(score) and (first_or_better or learner.keep == "last"):
        state.best_score, state.best_step = score, state.step
        state.best_validation, state.best = dict(metrics), copies(tensors)
        state.waited = 0
    else:
        state.waited += 1
