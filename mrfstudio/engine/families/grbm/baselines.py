"""What simple Gaussian models say about missing pixels: the numbers that a GRBM must be read beside.

All are fitted to training pictures in standard units: independent pixels with variance 1, independent pixels with
their own variance, and one Gaussian with a full covariance (plus a ridge on its diagonal), conditioned exactly on what
is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BASELINES = ("independent_unit_variance", "independent", "full_covariance")
RIDGE = 0.01
SMALLEST_VARIANCE = 1e-4  # a pixel that never changed in training would be worth infinitely many bits


@dataclass(frozen=True, eq=False)
class GaussianBaselines:
    """mean, variance (visible,) and the inverse of the covariance (visible, visible), in 64 bits."""

    mean: Tensor
    variance: Tensor
    inverse: Tensor

    @classmethod
    def fitted(cls, pixels: Tensor, ridge: float = RIDGE) -> GaussianBaselines:
        """From training pictures (N, visible)."""
        exact = pixels.double()
        mean = exact.mean(0)
        centred = exact - mean
        covariance = centred.t() @ centred / len(exact)
        diagonal = torch.eye(len(mean), dtype=torch.float64) * ridge
        variance = covariance.diagonal().clamp_min(SMALLEST_VARIANCE)
        return cls(mean, variance, torch.linalg.inv(covariance + diagonal))

    def answers(self, pixels: Tensor, unknown: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """Mean and variance of the unknown pixels of one picture (visible,), by baseline."""
        mean, known = self.mean[unknown], ~unknown
        block = torch.linalg.cholesky(self.inverse[unknown][:, unknown])
        pull = self.inverse[unknown][:, known] @ (pixels.double()[known] - self.mean[known])
        shift = torch.cholesky_solve(pull[:, None], block)[:, 0]
        spread = torch.cholesky_inverse(block).diagonal()
        found = ((mean, torch.ones_like(mean)), (mean, self.variance[unknown]), (mean - shift, spread))
        return dict(zip(BASELINES, found, strict=True))
