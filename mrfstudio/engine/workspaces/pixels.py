"""Models of pictures as the Inpaint workspace sees them: evidence from grey levels, and beliefs as grey levels.

A GRBM has continuous pixels with Gaussian beliefs, an RBM or DBM binary ones. Each kind has one class here, so that the
workspace knows neither. Grey levels are numbers from 0 (black) to 1 (white) unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import AnyEvidence
from mrfstudio.engine.models.grbm import GRBM
from mrfstudio.engine.models.rbm import RBM
from mrfstudio.engine.workspaces.contract import SOFT_HINT, LaneView

Grey = NDArray[np.float32]

BINS = 64
"""Parts of the grey scale in the histogram of a pixel."""
KINDS = ("grbm", "rbm", "dbm")


class Pixels:
    """One kind of model. All pictures are (height, width)."""

    def shape(self, model: Any) -> tuple[int, int]:
        height, width = model.image_shape
        return int(height), int(width)

    def evidence(
        self, model: Any, grey: Tensor, unknown: Tensor, strength: Tensor, hidden: Tensor | None
    ) -> AnyEvidence:
        """What a picture says where it is not unknown, as firmly as `strength`; `hidden` are log-odds of units."""
        raise NotImplementedError

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of each pixel's belief."""
        raise NotImplementedError

    def bits(self, view: LaneView, truth: Tensor) -> Tensor:
        """How surprised the beliefs are by the truth, in bits a pixel."""
        raise NotImplementedError

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        """The probability of each of some equal parts of the grey scale, (parts,)."""
        raise NotImplementedError

    def fields(self, model: Any) -> Tensor:
        """What turning a hidden unit on adds to the picture, (hidden, height, width)."""
        raise NotImplementedError

    def drawn(self, samples: Tensor, model: Any) -> Tensor:
        """The first of the pictures that a sampler is at."""
        raise NotImplementedError


class GaussianPixels(Pixels):
    """The pixels of a GRBM; beliefs are (height, width, 2), mean and variance."""

    def evidence(
        self, model: GRBM, grey: Tensor, unknown: Tensor, strength: Tensor, hidden: Tensor | None
    ) -> AnyEvidence:
        return model.evidence_from_image(grey, unknown, strength, hidden)

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        return view.beliefs[..., 0], view.beliefs[..., 1].clamp_min(0).sqrt()

    def bits(self, view: LaneView, truth: Tensor) -> Tensor:
        model: GRBM = view.model
        return model.bits(view.beliefs, truth)

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        mean, variance = view.beliefs[pixel].double()
        if float(variance) <= 0:
            return _one_bin(float(mean), BINS)
        edges = torch.linspace(0, 1, BINS + 1, dtype=torch.float64)
        below = torch.special.ndtr((edges - mean) / variance.sqrt())
        below[0], below[-1] = 0.0, 1.0  # what lies beyond black and white is shown there
        return np.asarray(below.diff().numpy())

    def fields(self, model: GRBM) -> Tensor:
        return model.receptive_fields()

    def drawn(self, samples: Tensor, model: GRBM) -> Tensor:
        return samples[0]


class BinaryPixels(Pixels):
    """The pixels of an RBM or DBM; beliefs are (height, width, 2), of black and of white."""

    def shape(self, model: RBM) -> tuple[int, int]:
        if model.image_shape is None:
            raise StudioError("This model was trained on rows, not on pictures: choose one with an image shape.")
        return model.image_shape

    def evidence(
        self, model: RBM, grey: Tensor, unknown: Tensor, strength: Tensor, hidden: Tensor | None
    ) -> AnyEvidence:
        if grey.shape != self.shape(model):
            height, width = self.shape(model)
            raise StudioError(f"The picture has shape {tuple(grey.shape)}: this model takes {width}×{height} pixels.")
        white = (grey >= 0.5).flatten()
        firm = strength.flatten()
        odds = torch.where(white, -1.0, 1.0) * SOFT_HINT * firm
        chance = torch.where(firm >= 1, white.to(odds.dtype), torch.sigmoid(odds))
        return model.observe(chance, ~unknown.flatten(), hidden)

    def _white(self, view: LaneView) -> Tensor:
        """P(white) of each pixel."""
        return view.beliefs[..., 1]

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        white = self._white(view)
        return white, (white * (1 - white)).clamp_min(0).sqrt()

    def bits(self, view: LaneView, truth: Tensor) -> Tensor:
        white = self._white(view)
        chance = torch.where(truth >= 0.5, white, 1 - white)
        return -chance.clamp_min(torch.finfo(chance.dtype).tiny).log2()

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        white = float(self._white(view)[pixel])
        return np.array([1 - white, white])

    def fields(self, model: RBM) -> Tensor:
        """By how much a unit moves P(white) with all others undecided: the change of σ(d + ½A1 ± ½A)."""
        couplings, _, outer = model.binary_form()
        middle = outer + couplings.sum(0) / 2
        change = torch.sigmoid(middle + couplings / 2) - torch.sigmoid(middle - couplings / 2)
        return change[:, : model.visible].detach().unflatten(-1, self.shape(model))

    def drawn(self, samples: Tensor, model: RBM) -> Tensor:
        return samples[0]


def pixels_of(model: Any) -> Pixels:
    """How to treat a model. Raises `StudioError` for one that is no model of pictures."""
    if isinstance(model, GRBM):
        return GaussianPixels()
    if isinstance(model, RBM):
        return BinaryPixels()
    raise StudioError(f"A {model.kind} fills in no pictures: choose one of {', '.join(KINDS)}.")


def clamp_log_odds(model: Any, held: Mapping[int, int]) -> Tensor | None:
    """Log-odds (hidden,) that hold units on or off; None if there are none. Raises for units it does not have."""
    if not held:
        return None
    beyond = [unit for unit in held if unit >= model.hidden]
    if beyond:
        raise StudioError(f"Unit {beyond[0]} was to be held: this model has the units 0 to {model.hidden - 1}.")
    odds = torch.zeros(model.hidden)
    for unit, value in held.items():
        odds[unit] = torch.inf if value else -torch.inf
    return odds


def _one_bin(grey: float, bins: int) -> NDArray[np.float64]:
    """All probability in the part of the scale where a grey level lies."""
    histogram = np.zeros(bins)
    histogram[min(max(int(grey * bins), 0), bins - 1)] = 1.0
    return histogram
