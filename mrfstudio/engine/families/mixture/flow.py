"""Invertible maps of points to a standard normal, many at once: affine coupling layers ([Liu20], Eqs. 6.14 and 6.15).

    f: first h = (x - shift) / exp(log_scale); then, halves taking turns, [a; b] → [a; b ⊙ exp m(a) + t(a)]
    log p(x) = log N(f(x); 0, I) + Σ_layers Σ m(a) - Σ log_scale,        m = 2 tanh(·/2)

C flows share no parameter and are computed together: every tensor has a first axis of length C. The last layer of each
coupling starts at zero, so that an untrained flow is a Gaussian at its shift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

LOG_TWO_PI = math.log(2 * math.pi)


def start_flows(
    count: int, dimension: int, layers: int, width: int, generator: torch.Generator, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Parameters of `count` flows by name; weights drawn from the generator."""
    tensors = {"shift": torch.zeros(count, dimension), "log_scale": torch.zeros(count, dimension)}
    if dimension > 1:
        for layer in range(layers):
            into, out = sizes(dimension, layer)
            tensors[f"in_{layer}"] = torch.randn(count, into, width, generator=generator) / math.sqrt(into)
            tensors[f"in_bias_{layer}"] = torch.randn(count, width, generator=generator) * 0.5
            tensors[f"mid_{layer}"] = torch.randn(count, width, width, generator=generator) / math.sqrt(width)
            tensors[f"mid_bias_{layer}"] = torch.zeros(count, width)
            tensors[f"out_{layer}"] = torch.zeros(count, width, 2 * out)
            tensors[f"out_bias_{layer}"] = torch.zeros(count, 2 * out)
    return {name: tensor.to(dtype) for name, tensor in tensors.items()}


def sizes(dimension: int, layer: int) -> tuple[int, int]:
    """How many coordinates a layer leaves as they are, and how many it moves: the halves take turns."""
    first = (dimension + 1) // 2
    return (first, dimension - first) if layer % 2 == 0 else (dimension - first, first)


def _halves(h: Tensor, layer: int) -> tuple[Tensor, Tensor]:
    """The coordinates (…, kept) that stay, and those (…, moved) that move, of h (…, D)."""
    first = (h.shape[-1] + 1) // 2
    a, b = h[..., :first], h[..., first:]
    return (a, b) if layer % 2 == 0 else (b, a)


def _joined(kept: Tensor, moved: Tensor, layer: int) -> Tensor:
    """The inverse of `_halves`: (…, kept) and (…, moved) → (…, D)."""
    return torch.cat([kept, moved] if layer % 2 == 0 else [moved, kept], -1)


def depth(flow: Mapping[str, Tensor]) -> int:
    """How many coupling layers there are, each with an `out_bias_` (C, 2 moved)."""
    return sum(name.startswith("out_bias_") for name in flow)


def to_normal(flow: Mapping[str, Tensor], points: Tensor) -> tuple[Tensor, Tensor]:
    """f(x) (C, N, D) of points (N, D), or (C, N, D) with a set for each flow, and log |det ∂f/∂x| (C, N)."""
    shift, log_scale = flow["shift"], flow["log_scale"]
    h = (points - shift[:, None]) * torch.exp(-log_scale)[:, None]
    log_det = -log_scale.sum(1, keepdim=True).expand(h.shape[:2])
    for layer in range(depth(flow)):
        kept, moved = _halves(h, layer)
        scale, move = _coupling(flow, layer, kept)
        h = _joined(kept, moved * torch.exp(scale) + move, layer)
        log_det = log_det + scale.sum(-1)
    return h, log_det


def from_normal(flow: Mapping[str, Tensor], normal: Tensor) -> Tensor:
    """g = f⁻¹: points (C, N, D) of normal vectors (C, N, D)."""
    h = normal
    for layer in reversed(range(depth(flow))):
        kept, moved = _halves(h, layer)
        scale, move = _coupling(flow, layer, kept)
        h = _joined(kept, (moved - move) * torch.exp(-scale), layer)
    return h * torch.exp(flow["log_scale"])[:, None] + flow["shift"][:, None]


def log_densities(flow: Mapping[str, Tensor], points: Tensor) -> Tensor:
    """log p of points (N, D) under each flow, (C, N)."""
    normal, log_det = to_normal(flow, points)
    return standard_normal(normal) + log_det


def standard_normal(normal: Tensor) -> Tensor:
    """log N(z; 0, I), (…), of vectors (…, D)."""
    return -0.5 * (normal.square().sum(-1) + normal.shape[-1] * LOG_TWO_PI)


def _coupling(flow: Mapping[str, Tensor], layer: int, given: Tensor) -> tuple[Tensor, Tensor]:
    """m(a) and t(a), (C, N, moved) each, of the coordinates a (C, N, kept) that stay."""
    h = torch.tanh(torch.baddbmm(flow[f"in_bias_{layer}"][:, None], given, flow[f"in_{layer}"]))
    h = torch.tanh(torch.baddbmm(flow[f"mid_bias_{layer}"][:, None], h, flow[f"mid_{layer}"]))
    scale, move = torch.baddbmm(flow[f"out_bias_{layer}"][:, None], h, flow[f"out_{layer}"]).chunk(2, -1)
    return 2 * torch.tanh(scale / 2), move
