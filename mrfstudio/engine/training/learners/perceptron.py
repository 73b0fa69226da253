"""The perceptron loss with a stochastic search (CD-PercLoss of Mnih, Larochelle and Hinton)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, contrast, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult


@LEARNERS.register
class Perceptron(DensityLearner):
    """The loss of an item is max(0, score(best state found) - score(data)).

    The search begins at the most probable states without couplings (for a conditional RBM: its logistic regression),
    takes Gibbs sweeps and keeps the best state it meets; items whose data score higher than that teach nothing. In a
    machine the sweeps draw the hidden units and put the visible ones at their best: drawn ones lose by their noise,
    the start stays the only rival, and learning against it alone fills pictures too much.
    """

    name = "perceptron"
    title = "Perceptron loss with Gibbs search"
    summary = "Looks for states that the model prefers to the data, by Gibbs sweeps, and lowers them (CD-PercLoss)."

    needs: ClassVar[tuple[str, ...]] = ("score", "sweep", "alone")

    steps: int = integer(10, "Gibbs sweeps of the search.", low=1, high=10_000, logarithmic=True)

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = density_of(model, batch)
        rival = self._search(seen, context)
        loss = contrast(seen, rival).clamp_min(0.0)
        mean = loss.mean()
        mean.backward()
        wrong = float((loss > 0).double().mean())
        return BatchResult(float(mean.detach()), float(len(rival)), {"violated": wrong}, state)

    @torch.no_grad()
    def _search(self, seen: Density, context: BatchContext) -> Tensor:
        """The best of all states that the chains meet, (B, V)."""
        here = best = seen.alone()
        highest = seen.score(best)
        for step in range(self.steps):
            here = seen.climb(here, context.uniform(seen.draws, label=f"sweep {step}"))
            score = seen.score(here)
            better = score > highest
            best = torch.where(better[:, None], here, best)
            highest = torch.where(better, score, highest)
        return best
