"""Baum and Welch: EM for directed chains of tables, with the M-step by a formula.

    p(z_t | before) ∝ expected count of the transition,   p(x | z) ∝ expected count of the word with the state

Gaussians take weighted means and covariances. A step goes the whole way from the old parameters to the new ones: the
gradient that it leaves is old - new, and gradient descent with rate 1 arrives at new. With smaller batches or a smaller
rate it goes a part of the way, in logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.emissions import maximised_gaussian
from mrfstudio.engine.families.chain.model import Chain
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, Inference
from mrfstudio.engine.training.learner import BatchContext, BatchResult

SMALLEST = 1e-30
"""A chance that was never used: its logarithm must stay a number."""
EXACT = Inference(Exact(), Limits(iterations=1))


@LEARNERS.register
class BaumWelch(DensityLearner):
    """Parameters of Baum–Welch. The defaults are its own: all sequences at once, and the whole way."""

    name = "baum-welch"
    title = "Baum–Welch"
    summary = "Counts what the hidden states did on average, and makes the counts the new chances; chains of tables."
    of_batches = False
    sums_hidden = True

    learning_rate: float = number(1.0, "Part of the way to the new tables.", low=0.0, low_open=True, high=1.0)
    batch_size: int = integer(1_000_000, "Sequences in one step; all of them is the classical algorithm.", low=1)
    epochs: float = number(100.0, "Passes over the training data.", low=0.0, low_open=True)
    schedule: str = choice("constant", ("constant", "cosine"), "Whether the rate stays or falls.", advanced=True)
    clip_norm: float = number(0.0, "Longer steps are shortened to this; 0 leaves them.", low=0.0, advanced=True)
    optimiser: str = choice("sgd", ("sgd",), "The step itself is the new parameter.", advanced=True)
    beta1: float = number(0.0, "Momentum.", low=0.0, high=1.0, high_open=True, advanced=True)
    prior: float = number(0.0, "Counts that every transition and word has before the data.", low=0.0)
    floor: float = number(1e-3, "Gaussians: what no variance falls below.", low=0.0, low_open=True, advanced=True)

    @classmethod
    def covers(cls, found: type[Density]) -> bool:
        return issubclass(found, ChainDensity)

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if not isinstance(model, Chain):
            return f"Baum–Welch is for chains, and this is a {model.kind}: use likelihood or cd."
        tensors = model.tensors()
        if not model.directed or "transitions" not in tensors or "mix" in tensors:
            return "Baum–Welch needs a directed chain of tables, with words or Gaussians: use likelihood or em."
        return None

    def batch(self, model: Chain, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = ChainDensity(model, batch)
        posterior = seen.posterior(EXACT)
        live = model.tensors()
        with torch.no_grad():
            for name, new in self.maximised(model, seen, *posterior.marginals).items():
                live[name].grad = live[name].detach() - new
        return BatchResult(-float(posterior.log_z.mean()), float(len(seen.visible)), {}, state)

    def maximised(self, model: Chain, seen: ChainDensity, chances: Tensor, counts: Tensor) -> dict[str, Tensor]:
        """The parameters at which the expected score is largest, from p(z_t | x) (B, T, K) and expected counts."""
        tensors = model.tensors()
        found = {"transitions": _normalised(counts + self.prior, tensors["transitions"])}
        if not model.continuous:
            told = torch.zeros_like(tensors["words"])
            known = seen.visible >= 0
            told.index_add_(1, seen.visible[known].long(), chances[known].T)
            return {**found, "words": _normalised(told + self.prior, tensors["words"])}
        there = torch.arange(seen.visible.shape[1], device=seen.lengths.device) < seen.lengths[:, None]
        frames = seen.visible[there].double()
        return {**found, **maximised_gaussian(tensors, frames, chances[there], self.floor)}


def _normalised(counts: Tensor, old: Tensor) -> Tensor:
    """log of counts (…, n) / their sum over the last axis; rows that were never used stay as in `old` (…, n)."""
    total = counts.sum(-1, keepdim=True)
    return torch.where(total > 0, (counts / total.clamp_min(SMALLEST)).clamp_min(SMALLEST).log(), old)
