"""Contrastive divergence: chains that start at the data and take a few steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, contrast, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult


@LEARNERS.register
class ContrastiveDivergence(DensityLearner):
    """CD-k: the loss of an item is score(chain after k steps) - score(data), with no gradient through the draws."""

    name = "cd"
    title = "Contrastive divergence"
    summary = "Chains start at the data and take k Gibbs steps; the model learns to prefer the data to where they went."

    needs: ClassVar[tuple[str, ...]] = ("score", "sweep")

    steps: int = integer(1, "Gibbs steps of each chain (the k of CD-k).", low=1, high=10_000, logarithmic=True)
    update: str = choice(
        "sweep", ("sweep", "site"), "Whether a step redraws every variable, or one random variable (then k sites)."
    )

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if self.update == "site" and not found.single_sites:
            return f"A {model.kind} redraws whole layers and no single site: use cd with the update sweep."
        return None

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = density_of(model, batch)
        negative = seen.visible
        for step in range(self.steps):
            if self.update == "site":
                negative = seen.redraw_site(negative, context.uniform(2, label=f"site {step}"))
            else:
                negative = seen.sweep(negative, context.uniform(seen.draws, label=f"sweep {step}"))
        loss = contrast(seen, negative).mean()
        loss.backward()
        changed = float((negative != seen.visible).double().mean())
        return BatchResult(float(loss.detach()), float(len(negative)), {"changed": changed}, state)
