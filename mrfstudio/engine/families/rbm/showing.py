"""How models of pictures are shown while they learn: holes filled in, and what each hidden unit adds to a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner, derive_seed
from mrfstudio.engine.training.queries import parse_queries
from mrfstudio.engine.training.showing import QUERIES, ShownModel, parameter_panels, showing, signed_panel

ITERATIONS = 15
FIELDS = 48
"""Hidden units that are drawn, always the same ones: more could not be told apart."""
HOLES = ("half:bottom", "uniform:0.5", "half:right")
"""Queries in turn. They stay the same whatever the learner asks, so that answers can be compared."""


@showing("rbm", "dbm")
def show_binary(model: RBM, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Beliefs about missing pixels of rows (N, V); rows that are no pictures are shown by the parameters alone."""
    if model.image_shape is None:
        return ShownModel(pictures=parameter_panels(model))
    truth = model.shown(binary_rows(items)[:QUERIES]).to(model.dtype)
    unknown = holes(len(truth), model.image_shape)
    white = filled_in(model, learner, truth, unknown)[..., 1]
    return ShownModel(
        queries=hole_panels(truth, unknown, white, (white * (1 - white)).sqrt()),
        pictures=field_panels(model.receptive_fields()),
        labels=("black", "white"),
        probabilities=to_host(torch.stack([1 - white, white], -1)[unknown]),
        outcomes=to_host((truth > 0.5)[unknown].long()),
        remark="Validation pictures with holes: how probable is white?",
    )


def holes(count: int, shape: tuple[int, int]) -> Tensor:
    """Where the fixed queries ask, (count, height, width)."""
    generator = torch.Generator().manual_seed(derive_seed("shown queries"))
    drawn = [parse_queries(HOLES[index % len(HOLES)]).draw(1, shape, generator) for index in range(count)]
    return torch.cat(drawn)


def filled_in(model: Any, learner: Learner, truth: Tensor, unknown: Tensor) -> Tensor:
    """(count, height, width, 2) after as many iterations as the learner unrolls."""
    limits = Limits(iterations=int(getattr(learner, "iterations", ITERATIONS)), tolerance=0.0)
    found = []
    for picture, hole in zip(truth, unknown, strict=True):
        algorithm, evidence = BeliefPropagation(), model.evidence_from_image(picture, hole)
        found.append(algorithm.beliefs(model, evidence, run(algorithm, model, evidence, limits).state))
    return torch.stack(found).to(torch.float32)


def hole_panels(truth: Tensor, unknown: Tensor, mean: Tensor, deviation: Tensor) -> tuple[tuple[Panel, ...], ...]:
    """Four panels a picture; all (N, height, width), `unknown` says where the hole is."""
    truth = truth.to(torch.float32)
    given = torch.where(unknown, torch.full_like(truth, np.nan), truth)
    filled = torch.where(unknown, mean.to(torch.float32), truth)
    unsure = torch.where(unknown, deviation.to(torch.float32), torch.zeros_like(truth))
    return tuple(
        (
            Panel("given", "masked", to_host(given[index]), "What is seen; the tinted part is asked for."),
            Panel("answer", "grey", to_host(filled[index]), "The mean of what the model believes."),
            Panel("doubt", "deviation", to_host(unsure[index]), "Its standard deviation; yellow is unsure."),
            Panel("truth", "grey", to_host(truth[index]), "What was hidden."),
        )
        for index in range(len(truth))
    )


def field_panels(fields: Tensor) -> tuple[Panel, ...]:
    """The first receptive fields (hidden, height, width): a tile shows the same unit in every snapshot."""
    help = "What turning this hidden unit on adds to a picture."
    return tuple(signed_panel(str(unit), field, help, "receptive fields") for unit, field in enumerate(fields[:FIELDS]))
