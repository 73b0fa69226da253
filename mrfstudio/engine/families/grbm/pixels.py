"""Pictures of Gaussian RBMs: grey levels with Gaussian beliefs, mean and variance of each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.grbm.first_order import first_order_beliefs
from mrfstudio.engine.families.grbm.gibbs import pixels_given
from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.families.pixels import Grey, Pixels, pixels
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.runtime.device import to_host

BINS = 64
"""Parts of the grey scale in the histogram of a pixel."""
WHITE = 255
SETTLED = 20
"""Iterations after which first-order messages have settled."""
FARTHEST = 1.7
"""Misfit from which on a picture is called unlike what was learned: of faces like those that a model learned one in
twenty lies above it, of real ones under a model of drawn ones three in four."""
UNLIKE = (
    "This model has not learned pictures like this one: known pixels lie {:.1f} times as far off as it expects. "
    "Another model may know them."
)


@pixels("grbm")
class GaussianPixels(Pixels):
    """Beliefs (height, width, 2) hold mean and variance."""

    field_unit = "grey levels"

    def mean_and_deviation(self, beliefs: Tensor) -> tuple[Tensor, Tensor]:
        return beliefs[..., 0], beliefs[..., 1].clamp_min(0).sqrt()

    def histogram(self, beliefs: Tensor, pixel: tuple[int, int]) -> NDArray[np.float64]:
        mean, variance = beliefs[pixel].double()
        if float(variance) <= 0:
            return _one_bin(float(mean), BINS)
        edges = torch.linspace(0, 1, BINS + 1, dtype=torch.float64)
        below = torch.special.ndtr((edges - mean) / variance.sqrt())
        below[0], below[-1] = 0.0, 1.0  # what lies beyond black and white is shown there
        return np.asarray(to_host(below.diff()))

    def drawn(self, model: GRBM, sampler: Any, evidence: Any, state: Any) -> Tensor:
        """The means of pixels given the hidden units of each chain."""
        mean, _ = pixels_given(model, evidence, state.hidden)
        return model.to_grey(mean)

    def unlike(self, model: GRBM, evidence: GaussianEvidence) -> str | None:
        if bool(evidence.observed.all()):  # nothing is asked
            return None
        apart = misfit(model, evidence)
        return UNLIKE.format(apart) if apart > FARTHEST else None

    def brightness(self, model: GRBM) -> tuple[float, float]:
        return float(model.mean), float(model.deviation)

    def fields(self, model: GRBM) -> Grey:
        return np.ascontiguousarray(super().fields(model) * WHITE)


def misfit(model: GRBM, evidence: GaussianEvidence) -> float:
    """Mean of τ (v - what the hidden units make of it)² over the known pixels: about 1, or less, in its own pictures.

    Hidden units follow from the known pixels and the first-order answer for the others.
    """
    known = evidence.observed
    if not bool(known.any()):
        return 0.0
    one = GaussianEvidence(evidence.values[None], known[None], evidence.information[None], evidence.precision[None])
    information, precision = first_order_beliefs(model, one, SETTLED, (SETTLED,))
    pixels = torch.where(known, evidence.values, information[0, 0] / precision[0, 0])
    units = torch.sigmoid(model.hidden_bias + model.weights @ pixels)
    drawn = model.visible_bias + units @ model.weights / model.precision
    return float((model.precision * (pixels - drawn).square())[known].mean())


def _one_bin(grey: float, bins: int) -> NDArray[np.float64]:
    """All probability in the part of the scale where a grey level lies."""
    histogram = np.zeros(bins)
    histogram[min(max(int(grey * bins), 0), bins - 1)] = 1.0
    return histogram
