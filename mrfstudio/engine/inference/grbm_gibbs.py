"""Blocked Gibbs sampling of a GRBM: all hidden units given the pixels, then all unknown pixels given the hidden units.

    h_j ~ Bernoulli(σ(c + W v)_j),      v_i ~ N((n_i + (Wᵀh)_i) / t_i, 1/t_i)

with (n, t) = (τb, τ) plus soft evidence. Means and variances are averaged over the conditional distributions of the
sweeps, not over the draws: with hidden states h⁽ˢ⁾ the mean is that of m⁽ˢ⁾ = (n + Wᵀh⁽ˢ⁾)/t, the variance 1/t plus the
spread of the m⁽ˢ⁾. `samples` gives the pictures that the chains are at now; the window animates them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.evidence import GaussianEvidence
from mrfstudio.engine.inference.contract import Kernel, Unsupported, kernel, nothing_changed
from mrfstudio.engine.inference.gibbs import ChainState, Gibbs, standard_error
from mrfstudio.engine.models.grbm import GRBM


@dataclass(frozen=True, eq=False)
class GrbmChains(ChainState):
    """Pixels (chains, visible) in standard units, hidden units (chains, hidden), and sums over counted sweeps.

    The sums are per chain: of p(h = 1 | v), of the conditional means of pixels, and of the squares of these means.
    """

    pixels: Tensor
    hidden: Tensor
    hidden_sum: Tensor
    mean_sum: Tensor
    square_sum: Tensor

    def forgotten(self) -> GrbmChains:
        nothing = {name: torch.zeros_like(getattr(self, name)) for name in ("hidden_sum", "mean_sum", "square_sum")}
        return replace(self, iteration=0, counted=0, **nothing)


@kernel(Gibbs, GRBM)
class GibbsOnGrbm(Kernel):
    """One picture at a time; the chains are the batch."""

    def covers(self, algorithm: Gibbs, model: GRBM) -> bool:
        return algorithm.sampler == "gibbs"

    def init(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence) -> GrbmChains:
        if evidence.observed.ndim != 1:
            shape = tuple(evidence.observed.shape)
            raise Unsupported(f"gibbs samples one picture at a time, and the evidence has shape {shape}: use bp.")
        generator = torch.Generator(device=model.weights.device).manual_seed(algorithm.seed)
        silent = model.weights.new_zeros((algorithm.chains, model.hidden))
        mean, deviation = _pixels_given(model, evidence, silent)
        pixels = mean + deviation * _normal(mean, generator)
        nothing = torch.zeros_like(pixels)
        return GrbmChains(
            0, nothing_changed(pixels), 0, generator.get_state(), pixels, silent, silent, nothing, nothing
        )

    def step(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> GrbmChains:
        generator = torch.Generator(device=model.weights.device)
        generator.set_state(state.generator)
        probability = torch.sigmoid(_hidden_given(model, evidence, state.pixels))
        uniform = torch.rand(probability.shape, generator=generator, dtype=probability.dtype, device=probability.device)
        hidden = (uniform < probability).to(probability.dtype)
        mean, deviation = _pixels_given(model, evidence, hidden)
        pixels = mean + deviation * _normal(mean, generator)
        sums, counted = (state.hidden_sum, state.mean_sum, state.square_sum), state.counted
        iteration, residual = state.iteration + 1, nothing_changed(pixels)
        if iteration > algorithm.burn_in:
            fresh = (probability, mean, mean.square())
            sums, counted = tuple(old + new for old, new in zip(sums, fresh, strict=True)), counted + 1  # type: ignore[assignment]
        if counted > 1:
            residual = torch.maximum(standard_error(sums[0], counted).max(), standard_error(sums[1], counted).max())
        return GrbmChains(iteration, residual, counted, generator.get_state(), pixels, hidden, *sums)

    def beliefs(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        now, deviation = _pixels_given(model, evidence, state.hidden)
        mean, square = now.mean(0), now.square().mean(0)  # still burning in: where the chains are now
        if state.counted:
            mean, square = state.mean_sum.mean(0) / state.counted, state.square_sum.mean(0) / state.counted
        spread = (square - mean.square()).clamp_min(0)
        variance = torch.where(evidence.observed, 0.0, deviation.square() + spread)
        return model.gaussian_beliefs(torch.where(evidence.observed, evidence.values, mean), variance)

    def hidden_beliefs(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        if state.counted:
            return state.hidden_sum.mean(0) / state.counted
        return torch.sigmoid(_hidden_given(model, evidence, state.pixels)).mean(0)

    def samples(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        return model.to_grey(state.pixels)


def _hidden_given(model: GRBM, evidence: GaussianEvidence, pixels: Tensor) -> Tensor:
    """Log-odds (chains, hidden) of the hidden units given pixels (chains, visible)."""
    logits = model.hidden_bias + pixels @ model.weights.t()
    return logits if evidence.hidden is None else logits + evidence.hidden.to(logits.dtype)


def _pixels_given(model: GRBM, evidence: GaussianEvidence, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Mean (chains, visible) and deviation (visible,) of pixels given hidden units; observed ones have deviation 0."""
    tau = model.precision
    precision = tau + evidence.precision
    mean = (tau * model.visible_bias + evidence.information + hidden @ model.weights) / precision
    return (
        torch.where(evidence.observed, evidence.values, mean),
        torch.where(evidence.observed, 0.0, precision.rsqrt()),
    )


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)
