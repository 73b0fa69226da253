"""Which component explains a window best, seen through even noise: a quick look at all, a close look at a few.

With noise, component k has the covariance C_k = F_k F_kᵀ + n_k I. The quick look keeps of a window x (less its mean in
each channel) its coordinates a = Vᵀ x in the `SEEN` directions that windows of all components share most, and the
length of what is left, as if that were even in all other directions:

    log π_k - ½ (aᵀ (Vᵀ C_k V)⁻¹ a + log |Vᵀ C_k V| + (|x|² - |a|²) / t_k + free · log t_k)

The best `CANDIDATES` are then compared exactly, log π_k + log N(x; 0, C_k).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.runtime.threads import side_by_side

SEEN, CANDIDATES = 32, 16
"""With these, 98 to 99 windows of 100 get the component that comparing all gives them, the others one nearly as likely:
scratches on four validation photographs lose 0.01 dB."""
AT_ONCE, FEW = 2000, 500
"""Windows that are looked at together, and those that are not worth a second thread."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """Components through one noise.

    basis (numbers, seen), whitening (seen, K · seen), rest (K,) and coarse volume (K,) of the quick look; scaled
    directions (K, numbers, rank), noises (K,) and volume (K,) of the close one.
    """

    basis: Tensor
    whitening: Tensor
    rest: Tensor
    coarse: Tensor
    scaled: Tensor
    noises: Tensor
    volume: Tensor


class ComponentChoice:
    """Components by their orthogonal directions (K, numbers, rank), s² (K,) and log π (K,)."""

    def __init__(self, directions: Tensor, noise: Tensor, log_weights: Tensor, channels: int) -> None:
        self._directions, self._noise, self._log_weights = directions, noise, log_weights
        self._free = directions.shape[1] - channels  # the means of the channels are not there
        self._through: dict[float, _Seen] = {}

    def best(self, values: Tensor, noise: float) -> Tensor:
        """The component (N,) of each window (N, places, channels)."""
        if not len(values):
            return torch.zeros(0, dtype=torch.int64)
        if noise not in self._through:
            self._through[noise] = self._seen(noise)
        seen = self._through[noise]
        parts = max(-(-len(values) // AT_ONCE), 1 if len(values) < FEW else 2)

        def work(part: Tensor) -> Tensor:
            with torch.inference_mode():  # a setting of the thread
                return self._best(part, seen)

        return torch.cat(side_by_side(work, values.chunk(parts)))

    def _best(self, values: Tensor, seen: _Seen) -> Tensor:
        """The same for a few windows (n, places, channels)."""
        rows = (values - values.mean(1, keepdim=True)).flatten(1)
        lengths = rows.square().sum(1)
        candidates = self._quick(rows, lengths, seen)
        # Pairs of a window and a candidate, those of one component together: a product of matrices for each.
        count = candidates.shape[1]
        order = candidates.flatten().argsort(stable=True)
        kinds, counts = candidates.flatten()[order].unique_consecutive(return_counts=True)
        explained = torch.empty(len(order))
        for k, pairs in zip(kinds.tolist(), order.split(counts.tolist()), strict=True):
            found = rows[pairs // count] @ seen.scaled[k]
            explained[pairs] = torch.einsum("nr,nr->n", found, found)
        rest = (lengths[:, None] - explained.view_as(candidates)).clamp_min(0) / seen.noises[candidates]
        scores = self._log_weights[candidates] - 0.5 * (rest + seen.volume[candidates])
        return candidates.gather(1, scores.argmax(1, keepdim=True))[:, 0]

    def _quick(self, rows: Tensor, lengths: Tensor, seen: _Seen) -> Tensor:
        """The components (N, candidates) that are worth a close look."""
        components, wanted = len(self._log_weights), min(CANDIDATES, len(self._log_weights))
        if wanted == components:
            return torch.arange(components).expand(len(rows), -1)
        coordinates = rows @ seen.basis
        white = (coordinates @ seen.whitening).unflatten(1, (components, -1))
        apart = torch.einsum("nkr,nkr->nk", white, white)
        left = (lengths - coordinates.square().sum(1)).clamp_min(0)
        scores = self._log_weights - 0.5 * (apart + left[:, None] / seen.rest + seen.coarse)
        return scores.topk(wanted, 1, sorted=False).indices

    def _seen(self, noise: float) -> _Seen:
        directions, noises = self._directions, self._noise + noise**2
        strengths = directions.square().sum(1)
        rank, volumes = directions.shape[-1], (noises[:, None] + strengths).log().sum(1)
        volume = volumes + (self._free - rank) * noises.log()
        scaled = directions / (noises[:, None] + strengths).sqrt()[:, None, :]
        number = min(SEEN, self._free - 1)
        shared = torch.einsum("k,kpr,kqr->pq", self._log_weights.exp(), directions, directions).double()
        basis = torch.linalg.eigh(shared)[1].flip(1)[:, :number].to(directions)
        inside = basis.T @ directions
        covariance = (inside @ inside.transpose(1, 2) + noises[:, None, None] * torch.eye(number)).double()
        root = torch.linalg.cholesky(covariance)
        one = torch.eye(number, dtype=root.dtype).expand_as(root)
        whitening = torch.linalg.solve_triangular(root, one, upper=False).to(directions)
        free = self._free - number
        rest = (strengths.sum(1) - inside.square().sum((1, 2))).clamp_min(0) / free + noises
        coarse = 2 * root.diagonal(dim1=1, dim2=2).log().sum(1).to(directions) + free * rest.log()
        return _Seen(basis, whitening.permute(2, 0, 1).flatten(1), rest, coarse, scaled, noises, volume)
