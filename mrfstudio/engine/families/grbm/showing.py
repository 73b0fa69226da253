"""How Gaussian RBMs are shown while they learn: holes filled in with grey levels, and what each hidden unit adds."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM, pictures_of
from mrfstudio.engine.families.rbm.showing import field_panels, filled_in, hole_panels, holes
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import QUERIES, ShownModel, showing


@showing("grbm")
def show_grey(model: GRBM, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Means and deviations of missing pixels, of `images` (N, height, width).

    The question that is counted is whether a pixel is lighter than most.
    """
    truth = pictures_of(items)[:QUERIES].to(model.weights.dtype)
    unknown = holes(len(truth), model.image_shape)
    beliefs = filled_in(model, learner, truth, unknown)
    mean, deviation = beliefs[..., 0], beliefs[..., 1].clamp_min(1e-12).sqrt()
    middle = float(model.mean)
    lighter = torch.special.ndtr((mean - middle) / deviation)
    return ShownModel(
        queries=hole_panels(truth, unknown, mean, deviation),
        pictures=field_panels(model.receptive_fields()),
        labels=("darker", "lighter"),
        probabilities=to_host(torch.stack([1 - lighter, lighter], -1)[unknown]),
        outcomes=to_host((truth > middle)[unknown].long()),
        remark="Validation pictures with holes. Marginals and calibration: is a pixel darker or lighter than the mean?",
    )
