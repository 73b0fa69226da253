"""Entropic optimal transport in the log domain ([Liu20], Eqs. 8.2 to 8.5).

    W(a, b) = min over plans π with marginals a, b of  Σ π_ij M_ij - λ H(π)
    α_i ← λ (log a_i - logsumexp_j((β_j - M_ij)/λ)),   β_j ← λ (log b_j - logsumexp_i((α_i - M_ij)/λ))
    π_ij = exp((α_i + β_j - M_ij)/λ)

This is message passing: two variables i and j joined by the table exp(-M/λ), whose marginals are given; α/λ and β/λ are
the logarithms of the messages. The gradient of W in anything that M depends on is Σ π_ij ∇M_ij with π held (envelope
theorem), not the gradient of Σ π M alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class MassPlan:
    """`plan` π (n, m), the potentials `alpha` (n,) and `beta` (m,), W, and how far the marginals are off."""

    plan: Tensor
    alpha: Tensor
    beta: Tensor
    value: float
    error: float
    iterations: int


@torch.no_grad()
def sinkhorn(
    cost: Tensor,
    strength: float,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-13,
    first: Tensor | None = None,
    second: Tensor | None = None,
) -> MassPlan:
    """The plan for a cost M (n, m) at λ = `strength`; marginals `first` (n,) and `second` (m,), even by default."""
    rows, columns = cost.shape
    log_a = (cost.new_full((rows,), 1 / rows) if first is None else first).log()
    log_b = (cost.new_full((columns,), 1 / columns) if second is None else second).log()
    alpha, beta, done, error = cost.new_zeros(rows), cost.new_zeros(columns), 0, torch.inf
    for _ in range(iterations):
        alpha = strength * (log_a - torch.logsumexp((beta - cost) / strength, 1))
        log_columns = torch.logsumexp((alpha[:, None] - cost) / strength, 0)
        # Rows fit now; columns will after the next line. How far they are off is what is left to do.
        error = float(((log_columns + beta / strength).exp() - log_b.exp()).abs().max())
        beta = strength * (log_b - log_columns)
        done += 1
        if error < tolerance:
            break
    plan = ((alpha[:, None] + beta - cost) / strength).exp()
    value = (plan * cost).sum() - strength * torch.special.entr(plan).sum()
    return MassPlan(plan, alpha, beta, float(value), error, done)


def distances(one: Tensor, other: Tensor, squared: bool = False) -> Tensor:
    """M (n, m): ‖x_i - y_j‖, or half its square; gradients flow."""
    square = (one[:, None] - other).square().sum(-1)
    return 0.5 * square if squared else (square + 1e-12).sqrt()
