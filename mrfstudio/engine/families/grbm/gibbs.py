"""Blocked Gibbs sampling of a GRBM: all hidden units given the pixels, then all unknown pixels given the hidden units.

    h_j ~ Bernoulli(σ(c + W v)_j),      v_i ~ N((n_i + (Wᵀh)_i) / t_i, 1/t_i)

with (n, t) = (τb, τ) plus soft evidence. Means and variances are averaged over the conditional distributions of the
sweeps, not over the draws: with hidden states h⁽ˢ⁾ the mean is that of m⁽ˢ⁾ = (n + Wᵀh⁽ˢ⁾)/t, the variance 1/t plus the
spread of the m⁽ˢ⁾. One half of the chains decides when to stop, the other half is averaged
(`inference/samplers/diagnostics.py`). `samples` gives the pictures that the chains are at now, for
the window to animate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.inference.algorithm import Kernel, Unsupported, kernel, nothing_changed
from mrfstudio.engine.inference.samplers.diagnostics import (
    Halves,
    doubt_of,
    effective_draws,
    judges,
    looks_at,
    r_hat,
    standard_error,
    witnesses,
)
from mrfstudio.engine.inference.samplers.gibbs import ChainState, Gibbs


@dataclass(frozen=True, eq=False)
class GrbmChains(ChainState):
    """Pixels (chains, visible) in standard units, hidden units (chains, hidden), and sums over counted sweeps.

    The sums are per chain: of p(h = 1 | v), of the conditional means of pixels, and of the squares of these means;
    `early` and `late` are the first two side by side at earlier moments (`chains.Halves`).
    """

    pixels: Tensor
    hidden: Tensor
    hidden_sum: Tensor
    mean_sum: Tensor
    square_sum: Tensor
    early: Tensor
    late: Tensor
    remembered: ClassVar[tuple[str, ...]] = ("early", "late")

    def forgotten(self) -> GrbmChains:
        names = ("hidden_sum", "mean_sum", "square_sum", "early", "late")
        return replace(self, iteration=0, counted=0, **{n: torch.zeros_like(getattr(self, n)) for n in names})


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
        # Dispersed: units that are not clamped begin with 0 or 1 alike, pixels as these say.
        odds = model.weights.new_zeros((algorithm.chains, model.hidden))
        if evidence.hidden is not None:
            odds = odds + torch.where(evidence.hidden.isinf(), evidence.hidden, 0.0).to(odds.dtype)
        hidden = _bernoulli(torch.sigmoid(odds), generator)
        mean, deviation = pixels_given(model, evidence, hidden)
        pixels = mean + deviation * _normal(mean, generator)
        silent, nothing = torch.zeros_like(hidden), torch.zeros_like(pixels)
        both = torch.cat([silent, nothing], 1)
        residual = nothing_changed(pixels)
        return GrbmChains(0, residual, 0, generator.get_state(), pixels, hidden, silent, nothing, nothing, both, both)

    def step(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> GrbmChains:
        generator = torch.Generator(device=model.weights.device)
        generator.set_state(state.generator)
        probability = torch.sigmoid(_hidden_given(model, evidence, state.pixels))
        hidden = _bernoulli(probability, generator)
        mean, deviation = pixels_given(model, evidence, hidden)
        pixels = mean + deviation * _normal(mean, generator)
        moved = dict(pixels=pixels, hidden=hidden, generator=generator.get_state(), iteration=state.iteration + 1)
        if state.iteration < algorithm.burn_in:
            return replace(state, **moved)  # type: ignore[arg-type]
        counted = state.counted + 1
        sums = state.hidden_sum + probability, state.mean_sum + mean, state.square_sum + mean.square()
        halves = Halves(state.early, state.late).updated(torch.cat(sums[:2], 1), counted)
        residual = state.residual
        if looks_at(counted):
            certain = _clamped(model, evidence)
            units, means = judges(sums[0]), judges(sums[1])
            error = standard_error(units, counted, counted * len(units)).masked_fill(certain, 0.0)
            residual = torch.maximum(error.max(), standard_error(means, counted).max())
        names = ("hidden_sum", "mean_sum", "square_sum")
        kept = dict(zip(names, sums, strict=True), early=halves.early, late=halves.late)
        return replace(state, **moved, **kept, counted=counted, residual=residual)  # type: ignore[arg-type]

    def doubt(
        self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains, tolerance: float
    ) -> str | None:
        if state.counted < 4:
            return "The chains are still too short to tell anything."
        sums = torch.cat([state.hidden_sum, state.mean_sum], 1)
        mean = sums / state.counted
        units, pixels = mean.split([model.hidden, model.visible], 1)
        spread = (state.square_sum / state.counted - pixels.square()).clamp_min(0).mean(0)
        own = 1 / (model.precision + evidence.precision)
        within = torch.cat([(units * (1 - units)).mean(0), own + spread])
        certain = torch.cat([_clamped(model, evidence), evidence.observed])
        worst = r_hat(sums, Halves(state.early, state.late), state.counted, within).masked_fill(certain, 1.0).max()
        fewest = effective_draws(judges(sums), state.counted, within).masked_fill(certain, torch.inf).min()
        return doubt_of(float(worst), min(float(fewest), float(state.counted * len(judges(sums)))))

    def beliefs(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        now, deviation = pixels_given(model, evidence, state.hidden)
        mean, square = now.mean(0), now.square().mean(0)  # still burning in: where the chains are now
        if state.counted:
            sums = witnesses(state.mean_sum), witnesses(state.square_sum)
            mean, square = (total.mean(0) / state.counted for total in sums)
        spread = (square - mean.square()).clamp_min(0)
        variance = torch.where(evidence.observed, 0.0, deviation.square() + spread)
        return model.gaussian_beliefs(torch.where(evidence.observed, evidence.values, mean), variance)

    def hidden_beliefs(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        if state.counted:
            return witnesses(state.hidden_sum).mean(0) / state.counted
        return torch.sigmoid(_hidden_given(model, evidence, state.pixels)).mean(0)

    def samples(self, algorithm: Gibbs, model: GRBM, evidence: GaussianEvidence, state: GrbmChains) -> Tensor:
        return model.to_grey(state.pixels)


def _clamped(model: GRBM, evidence: GaussianEvidence) -> Tensor:
    """(hidden,) Which units a person holds on or off."""
    if evidence.hidden is None:
        return torch.zeros(model.hidden, dtype=torch.bool, device=model.weights.device)
    return evidence.hidden.isinf()


def _bernoulli(probability: Tensor, generator: torch.Generator) -> Tensor:
    """Units (chains, hidden), 0 or 1, drawn with these chances (chains, hidden)."""
    uniform = torch.rand(probability.shape, generator=generator, dtype=probability.dtype, device=probability.device)
    return (uniform < probability).to(probability.dtype)


def _hidden_given(model: GRBM, evidence: GaussianEvidence, pixels: Tensor) -> Tensor:
    """Log-odds (chains, hidden) of the hidden units given pixels (chains, visible)."""
    logits = model.hidden_bias + pixels @ model.weights.t()
    return logits if evidence.hidden is None else logits + evidence.hidden.to(logits.dtype)


def pixels_given(model: GRBM, evidence: GaussianEvidence, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Mean (chains, visible) and deviation (visible,) of pixels given hidden units; observed ones have deviation 0."""
    tau = model.precision
    precision = tau + evidence.precision
    mean = (tau * model.visible_bias + evidence.information + hidden @ model.weights) / precision
    return (
        torch.where(evidence.observed, evidence.values, mean),
        torch.where(evidence.observed, 0.0, precision.rsqrt()),
    )


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    """Normal numbers in the shape of `like`, (chains, visible)."""
    return torch.randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)
