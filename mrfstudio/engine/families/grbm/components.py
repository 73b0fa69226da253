"""A start for GRBMs from the principal components of the data, which spares most of a training.

In units of the noise, y = √τ (v - mean), the component e_k of y has deviation s_k. Its n_k hidden units all have the
weights a √τ e_k, with step a = 4 s_k / n_k, and thresholds one step apart: those below y·e_k are on, so that the mean
of the pixels, b + Wᵀh/τ, follows y·e_k along a staircase over ±2 s_k. With c_j = -a t_j (1 + 1/s_k²) - (W mean)_j and
t_j = a (j - (n_k - 1)/2), the stairs have the prior of a Gaussian with deviation s_k.

Units of one component tell pixels nearly the same, and belief propagation counts what each of them says: at the noise
that the components leave, beliefs would be far too sure. So τ starts at `SURE` of that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

UNITS_EACH = 7
"""Hidden units for each component, on the average: more for those that vary more."""
SURE = 0.3
"""Part of that precision. Before any training 0.2 to 0.4 fill validation faces best, with 400 to 1,200 units."""
LARGEST_PRECISION = 400.0  # pixels that components explain altogether, such as those that never change
ROUNDS = 5  # noise and components depend on each other


@dataclass(frozen=True)
class ComponentStart:
    """weights (H, V), visible_bias (V,), hidden_bias (H,) and precision (V,) in double precision."""

    weights: Tensor
    visible_bias: Tensor
    hidden_bias: Tensor
    precision: Tensor


def component_start(pixels: Tensor, hidden: int, precision: Tensor | None = None) -> ComponentStart:
    """From pixels (N, V) in standard units; a `precision` (V,) that is given stays."""
    pixels = pixels.double()
    mean = pixels.mean(0)
    apart = pixels - mean
    count = max(1, min(hidden // UNITS_EACH, len(pixels) - 1, pixels.shape[1] - 1))
    tau = SURE * _noise_precision(apart, count) if precision is None else precision.double()
    deviations, directions = _components(apart * tau.sqrt(), count)
    units = _shared_out(hidden, deviations)
    steps = (4 * deviations / units).repeat_interleave(units)
    weights = (directions * tau.sqrt()).repeat_interleave(units, 0) * steps[:, None]
    place = torch.cat([torch.arange(own) - (own - 1) / 2 for own in units.tolist()])
    prior = 1 + 1 / deviations.square().clamp_min(1e-6).repeat_interleave(units)
    bias = -steps.square() * place * prior - weights @ mean
    return ComponentStart(weights, mean - 0.5 * weights.sum(0) / tau, bias, tau)


def _noise_precision(apart: Tensor, count: int) -> Tensor:
    """Of each pixel (V,), what so many components leave unexplained: alternating, as in factor analysis."""
    tau = 1 / apart.square().mean(0).clamp_min(1 / LARGEST_PRECISION)
    for _ in range(ROUNDS):
        scaled = apart * tau.sqrt()
        _, directions = _components(scaled, count)
        rest = scaled - scaled @ directions.t() @ directions
        tau = (tau / rest.square().mean(0).clamp_min(1e-3)).clamp_max(LARGEST_PRECISION)
    return tau


def _components(scaled: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest deviations (count,) and their directions (count, V), of length 1; the sign of each is fixed."""
    values, vectors = torch.linalg.eigh(scaled.t() @ scaled / len(scaled))
    directions = vectors.flip(1)[:, :count].t()
    largest = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    return values.flip(0)[:count].clamp_min(1e-12).sqrt(), directions * torch.sign(largest)


def _shared_out(hidden: int, deviations: Tensor) -> Tensor:
    """Units for each component (count,), at least one, in proportion to its deviation."""
    free = hidden - len(deviations)
    wanted = free * deviations / deviations.sum()
    units = wanted.floor().long()
    order = torch.argsort(wanted - units, descending=True, stable=True)
    units[order[: free - int(units.sum())]] += 1
    return units + 1
