"""First-order messages of a GRBM: whole batches as matrix products, for the larger part of a training.

Where single weights are small beside the pixels' precision (w²/τ ≪ 1, which trained models keep; whole units may still
be strong), the cavities of `messages.py` can be expanded in them. To first order, with u the unknown pixels,

    μ = (n + Wᵀp)/t,   Λ = max(t - (W²)ᵀ pq, floor·t),   X = c + W_obs v_obs + W (u μ) + (½ - p) W² (u/Λ),   p' = σ(X),

where p starts at 0, as messages do. These are the TAP equations of this model. An iteration is four products of
matrices instead of twenty operations on every pair of pixel and unit: a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.graphs.evidence import GaussianEvidence


def first_order_beliefs(
    model: GRBM, evidence: GaussianEvidence, iterations: int, readouts: Sequence[int], on: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Information N and precision Λ of all pixels, (readouts, batch, visible) each, for evidence (batch, visible).

    Differentiable by autograd. Means nothing where a pixel is observed. Hidden units where `on` (batch, hidden) is True
    are held on.
    """
    weights, squares, tau = model.weights, model.weights.square(), model.precision
    unknown = (~evidence.observed).to(weights.dtype)
    n = tau * model.visible_bias + evidence.information
    t = tau + evidence.precision
    constant = model.hidden_bias + (evidence.values * evidence.observed) @ weights.t()
    p = torch.zeros_like(constant)
    mean, precision = n / t, t
    found = []
    for k in range(1, iterations + 1):
        spread = (unknown / precision) @ squares.t()
        p = torch.sigmoid(constant + (unknown * mean) @ weights.t() + (0.5 - p) * spread)
        if on is not None:
            p = torch.where(on, 1.0, p)
        mean = (n + p @ weights) / t
        precision = torch.maximum(t - (p * (1 - p)) @ squares, model.floor * t)
        if k in readouts:
            found.append((mean * precision, precision))
    information, precisions = zip(*found, strict=True)
    return torch.stack(information), torch.stack(precisions)
