"""What a Gaussian RBM says of the windows of a photograph: its first-order messages, all windows at once."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.first_order import first_order_beliefs
from mrfstudio.engine.families.patches.machine import PatchMachine, contrast_of, pattern_evidence
from mrfstudio.engine.families.patches.model import CHANNELS
from mrfstudio.engine.families.patches.windows import WindowAnswer
from mrfstudio.engine.families.repairs import NOTHING
from mrfstudio.engine.runtime.threads import side_by_side

ITERATIONS = 8
USUAL_CONTRAST = 0.1
"""Deviation of a drawn window, in parts of white."""
AT_ONCE = 500
"""Windows that are worked on together: their arrays fit into the cache."""


class MachineWindows:
    """A machine ready for windows of one channel or three; grey is three equal channels.

    The mean and the contrast of a window are those of its present colours. A `component` is the hidden unit that says
    most about it.
    """

    def __init__(self, model: PatchMachine, channels: int) -> None:
        self.side, self.channels, self.model = model.side, channels, model
        self.components, self.calibration = model.hidden, 1.0
        self._lengths = model.weights.detach().norm(dim=1)

    def choose(self, values: Tensor, noise: float) -> Tensor:
        """The hidden unit (N,) that moves each window (N, places, channels) most."""
        found = [torch.zeros(0, dtype=torch.int64)]
        for part in values.split(AT_ONCE):
            windows = self._coloured(part - part.mean(1, keepdim=True)).flatten(1)
            odds = self.model.hidden_bias + windows / contrast_of(windows) @ self.model.weights.detach().T
            found.append((torch.sigmoid(odds) * self._lengths).argmax(1))
        return torch.cat(found)

    def condition(
        self,
        values: Tensor,
        variances: Tensor,
        component: Tensor,
        unknown: Tensor | None = None,
        held: Tensor | None = None,
    ) -> WindowAnswer:
        """What each window (N, places, channels) is, given the variances (N, places) of `values`.

        The unit of a window is on where it is `held` (N,); elsewhere all units follow the window.
        """
        given = torch.full_like(component, NOTHING) if held is None else torch.where(held, component, NOTHING)
        works = list(zip(values.split(AT_ONCE), variances.split(AT_ONCE), given.split(AT_ONCE), strict=True))

        def work(item: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            with torch.inference_mode():  # a setting of the thread
                return self._condition(*item)

        parts = side_by_side(work, works)
        means, spreads = zip(*parts, strict=True) if parts else ((values,), (variances,))
        return WindowAnswer(torch.cat(means), torch.cat(spreads), component)

    def _condition(self, values: Tensor, variances: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (N, places, channels) and variance (N, places) of windows, from values and variances of these shapes.

        `given` (N,) is the unit that is on in a window, or `NOTHING`.
        """
        middle = values.mean(1, keepdim=True)
        windows = self._coloured(values - middle).flatten(1)
        contrast = contrast_of(windows)
        precision = contrast.square() / variances.repeat_interleave(CHANNELS, 1)
        everything = torch.ones_like(precision, dtype=torch.bool)
        evidence = pattern_evidence(windows / contrast, everything, precision)
        on = given[:, None] == torch.arange(self.components) if bool((given != NOTHING).any()) else None
        information, certainty = first_order_beliefs(self.model, evidence, ITERATIONS, (ITERATIONS,), on)
        shape = len(values), -1, CHANNELS
        mean = (contrast * information[0] / certainty[0]).view(shape)
        spread = (contrast.square() / certainty[0]).view(shape).mean(-1)
        if self.channels == 1:
            mean = mean.mean(-1, keepdim=True)
        return middle + mean, spread

    def draw(self, noise: Tensor, component: Tensor) -> Tensor:
        """The means (N, places, channels) of windows whose hidden units are drawn, of a usual contrast.

        To second order: the root of τ⁻¹ Wᵀ diag(p (1 - p)) W τ⁻¹, with the units' p before anything is seen, times
        white noise. Windows that are given the same noise where they overlap draw nearly the same there.
        """
        drawn = self._coloured(noise).flatten(1) @ self._root
        return USUAL_CONTRAST * drawn.view(len(noise), -1, CHANNELS)[..., : self.channels]

    @cached_property
    def _root(self) -> Tensor:
        model = self.model
        weights, tau = model.weights.detach().double(), model.precision.detach().double()
        on = torch.sigmoid(model.hidden_bias.detach().double() + weights @ model.visible_bias.detach().double())
        covariance = (weights.T * (on * (1 - on))) @ weights / tau / tau[:, None]
        sizes, vectors = torch.linalg.eigh(covariance)
        return (vectors * sizes.clamp_min(0).sqrt() @ vectors.T).to(model.weights.dtype)

    def _coloured(self, windows: Tensor) -> Tensor:
        """Windows (N, places, channels) as (N, places, CHANNELS)."""
        return windows if self.channels == CHANNELS else windows.expand(-1, -1, CHANNELS)
