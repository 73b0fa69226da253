"""Max-margin learning of conditional RBMs (seed 001, section 4.2): the truth must beat every other answer by its loss.

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

from mrfstudio.engine.catalogue import choice, integer
from mrfstudio.engine.inference.crbm_decoding import decoded, decoding
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.learning.contract import BatchContext, BatchResult
from mrfstudio.engine.learning.density import Density, DensityLearner, Inference, density_of
from mrfstudio.engine.learning.density_crbm import CRBMDensity
from mrfstudio.engine.learning.settled import SETTLED
from mrfstudio.engine.registry import LEARNERS

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
        return issubclass(found, CRBMDensity)

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if not self.covers(found):
            return f"A {model.kind} predicts nothing from features, so there is no margin: use cd or likelihood."
        return None

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = density_of(model, batch)
        assert isinstance(seen, CRBMDensity)
        product, iterations = PRODUCTS[self.variant], self.iterations + self.more_iterations * context.epoch
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
        return BatchResult(mean.item(), float(len(truth)), scalars, state)


def joint(seen: CRBMDensity, visible: Tensor, hidden: Tensor) -> Tensor:
    """φ(v, h | x) (B,) with gradients to the parameters."""
    return (hidden * seen.hidden_logits(visible)).sum(1) + (visible * seen.visible_bias).sum(1)


@torch.no_grad()
def best_hidden(seen: CRBMDensity, visible: Tensor) -> Tensor:
    """The best hidden units (B, H) of given visible ones."""
    return (seen.hidden_logits(visible) > 0).to(visible.dtype)
