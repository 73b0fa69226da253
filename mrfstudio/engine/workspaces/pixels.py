"""Beliefs of models of pictures as grey levels, for the Inpaint workspace.

A GRBM has continuous pixels with Gaussian beliefs, an RBM or DBM binary ones. Each kind has one class here for what
they do not share by themselves; evidence, bits, receptive fields and samples have the same form in all of them. Grey
levels are numbers from 0 (black) to 1 (white) unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.models.grbm import GRBM
from mrfstudio.engine.models.rbm import RBM
from mrfstudio.engine.workspaces.contract import LaneView

Grey = NDArray[np.float32]

BINS = 64
"""Parts of the grey scale in the histogram of a pixel."""
KINDS = ("grbm", "rbm", "dbm")


class Pixels:
    """One kind of model. All pictures are (height, width); beliefs are (height, width, 2)."""

    def shape(self, model: Any) -> tuple[int, int]:
        """Raises `StudioError` for a model that was trained on rows."""
        if model.image_shape is None:
            raise StudioError("This model was trained on rows, not on pictures: choose one with an image shape.")
        height, width = model.image_shape
        return int(height), int(width)

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of each pixel's belief."""
        raise NotImplementedError

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        """The probability of each of some equal parts of the grey scale, (parts,)."""
        raise NotImplementedError


class GaussianPixels(Pixels):
    """The pixels of a GRBM; beliefs hold mean and variance."""

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        return view.beliefs[..., 0], view.beliefs[..., 1].clamp_min(0).sqrt()

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        mean, variance = view.beliefs[pixel].double()
        if float(variance) <= 0:
            return _one_bin(float(mean), BINS)
        edges = torch.linspace(0, 1, BINS + 1, dtype=torch.float64)
        below = torch.special.ndtr((edges - mean) / variance.sqrt())
        below[0], below[-1] = 0.0, 1.0  # what lies beyond black and white is shown there
        return np.asarray(below.diff().numpy())


class BinaryPixels(Pixels):
    """The pixels of an RBM or DBM; beliefs hold the probabilities of black and white."""

    def mean_and_deviation(self, view: LaneView) -> tuple[Tensor, Tensor]:
        white = view.beliefs[..., 1]
        return white, (white * (1 - white)).clamp_min(0).sqrt()

    def histogram(self, view: LaneView, pixel: tuple[int, int]) -> NDArray[np.float64]:
        white = float(view.beliefs[(*pixel, 1)])
        return np.array([1 - white, white])


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
