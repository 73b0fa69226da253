"""Windows of a photograph and what a mixture says of them: exact conditioning, in batches.

A window that component k explains is x = F z + s ε with z ~ N(0, I), where F also has a column for the mean of each
channel. What is known of pixel i is y_i with variance n_i: almost 0 where it is known, and what other windows say where
it is not. With w_i = 1/(n_i + s²), [TB99] gives

    A = I + Fᵀ diag(w) F,   z = A⁻¹ Fᵀ diag(w) y                                  of size `rank` + channels
    mean_i = (F z)_i + s² w_i (y_i - (F z)_i),   variance_i = n_i w_i s² + (n_i w_i)² (F A⁻¹ Fᵀ)_ii

All channels of a pixel are known alike, so that A of every window that has component k is one product of w (windows,
places) with a table (places, rank²) of that component, and the diagonal another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mrfstudio.engine.families.patches.choice import ComponentChoice
from mrfstudio.engine.families.patches.few import MOST_FEW, FewUnknown, few_unknown
from mrfstudio.engine.families.patches.model import CHANNELS, PatchMixture
from mrfstudio.engine.runtime.threads import side_by_side

MEANS = 0.5
"""Deviation of the mean of a channel in a window, in parts of white: about anything."""
AT_ONCE = 2000
"""Windows that are worked on together."""


@dataclass(frozen=True, eq=False)
class WindowAnswer:
    """mean (N, places, channels) and variance (N, places), a mean over channels; `component` (N,) of int64."""

    mean: Tensor
    variance: Tensor
    component: Tensor


class MixtureWindows:
    """A mixture ready for windows of one channel or three; grey is the mean of the channels, again a mixture."""

    def __init__(self, model: PatchMixture, channels: int) -> None:
        self.side, self.channels, self.components = model.side, channels, model.components
        places = model.side**2
        directions = model.factors.detach().unflatten(1, (places, CHANNELS))
        noise = (2 * model.log_noise.detach()).exp()
        if channels == 1:
            directions, noise = directions.mean(2, keepdim=True), noise / CHANNELS
        means = MEANS * torch.eye(channels).expand(model.components, places, channels, channels)
        self.factors = torch.cat([directions, means], -1)
        self.noise, self.log_weights = noise, model.log_weights.detach()
        self.calibration = float(model.calibration)
        self._orthogonal = _orthogonal(directions.flatten(1, 2))
        self._choice = ComponentChoice(self._orthogonal, self.noise, self.log_weights, channels)
        self._tables: dict[int, Tensor] = {}
        self._few = FewUnknown(self.factors, self.noise)

    def choose(self, values: Tensor, noise: float) -> Tensor:
        """The component (N,) that explains windows (N, places, channels) best, seen through even noise."""
        return self._choice.best(values, noise)

    def condition(
        self,
        values: Tensor,
        variances: Tensor,
        component: Tensor,
        unknown: Tensor | None = None,
        held: Tensor | None = None,
    ) -> WindowAnswer:
        """What each window (N, places, channels) is, given its component and the variances (N, places) of `values`.

        With `unknown` (N, places) only those places are asked for; windows that have few of them are quick. Whether a
        component was chosen or is `held` (N,) makes no difference here.
        """
        mean, variance = torch.empty_like(values), torch.empty_like(variances)
        size = None if unknown is None else few_unknown(variances, unknown)
        # Windows of one component and one size together: their numbers in one key, sorted once.
        key = component if size is None else component * (MOST_FEW + 1) + size
        order = key.argsort(stable=True)
        kinds, counts = key[order].unique_consecutive(return_counts=True)
        works = [
            (kind, part)
            for kind, rows in zip(kinds.tolist(), order.split(counts.tolist()), strict=True)
            for part in rows.split(AT_ONCE)
        ]

        def work(item: tuple[int, Tensor]) -> tuple[Tensor, Tensor]:
            kind, part = item
            with torch.inference_mode():  # a setting of the thread
                if unknown is None:
                    return self._condition(kind, values[part], variances[part])
                k, few = divmod(kind, MOST_FEW + 1)
                if few:
                    return self._few.condition(k, values[part], variances[part], unknown[part], few)
                return self._condition(k, values[part], variances[part])

        for (_, part), found in zip(works, side_by_side(work, works), strict=True):
            mean[part], variance[part] = found
        return WindowAnswer(mean, variance, component)

    def draw(self, noise: Tensor, component: Tensor) -> Tensor:
        """Windows (N, places, channels) drawn from their components: the root of the covariance times white noise.

        Windows that are given the same noise where they overlap draw nearly the same there.
        """
        flat, drawn = noise.flatten(1), torch.empty_like(noise)
        order = component.argsort(stable=True)
        kinds, counts = component[order].unique_consecutive(return_counts=True)
        for k, rows in zip(kinds.tolist(), order.split(counts.tolist()), strict=True):
            factor, least = self._orthogonal[k], self.noise[k].sqrt()
            sizes = factor.norm(dim=0).clamp_min(1e-9)
            more = ((sizes.square() + self.noise[k]).sqrt() - least) / sizes.square()
            own = flat[rows]
            drawn[rows] = (least * own + (own @ factor * more) @ factor.T).view_as(drawn[rows])
        return drawn

    def _condition(self, k: int, values: Tensor, variances: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n, places, channels) and variance (n, places) of windows of component k, from values and variances."""
        factor, noise, table = self.factors[k], self.noise[k], self._table(k)
        flat = factor.flatten(0, 1)
        weights = 1 / (variances + noise)
        system = (weights @ table).unflatten(1, (factor.shape[-1], factor.shape[-1]))
        system.diagonal(dim1=1, dim2=2).add_(1)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(system))
        seen = (values * weights[..., None]).flatten(1) @ flat
        explained = ((inverse @ seen[..., None])[..., 0] @ flat.T).view_as(values)
        kept = (noise * weights)[..., None]
        lost = variances * weights
        spread = inverse.flatten(1) @ table.T / self.channels
        return explained + kept * (values - explained), lost * noise + lost.square() * spread

    def _table(self, k: int) -> Tensor:
        """Σ_c f_pci f_pcj, (places, rank²)."""
        if k not in self._tables:
            factor = self.factors[k]
            self._tables[k] = torch.einsum("pci,pcj->pij", factor, factor).flatten(1)
        return self._tables[k]


def _orthogonal(factors: Tensor) -> Tensor:
    """Directions (K, numbers, rank) with the same F Fᵀ whose columns are orthogonal."""
    left, sizes, _ = torch.linalg.svd(factors, full_matrices=False)
    return left * sizes[:, None, :]


@dataclass(frozen=True, eq=False)
class Places:
    """The windows of a picture that a hole touches, and the pixels in them.

    `pixels` (M,) numbers of pixels in the picture, row by row; `windows` (N, side²) positions in `pixels`; `unknown`
    (M,) bool.
    """

    shape: tuple[int, int]
    pixels: Tensor
    windows: Tensor
    unknown: Tensor
    corners: Tensor = field(repr=False)

    @classmethod
    def touching(cls, unknown: Tensor, side: int, stride: int) -> Places:
        """Windows every `stride` pixels, and at the far edges, of a picture (height, width) at least `side` large."""
        height, width = unknown.shape
        rows, columns = (_starts(size, side, stride) for size in (height, width))
        sums = torch.nn.functional.pad(unknown.to(torch.int32).cumsum(0).cumsum(1), (1, 0, 1, 0))
        ends = sums[rows + side][:, columns + side] - sums[rows + side][:, columns]
        inside = ends - sums[rows][:, columns + side] + sums[rows][:, columns]
        touched = inside.nonzero()
        corners = rows[touched[:, 0]] * width + columns[touched[:, 1]]
        reach = torch.arange(side)
        flat = (corners[:, None, None] + reach[:, None] * width + reach).flatten(1)
        used = torch.zeros(height * width, dtype=torch.bool)
        used[flat.flatten()] = True
        pixels = used.nonzero()[:, 0]
        number = torch.empty(height * width, dtype=torch.int64)
        number[pixels] = torch.arange(len(pixels))
        return cls((height, width), pixels, number[flat], unknown.flatten()[pixels], corners)

    def gathered(self, answer: WindowAnswer) -> tuple[Tensor, Tensor]:
        """What the windows say together: mean (M, channels) and variance (M,).

        Each window counts as much as it is sure. The variance is theirs, and that of their means.
        """
        count, channels = len(self.pixels), answer.mean.shape[-1]
        sure = 1 / (answer.variance + SURE)
        flat, weight = self.windows.flatten(), sure.flatten()
        total = torch.zeros(count).index_add_(0, flat, weight)
        columns = [answer.mean * sure[..., None], (answer.variance * sure)[..., None],
                   (answer.mean.square().mean(-1) * sure)[..., None]]  # fmt: skip
        sums = torch.zeros(count, channels + 2).index_add_(0, flat, torch.cat(columns, -1).flatten(0, 1))
        sums /= total[:, None]
        mean, within, squares = sums[:, :channels], sums[:, channels], sums[:, channels + 1]
        return mean, within + (squares - mean.square().mean(-1)).clamp_min(0)

    def fillers(self, answer: WindowAnswer) -> Tensor:
        """The component (M,) of the window that is most sure of each pixel."""
        best = torch.full((len(self.pixels),), math.inf)
        flat, variance = self.windows.flatten(), answer.variance.flatten()
        best.scatter_reduce_(0, flat, variance, "amin")
        wins = variance <= best[flat]
        found = torch.full((len(self.pixels),), -1, dtype=torch.int64)
        found[flat[wins]] = answer.component[:, None].expand_as(answer.variance).flatten()[wins]
        return found


SURE = 1e-6
"""Variance that is added before windows are weighed: one that is sure to a thousandth of white does not decide all."""


def _starts(size: int, side: int, stride: int) -> Tensor:
    starts = torch.arange(0, size - side + 1, stride)
    last = size - side
    return starts if int(starts[-1]) == last else torch.cat([starts, torch.tensor([last])])
