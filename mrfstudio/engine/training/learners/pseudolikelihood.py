"""Pseudolikelihood: every variable is predicted from all others; no sampling and no inference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import DensityLearner, density_of, parts
from mrfstudio.engine.training.learner import BatchContext, BatchResult


@LEARNERS.register
class Pseudolikelihood(DensityLearner):
    """Minimises -Σ_i log2 p(v_i | the others) / V: consistent, and for fully visible fields as cheap as a score."""

    name = "pseudolikelihood"
    title = "Pseudolikelihood"
    summary = "Predicts each variable from all others; fully visible fields need no more than their neighbours for it."
    loss_unit = "bits"
    needs: ClassVar[tuple[str, ...]] = ("log_conditionals",)

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen, total = density_of(model, batch), 0.0
        for part in parts(seen):
            loss = -part.log_conditionals(part.visible).sum() / (math.log(2) * seen.visible.numel())
            loss.backward()
            total += float(loss.detach())
        return BatchResult(total, float(len(seen.visible)), {}, state)
