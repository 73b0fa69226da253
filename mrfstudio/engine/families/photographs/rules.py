"""How the beliefs of a Potts grid are found: sum-product, α-BP or mean field, all on the same scores and weights.

A rule has a `local` form of node scores, values that it iterates (messages, or beliefs), and beliefs from both. Values
have (…, height, width) as their last axes, so that those of a coarse level can be carried to the next finer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.scored_grid import messages as grid


@dataclass(frozen=True)
class SumProduct:
    """Belief propagation: see `messages`."""

    in_tiles: ClassVar[bool] = True
    """Whether a part of the picture can be iterated alone, given what its rim says."""

    def local(self, scores: Tensor) -> Tensor:
        """Node scores (labels, height, width) as the iterations take them."""
        return grid.ratio_local(scores[1] - scores[0]) if len(scores) == 2 else grid.label_local(scores)

    def start(self, gains: list[Tensor], local: Tensor) -> Tensor:
        """Values that say nothing, for `local` (height, width) of two labels or (labels, height, width)."""
        return grid.ratio_start(gains, local) if local.dim() == 2 else grid.label_start(gains, local)

    def step(self, local: Tensor, gains: list[Tensor], old: Tensor, new: Tensor, measured: bool = True) -> Tensor:
        """All values once, from `old` into `new`, in the shape of `start`; the largest change as a probability.

        Where that is not asked for (`measured`), a rule that is quicker without it says 0.
        """
        return (grid.ratio_step if local.dim() == 2 else grid.label_step)(local, gains, old, new, measured)

    def beliefs(self, local: Tensor, values: Tensor) -> Tensor:
        """(labels, height, width)."""
        if local.dim() > 2:
            return grid.label_total(local, values)
        total = grid.ratio_total(local, values)
        return torch.stack([1 / (1 + total), total / (1 + total)])

    def change(self, local: Tensor, new: Tensor, old: Tensor) -> Tensor:
        """The largest change of a value at each pixel, as a probability, (height, width)."""
        largest = torch.zeros_like(local if local.dim() == 2 else local[0])
        for now, before in zip(new, old, strict=True):  # one slot at a time: all at once take as much memory as they do
            if local.dim() == 2:
                change = grid.ratio_change(now, before)
            else:
                change = (now / now.sum(0) - before / before.sum(0)).abs_().amax(0)
            torch.maximum(largest, change, out=largest)
        return largest


@dataclass(frozen=True)
class FieldAlphaMessages(SumProduct):
    """α-BP [Liu20], Eq. 3.17: m' ∝ m^{1-α} Σ ψ^α (total / m_back^α); α = 1 is sum-product, step for step.

    Two labels, ratios: r' = r^{1-α} (a c + 1) / (c + a) with a = e^{αw}, c = t / r_back^α.
    More: m'(x) ∝ m(x)^{1-α} (1 + g c(x)), g = e^{αw} - 1, c normalised.
    """

    alpha: float = 0.5

    def start(self, gains: list[Tensor], local: Tensor) -> Tensor:
        return grid.ratio_start(gains, local)

    def step(self, local: Tensor, gains: list[Tensor], old: Tensor, new: Tensor, measured: bool = True) -> Tensor:
        height, width = local.shape[-2:]
        total = grid.ratio_total(local, old)
        residual = local.new_zeros(())
        new.fill_(1.0)
        for slot in range(len(old)):
            there, target, back, edges = grid.ends(slot, height, width, 0, height)
            if not old[slot][target].numel():
                continue
            a = (gains[slot // 2][edges] + 1.0) ** self.alpha
            cavity = total[there] / old[back][there] ** self.alpha
            before = old[slot][target]
            if local.dim() == 2:
                made = before ** (1 - self.alpha) * (a * cavity + 1) / (cavity + a)
                change = made / (1 + made) - before / (1 + before)
            else:
                made = before ** (1 - self.alpha) * (1 + (a - 1) * cavity / cavity.sum(0))
                made = made / made.mean(0)
                change = (made - before / before.mean(0)) / len(local)
            new[slot][target] = made
            residual = torch.maximum(residual, change.abs().amax())
        return residual / self._share

    def change(self, local: Tensor, new: Tensor, old: Tensor) -> Tensor:
        return super().change(local, new, old) / self._share

    @property
    def _share(self) -> float:
        """How much of a message a step renews: a small α keeps most of the old one, and that is no convergence."""
        return min(self.alpha, 1.0)


@dataclass(frozen=True)
class MeanFieldSweeps(SumProduct):
    """Mean field: log q_i(x) = s_i(x) + Σ_j w_ij q_j(x). Pixels in four classes that are no neighbours take turns, so
    that every update raises the lower bound of log Z. The values are q, (labels, height, width)."""

    in_tiles: ClassVar[bool] = False

    def local(self, scores: Tensor) -> Tensor:
        return scores - scores.amax(0)

    def start(self, gains: list[Tensor], local: Tensor) -> Tensor:
        return torch.softmax(local, 0)

    def step(self, local: Tensor, gains: list[Tensor], old: Tensor, new: Tensor, measured: bool = True) -> Tensor:
        weights = neighbour_weights(gains, local)
        q = functional.pad(old, (1, 1, 1, 1))
        height, width = local.shape[-2:]
        for top in (0, 1):
            for left in (0, 1):
                mine = (..., slice(top, height, 2), slice(left, width, 2))
                total = local[mine].clone()
                for (dy, dx), weight in weights:
                    rows = slice(1 + top + dy, 1 + height + dy, 2)
                    columns = slice(1 + left + dx, 1 + width + dx, 2)
                    total += weight[mine[1:]] * q[..., rows, columns]
                q[..., 1 + top : 1 + height : 2, 1 + left : 1 + width : 2] = torch.softmax(total, 0)
        new.copy_(q[..., 1:-1, 1:-1])
        return (new - old).abs().amax()

    def beliefs(self, local: Tensor, values: Tensor) -> Tensor:
        return values

    def change(self, local: Tensor, new: Tensor, old: Tensor) -> Tensor:
        return (new - old).abs().amax(0)


def neighbour_weights(gains: list[Tensor], local: Tensor) -> list[tuple[tuple[int, int], Tensor]]:
    """Weights (height, width) to the neighbour at each offset; 0 where there is none."""
    height, width = local.shape[-2:]
    made = []
    for offset, gain in zip(grid.OFFSETS, gains, strict=False):
        first = grid.places(offset, height, width)
        weight = torch.log1p(gain)
        for place, towards in ((first, offset), (grid.moved(first, offset), (-offset[0], -offset[1]))):
            whole = local.new_zeros(height, width)
            whole[place] = weight
            made.append((towards, whole))
    return made
