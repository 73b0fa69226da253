"""What a hidden state says of a column that was seen: a word of a list, a Gaussian, or flows ([Liu20], chapter 7).

words       log p(x | k), a table or the network of `scores.py`
gaussian    N(x; μ_k, L_k L_kᵀ), L_k a triangle with exp on its diagonal, or a diagonal alone
flow        log Σ_κ w_kκ p_kκ(x): GenHMM, each p_kκ a flow of `mixture/flow.py`
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.mixture.flow import LOG_TWO_PI, log_densities, start_flows

Tensors = Mapping[str, Tensor]


def start_frames(
    kind: str,
    states: int,
    frames: list[Tensor],
    *,
    covariance: str,
    flows: int,
    layers: int,
    width: int,
    left_right: bool,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """First parameters for sequences of vectors `frames`, a (T, D) each.

    Left to right, state k begins at the mean of the k-th part of every sequence; else at frames drawn far apart.
    """
    pooled = torch.cat(frames).double()
    centres = _parts(frames, states) if left_right else _apart(pooled, states, generator)
    deviation = pooled.std(0).clamp_min(1e-3)
    if kind == "gaussian":
        tensors = {"means": centres, "log_scale": deviation.log().expand(states, -1).clone()}
        if covariance == "full":
            tensors["lower"] = torch.zeros(states, pooled.shape[1], pooled.shape[1], dtype=torch.float64)
        return tensors
    made = start_flows(states * flows, pooled.shape[1], layers, width, generator, torch.float64)
    moved = 0.1 * torch.randn(states, flows, pooled.shape[1], generator=generator, dtype=torch.float64)
    made["shift"] = (centres[:, None] + (moved if flows > 1 else 0) * deviation).flatten(0, 1)
    made["log_scale"] = deviation.log().expand(states * flows, -1).clone()
    return {**{f"flow_{name}": tensor for name, tensor in made.items()}, "mix": torch.zeros(states, flows).double()}


def frame_scores(tensors: Tensors, frames: Tensor) -> Tensor:
    """log p(x | k), (N, K), of vectors (N, D)."""
    if "means" in tensors:
        return _gaussian(tensors, frames)
    flow = {name.removeprefix("flow_"): tensor for name, tensor in tensors.items() if name.startswith("flow_")}
    weights = torch.log_softmax(tensors["mix"], -1)
    each = log_densities(flow, frames.to(flow["shift"].dtype)).reshape(*weights.shape, -1)
    return torch.logsumexp(weights[..., None] + each, 1).T


def _gaussian(tensors: Tensors, frames: Tensor) -> Tensor:
    """log N(x; μ_k, L_k L_kᵀ), (N, K), of vectors (N, D); means (K, D), log_scale (K, D), lower (K, D, D)."""
    away, log_scale = frames[:, None] - tensors["means"], tensors["log_scale"]  # (N, K, D)
    if "lower" in tensors:
        triangle = cholesky(tensors)
        z = torch.linalg.solve_triangular(triangle, away.permute(1, 2, 0), upper=False).permute(2, 0, 1)
    else:
        z = away * torch.exp(-log_scale)
    return -0.5 * (z.square().sum(-1) + frames.shape[-1] * LOG_TWO_PI) - log_scale.sum(-1)


def cholesky(tensors: Tensors) -> Tensor:
    """L (K, D, D) of full covariances L Lᵀ."""
    return torch.tril(tensors["lower"], -1) + torch.diag_embed(torch.exp(tensors["log_scale"]))


def maximised_gaussian(tensors: Tensors, frames: Tensor, chances: Tensor, floor: float) -> dict[str, Tensor]:
    """Means and covariances of frames (N, D) weighted by chances (N, K): the M-step of Baum and Welch."""
    weight = chances.sum(0).clamp_min(1e-12)[:, None]
    means = chances.T @ frames / weight
    away = frames[:, None] - means
    if "lower" not in tensors:
        variance = torch.einsum("nk,nkd->kd", chances, away.square()) / weight
        return {"means": means, "log_scale": 0.5 * variance.clamp_min(floor).log()}
    spread = torch.einsum("nk,nkd,nke->kde", chances, away, away) / weight[..., None]
    one = torch.eye(frames.shape[1], dtype=frames.dtype, device=frames.device)
    triangle = torch.linalg.cholesky(spread + floor * one)
    diagonal = triangle.diagonal(dim1=-2, dim2=-1)
    return {"means": means, "log_scale": diagonal.log(), "lower": torch.tril(triangle, -1)}


def _parts(frames: list[Tensor], states: int) -> Tensor:
    """Means (K, D) of the first, second, … part of every sequence."""
    parts: list[list[Tensor]] = [[] for _ in range(states)]
    for sequence in frames:
        for state in range(states):
            low, high = state * len(sequence) / states, (state + 1) * len(sequence) / states
            parts[state].append(sequence[math.floor(low) : max(math.ceil(high), math.floor(low) + 1)])
    return torch.stack([torch.cat(part).double().mean(0) for part in parts])


def _apart(pooled: Tensor, states: int, generator: torch.Generator) -> Tensor:
    """Frames (K, D) that lie far from each other, of all (N, D).

    Each next one is drawn with chances as its squared distance to those before (k-means++).
    """
    chosen = [pooled[int(torch.randint(len(pooled), (1,), generator=generator))]]
    while len(chosen) < states:
        distance = torch.stack([(pooled - centre).square().sum(1) for centre in chosen]).amin(0)
        chosen.append(pooled[int(torch.multinomial(distance + 1e-12, 1, generator=generator))])
    return torch.stack(chosen)
