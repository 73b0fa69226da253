"""Windows with few unknown pixels: conditioned among those pixels, where `windows.py` works among all directions.

Where the known pixels of a window all have the same variance v, one matrix serves every mask. With the covariance C of
the component and P = (C + v I)⁻¹, the unknown colours U given the known ones y (0 in U) have

    mean m = -(P_UU)⁻¹ (P y)_U,   covariance S = (P_UU)⁻¹ - v I

and a message t with variances N makes of it m + S (S + N)⁻¹ (t - m), with the covariance S - S (S + N)⁻¹ S.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOST_FEW = 8
"""Unknown pixels of a window up to which this is quicker."""
SIZES = (1, 2, 4, MOST_FEW)
"""Windows are worked on together with others of at most so many."""


def few_unknown(variances: Tensor, unknown: Tensor) -> Tensor:
    """The size (N,) of `SIZES` that a window belongs to; 0 where it has more, or where known pixels differ."""
    counts = unknown.sum(1)
    sizes = torch.tensor(SIZES)
    place = torch.bucketize(counts, sizes).clamp_max(len(SIZES) - 1)
    size = torch.where((counts > 0) & (counts <= MOST_FEW), sizes[place], 0)
    least = torch.where(unknown, torch.inf, variances).amin(1)
    most = torch.where(unknown, 0.0, variances).amax(1)
    return torch.where((least == most) & (most == most.min()), size, 0)


class FewUnknown:
    """Components by their F (K, places, channels, directions) and s² (K,)."""

    def __init__(self, factors: Tensor, noise: Tensor) -> None:
        self._factors, self._noise = factors, noise
        self._inverses: dict[tuple[int, float], Tensor] = {}

    def condition(self, k: int, values: Tensor, variances: Tensor, unknown: Tensor, most: int) -> tuple[Tensor, Tensor]:
        """Mean (N, places, channels) and variance (N, places) of windows with 1 to `most` unknown places each.

        Known places keep their values and variances.
        """
        count, places, channels = values.shape
        order = unknown.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]
        there = unknown.gather(1, order)
        v = float(variances[~unknown][0]) if not bool(unknown.all()) else 0.0
        inverse = self._inverse(k, v)
        hidden = torch.where(unknown[..., None], 0.0, values).flatten(1)
        pull = (hidden @ inverse).view(count, places, channels)
        columns = order[:, :, None].expand(-1, -1, channels)
        pull = torch.where(there[..., None], pull.gather(1, columns), 0.0).flatten(1)
        blocks = inverse.view(places, channels, places, channels)[order[:, :, None], :, order[:, None, :]]
        both = (there[:, :, None] & there[:, None, :])[..., None, None]
        size = most * channels
        system = torch.where(both, blocks, 0.0).transpose(2, 3).reshape(count, size, size)
        lone = (~there).to(values.dtype).repeat_interleave(channels, 1)
        system.diagonal(dim1=1, dim2=2).add_(lone)
        spread = torch.cholesky_inverse(torch.linalg.cholesky(system))
        mean = -(spread @ pull[..., None])[..., 0]
        said = variances.gather(1, order).repeat_interleave(channels, 1)
        together = spread.clone()
        together.diagonal(dim1=1, dim2=2).add_((said - v).clamp_min(1e-9))
        gain = torch.cholesky_inverse(torch.linalg.cholesky(together))
        spread.diagonal(dim1=1, dim2=2).sub_(v)
        told = values.gather(1, columns).flatten(1)
        pulled = spread @ gain
        mean = mean + (pulled @ (told - mean)[..., None])[..., 0]
        left = spread.diagonal(dim1=1, dim2=2) - (pulled * spread).sum(-1)
        doubt = left.unflatten(1, (-1, channels)).mean(-1).clamp_min(0)
        return _put(values, order, there, mean), _put(variances[..., None], order, there, doubt)[..., 0]

    def _inverse(self, k: int, v: float) -> Tensor:
        """(C + v I)⁻¹ of a component, (numbers, numbers)."""
        if (k, v) not in self._inverses:
            factor = self._factors[k].flatten(0, 1).double()
            own = float(self._noise[k]) + v
            small = torch.eye(factor.shape[1], dtype=factor.dtype) + factor.T @ factor / own
            whole = torch.eye(len(factor), dtype=factor.dtype) - factor @ torch.linalg.solve(small, factor.T) / own
            self._inverses[k, v] = (whole / own).to(self._factors.dtype)
        return self._inverses[k, v]


def _put(under: Tensor, order: Tensor, there: Tensor, over: Tensor) -> Tensor:
    """`under` (N, places, columns) with `over` (N, size · columns) at the places of `order` that are `there`."""
    columns = under.shape[-1]
    wanted = order[:, :, None].expand(-1, -1, columns)
    chosen = torch.where(there[..., None], over.unflatten(1, (-1, columns)), under.gather(1, wanted))
    return under.scatter(1, wanted, chosen)
