"""Max-margin learning ([PI17], section 4.2): the truth must beat every other answer by its loss.

Of conditional RBMs, and of fields without hidden units that find a rival themselves.

    MSSVM:  max_v [Δ(v, vⁿ) + score(v)] - score(vⁿ)                    hidden units summed out
    LSSVM:  max_{v,h} [Δ(v, vⁿ) + φ(v, h)] - max_h φ(vⁿ, h)            hidden units at their best

Δ is the number of wrong pixels: a visible bias 1 - 2vⁿ plus the constant Σvⁿ. The rival v̂ is found with mixed-product
and with max-product messages; where what they find is worse than the truth itself, the item teaches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.decoding import decoded, decoding
from mrfstudio.engine.families.crbm.density import CRBMDensity
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, Inference, contrast, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult
from mrfstudio.engine.training.queries import SETTLED

PRODUCTS = {"mssvm": "mixed", "lssvm": "max"}


@LEARNERS.register
class MaxMargin(DensityLearner):
    """Parameters of max-margin learning."""

    name = "max-margin"
    title = "Maximum margin"
    summary = "Makes the true picture beat every other one by as much as that one is wrong (MSSVM and LSSVM)."
    loss_unit = "wrong pixels"

    variant: str = choice(
        "mssvm", ("mssvm", "lssvm"), "Hidden units summed out (mixed-product), or at their best (max-product)."
    )
    iterations: int = integer(7, "Iterations of the search in the first epoch.", low=1, high=10_000)
    more_iterations: int = integer(
        1, "Further iterations for each epoch passed: couplings grow, and messages take longer.", low=0
    )

    @classmethod
    def covers(cls, found: type[Density]) -> bool:
        return issubclass(found, CRBMDensity) or found.margins

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if not self.covers(found):
            return f"A {model.kind} predicts nothing from features, so there is no margin: use cd or likelihood."
        return None

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen, iterations = density_of(model, batch), self.iterations + self.more_iterations * context.epoch
        if not isinstance(seen, CRBMDensity):
            return self._without_hidden(seen, iterations, state)
        product = PRODUCTS[self.variant]
        seen.remember(Inference(decoding(product), Limits(iterations=iterations)))
        truth = seen.visible
        rival = decoded(
            model, seen.features, extra=1 - 2 * truth, decoder=product, iterations=iterations, tolerance=SETTLED
        )
        wrong = (rival.states != truth).to(truth.dtype).sum(1)
        if self.variant == "mssvm":
            gain = seen.score(rival.states) - seen.score(truth)
        else:
            gain = joint(seen, rival.states, rival.hidden_states) - joint(seen, truth, best_hidden(seen, truth))
        loss = (wrong + gain).clamp_min(0.0)
        mean = loss.mean()
        mean.backward()
        scalars = {
            "violated": float((loss > 0).double().mean()),
            "wrong": float(wrong.mean()),
            "converged": float((rival.change <= SETTLED).double().mean()),
        }
        return BatchResult(float(mean.detach()), float(len(truth)), scalars, state)

    def _without_hidden(self, seen: Density, iterations: int, state: Mapping[str, Tensor]) -> BatchResult:
        """Without hidden units both variants are max_v [Δ(v, vⁿ) + score(v)] - score(vⁿ); states are (B, V)."""
        rival, settled = seen.rival(iterations, SETTLED)
        wrong = seen.wrong(rival)
        loss = (wrong + contrast(seen, rival)).clamp_min(0.0)
        mean = loss.mean()
        mean.backward()
        scalars = {
            "violated": float((loss > 0).double().mean()),
            "wrong": float(wrong.mean()),
            "converged": settled,
        }
        return BatchResult(float(mean.detach()), float(len(rival)), scalars, state)


def joint(seen: CRBMDensity, visible: Tensor, hidden: Tensor) -> Tensor:
    """φ(v, h | x) (B,) with gradients to the parameters."""
    return (hidden * seen.hidden_logits(visible)).sum(1) + (visible * seen.visible_bias).sum(1)


@torch.no_grad()
def best_hidden(seen: CRBMDensity, visible: Tensor) -> Tensor:
    """The best hidden units (B, H) of given visible ones."""
    return (seen.hidden_logits(visible) > 0).to(visible.dtype)
