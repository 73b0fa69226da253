"""The perceptron loss with a stochastic search (CD-PercLoss of Mnih, Larochelle and Hinton)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, contrast, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult


@LEARNERS.register
class Perceptron(DensityLearner):
    """The loss of an item is max(0, score(rival) - score(data)): items whose data score higher teach nothing.

    The search begins at the most probable states without couplings (for a conditional RBM: its logistic regression).
    With the rival `last` it takes Gibbs sweeps, and the rival is where they end. With `best` it is the best state met,
    and in a machine the sweeps draw the hidden units and put the visible ones at their best: drawn ones never score
    above the start. A best state is a state without noise, so that a pixel which is white in a share p of like cases
    comes to be answered white in that share; drawn rivals do not teach that.
    """

    name = "perceptron"
    title = "Perceptron loss with Gibbs search"
    summary = "Looks for states that the model prefers to the data, by Gibbs sweeps, and lowers them (CD-PercLoss)."

    needs: ClassVar[tuple[str, ...]] = ("score", "sweep", "alone")

    steps: int = integer(10, "Gibbs sweeps of the search.", low=1, high=10_000, logarithmic=True)
    rival: str = choice("best", ("best", "last"), "The best state that the search meets, or the one it ends in.")

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
        """The best of all states that the chains meet, or where they end, (B, V)."""
        here = best = seen.alone()
        if self.rival == "last":
            for step in range(self.steps):
                here = seen.sweep(here, context.uniform(seen.draws, label=f"sweep {step}"))
            return here
        highest = seen.score(best)
        for step in range(self.steps):
            here = seen.climb(here, context.uniform(seen.draws, label=f"sweep {step}"))
            score = seen.score(here)
            better = score > highest
            best = torch.where(better[:, None], here, best)
            highest = torch.where(better, score, highest)
        return best
