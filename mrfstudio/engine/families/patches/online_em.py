"""Expectation-maximisation a batch at a time: running sums of what each component explains ([CM09]).

    r_nk ∝ π_k N(x_n; k)                                        who explains window n, under the present parameters
    S ← (1 - γ) S + γ mean over the batch of (r, r x xᵀ)        γ = (t + 2)^-decay
    π_k, F_k, s_k ← the best ones for S

The trainer moves parameters by a gradient; here that is the present value less the new one, and a step of length one
puts the new one in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.patches.model import PatchMixture, best_factor, log_densities, windows_of
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import usual_learner
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, Learner, TrainingData

AT_ONCE = 2000
"""Windows whose densities are computed together."""
IGNORED = 0.01
"""Shares of a window below this are left out of the sums: most components explain nothing of it."""
PRIOR = 1e-5
"""Weight of the covariance of all windows in each component's: one that has few windows stays well conditioned."""


@LEARNERS.register
class OnlineExpectationMaximisation(Learner):
    """Parameters of the learner."""

    name = "online-em"
    title = "Expectation-maximisation, batch by batch"
    summary = "Asks which component explains each window, then fits each one to what it explains; batch by batch."
    loss_unit = "bits"
    of_batches = False

    learning_rate: float = number(1.0, "Always 1: a step puts the best parameters in place.", low=1, high=1)
    batch_size: int = integer(20_000, "Windows in one step.", low=1, high=10_000_000, logarithmic=True)
    epochs: float = number(20.0, "Passes over the training data; a part of one is allowed.", low=0.0, low_open=True)
    schedule: str = choice("constant", ("constant",), "The rate stays.", advanced=True)
    optimiser: str = choice("sgd", ("sgd",), "Plain steps.", advanced=True)
    beta1: float = number(0.0, "No momentum.", low=0.0, high=0.0, advanced=True)
    clip_norm: float = number(0.0, "Steps are never shortened.", low=0.0, high=0.0, advanced=True)
    decay: float = number(
        0.6, "How soon early batches are forgotten: the power of the step in the weight of a batch.", low=0.5, high=1.0
    )

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        return ("patches",)

    def supports(self, model: Any) -> str | None:
        if isinstance(model, PatchMixture):
            return None
        usual = usual_learner(model.kind)
        return f"Online-em fits mixtures of patches, not a {model.kind}: use the learner {usual}."

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        sums = torch.zeros(model.components, model.pixels, model.pixels)
        return {"shares": torch.zeros(model.components), "squares": sums}

    @torch.no_grad()
    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        windows = windows_of(batch)
        bits, shares, squares = sums_of(model, windows)
        weight = (context.step + 2.0) ** -self.decay if context.step else 1.0
        shares = torch.lerp(state["shares"], shares, weight)
        squares = torch.lerp(state["squares"], squares, weight)
        set_steps(model, shares, squares)
        busy = float((-shares * shares.clamp_min(1e-12).log()).sum().exp())
        return BatchResult(bits, float(len(windows)), {"components_used": busy}, {"shares": shares, "squares": squares})

    @torch.no_grad()
    def validate(self, model: Any, source: BatchSource) -> dict[str, float]:
        total = 0.0
        for indices in torch.arange(len(source)).split(AT_ONCE):
            total += float(-log_densities(model, windows_of(source[indices])).logsumexp(1).double().sum())
        return {"bits_per_pixel": total / (len(source) * model.pixels * math.log(2))}


def sums_of(model: PatchMixture, windows: Tensor) -> tuple[float, Tensor, Tensor]:
    """Bits a number of the windows (N, pixels), shares (K,) and squares (K, pixels, pixels), means over them."""
    shares = windows.new_zeros(model.components)
    squares = windows.new_zeros(model.components, model.pixels, model.pixels)
    nats = 0.0
    for part in windows.split(AT_ONCE):
        logs = log_densities(model, part)
        nats -= float(logs.logsumexp(1).double().sum())
        explained = logs.softmax(1)
        shares += explained.sum(0)
        for k in range(model.components):
            rows = (explained[:, k] > IGNORED).nonzero()[:, 0]
            if len(rows):
                own = part[rows]
                squares[k].addmm_((own * explained[rows, k, None]).T, own)
    return nats / (windows.numel() * math.log(2)), shares / len(windows), squares / len(windows)


def set_steps(model: PatchMixture, shares: Tensor, squares: Tensor) -> None:
    """Leave in `.grad` what takes each parameter to the best one for shares (K,) and squares (K, pixels, pixels)."""
    everything = squares.sum(0) / shares.sum()
    weights = (shares + PRIOR) / (shares + PRIOR).sum()
    factors, noises = torch.empty_like(model.factors), torch.empty_like(model.log_noise)
    for k in range(model.components):
        covariance = (squares[k] + PRIOR * everything) / (shares[k] + PRIOR)
        factors[k], noise = best_factor(covariance, model.rank)
        noises[k] = noise.log()
    for tensor, best in ((model.log_weights, weights.log()), (model.factors, factors), (model.log_noise, noises)):
        tensor.grad = tensor.detach() - best
