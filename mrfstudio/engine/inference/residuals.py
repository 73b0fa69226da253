"""How far a state is from a fixed point.

A message that says e^-25 and later e^-40 has not changed as a probability, and what it says can decide all the same
where local potentials of e^30 stand against it. So the change of a normalised message is taken as a probability where
that is above e^SATURATED, and below it as the change of its logarithm, relative to how large that is: numbers of a
thousand have no more digits than numbers of one. Where a state becomes possible or impossible the change is 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.runtime.powers import exponential

SATURATED = -8.0
"""The logarithm of a probability below which changes count as logarithms."""
LOOSEST = 0.01
"""By how much beliefs of factors and of variables may at most differ at what is called a fixed point."""


def changes(new: Tensor, old: Tensor) -> Tensor:
    """The change of every entry of normalised log-probabilities (…, n), -inf allowed."""
    found = (new.exp() - old.exp()).abs()
    deep = torch.maximum(new, old) < SATURATED
    relative = (new - old).abs() / (1 - new)  # inf or NaN where a state is new or gone, or was impossible and is so
    relative = torch.where(torch.isfinite(relative), relative, (new.isneginf() != old.isneginf()).to(new.dtype))
    return torch.where(deep, relative, found)


@torch.no_grad()
def largest_change(new: Tensor, old: Tensor, saturating: bool = True) -> Tensor:
    """The residual of normalised log-messages (…, n), without axes.

    Where none can be saturated, probabilities alone do.
    """
    if not new.numel():
        return new.new_zeros(())
    if saturating:
        return changes(new, old).amax()
    return exponential(new).sub_(exponential(old)).abs_().amax()


@torch.no_grad()
def largest_ratio_change(new: Tensor, old: Tensor, saturating: bool = True) -> Tensor:
    """The same of messages about two states, given as log-ratios z (…, n); the less probable state has log p ≈ -|z|."""
    if not new.numel():
        return new.new_zeros(())
    found = torch.sigmoid(new).sub_(torch.sigmoid(old)).abs_()
    if saturating:
        low = torch.minimum(new.abs(), old.abs())
        deep = (low > -SATURATED) & (torch.sign(new) == torch.sign(old)) & torch.isfinite(low)
        found = torch.where(deep, (new - old).abs() / (1 + new.abs()), found)
        found = torch.where(new.isinf() != old.isinf(), torch.ones_like(found), found)
    return found.amax()


@torch.no_grad()
def disagreement(singles: list[list[Tensor]], factors: list[Tensor]) -> float:
    """The largest difference of a factor's belief (…, k_1, …, k_r, n), summed over the other variables, and the
    variable's own, (…, k, n) for each of its axes.
    """
    largest = 0.0
    for blocks, table in zip(singles, factors, strict=True):
        order = len(blocks)
        for axis, own in enumerate(blocks):
            others = [-1 - order + other for other in range(order) if other != axis]
            said = table.sum(others) if others else table
            if said.numel():
                gap = float((said - own).abs().max())
                largest = gap if not gap <= largest else largest  # also where it is not a number
    return largest


def allowed_disagreement(tolerance: float, dtype: torch.dtype, magnitude: float) -> float:
    """What rounding of log-values of some magnitude, and a residual just below the tolerance, can make of it."""
    return min(LOOSEST, 100 * tolerance + 1e3 * torch.finfo(dtype).eps * (1 + magnitude))
