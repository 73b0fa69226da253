"""How models of pictures are shown while they learn: holes filled in, and what each hidden unit adds to a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.learning.contract import Learner, derive_seed
from mrfstudio.engine.learning.queries import parse_queries
from mrfstudio.engine.learning.showing import QUERIES, Shown, parameter_panels, showing, signed_panel
from mrfstudio.engine.models.grbm import GRBM, pictures_of
from mrfstudio.engine.models.rbm import RBM
from mrfstudio.engine.training_frames import Panel

ITERATIONS = 15
FIELDS = 48
"""Hidden units that are drawn, those with the strongest weights: more could not be told apart."""
HOLES = ("half:bottom", "uniform:0.5", "half:right")
"""Queries in turn. They stay the same whatever the learner asks, so that answers can be compared."""


@showing("rbm", "dbm")
def show_binary(model: RBM, learner: Learner, items: Mapping[str, Tensor]) -> Shown:
    """Beliefs about missing pixels; rows that are no pictures are shown by the parameters alone."""
    if model.image_shape is None:
        return Shown(pictures=parameter_panels(model))
    truth = model.shown(binary_rows(items)[:QUERIES]).to(model.dtype)
    unknown = holes(len(truth), model.image_shape)
    white = _beliefs(model, learner, truth, unknown)[..., 1]
    return Shown(
        queries=_queries(truth, unknown, white, (white * (1 - white)).sqrt()),
        pictures=field_panels(model.receptive_fields()),
        labels=("black", "white"),
        probabilities=torch.stack([1 - white, white], -1)[unknown].numpy(),
        outcomes=(truth > 0.5)[unknown].long().numpy(),
        remark="Validation pictures with holes: how probable is white?",
    )


@showing("grbm")
def show_grey(model: GRBM, learner: Learner, items: Mapping[str, Tensor]) -> Shown:
    """Means and deviations of missing pixels; the question that is counted is whether a pixel is lighter than most."""
    truth = pictures_of(items)[:QUERIES].to(model.weights.dtype)
    unknown = holes(len(truth), model.image_shape)
    beliefs = _beliefs(model, learner, truth, unknown)
    mean, deviation = beliefs[..., 0], beliefs[..., 1].clamp_min(1e-12).sqrt()
    middle = float(model.mean)
    lighter = torch.special.ndtr((mean - middle) / deviation)
    return Shown(
        queries=_queries(truth, unknown, mean, deviation),
        pictures=field_panels(model.receptive_fields()),
        labels=("darker", "lighter"),
        probabilities=torch.stack([1 - lighter, lighter], -1)[unknown].numpy(),
        outcomes=(truth > middle)[unknown].long().numpy(),
        remark="Validation pictures with holes. Marginals and calibration: is a pixel darker or lighter than the mean?",
    )


def holes(count: int, shape: tuple[int, int]) -> Tensor:
    """Where the fixed queries ask, (count, height, width)."""
    generator = torch.Generator().manual_seed(derive_seed("shown queries"))
    drawn = [parse_queries(HOLES[index % len(HOLES)]).draw(1, shape, generator) for index in range(count)]
    return torch.cat(drawn)


def _beliefs(model: Any, learner: Learner, truth: Tensor, unknown: Tensor) -> Tensor:
    """(count, height, width, 2) after as many iterations as the learner unrolls."""
    limits = Limits(iterations=int(getattr(learner, "iterations", ITERATIONS)), tolerance=0.0)
    found = []
    for picture, hole in zip(truth, unknown, strict=True):
        algorithm, evidence = BeliefPropagation(), model.evidence_from_image(picture, hole)
        found.append(algorithm.beliefs(model, evidence, run(algorithm, model, evidence, limits).state))
    return torch.stack(found).to(torch.float32)


def _queries(truth: Tensor, unknown: Tensor, mean: Tensor, deviation: Tensor) -> tuple[tuple[Panel, ...], ...]:
    truth = truth.to(torch.float32)
    given = torch.where(unknown, torch.full_like(truth, np.nan), truth)
    filled = torch.where(unknown, mean.to(torch.float32), truth)
    unsure = torch.where(unknown, deviation.to(torch.float32), torch.zeros_like(truth))
    return tuple(
        (
            Panel("given", "masked", given[index].numpy(), "What is seen; the tinted part is asked for."),
            Panel("answer", "grey", filled[index].numpy(), "The mean of what the model believes."),
            Panel("doubt", "deviation", unsure[index].numpy(), "Its standard deviation; yellow is unsure."),
            Panel("truth", "grey", truth[index].numpy(), "What was hidden."),
        )
        for index in range(len(truth))
    )


def field_panels(fields: Tensor) -> tuple[Panel, ...]:
    """The strongest receptive fields (hidden, height, width), in the order of the units."""
    strength = fields.flatten(1).norm(dim=1)
    chosen = torch.sort(torch.argsort(strength, descending=True, stable=True)[:FIELDS]).values
    help = "What turning this hidden unit on adds to a picture."
    return tuple(signed_panel(str(int(unit)), fields[unit], help, "receptive fields") for unit in chosen)
