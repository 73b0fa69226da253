"""What a person sees of a model while it learns: its answers to a fixed set of queries, and its own picture.

A kind of model brings one function, in `showing.py` of its family's folder:

    @showing("grid")
    def show_grid(model, learner, items): ...
        return ShownModel(queries=…, pictures=…, probabilities=…, outcomes=…)

`items` are the first items of the validation part, a dictionary of arrays, the same ones at every step of a run. A kind
without a function is shown by its parameters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.protocol.training import Panel, PlanePicture
from mrfstudio.engine.registry import Parts
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import BatchSource, Learner, TrainableModel, TrainingData

QUERIES = 6
"""Queries that are drawn: as many as fit beside each other."""
MEASURED = 24
"""Items whose answers are counted in histogram and calibration: enough for a few thousand answers."""
HISTOGRAM_BINS, CALIBRATION_BINS = 20, 10
POINTS = 1000
"""Points of the plane that are drawn: those of the training part, because a person may paint them."""
LARGEST_SIDE = 256
"""Rows and columns of a matrix that are drawn; more could not be told apart."""


@dataclass(frozen=True, eq=False)
class ShownModel:
    """What the function of a kind gives.

    `probabilities` (answers, labels) are the model's, `outcomes` (answers,) the labels that were true; both may be
    missing where a model answers with no probabilities.
    """

    queries: tuple[tuple[Panel, ...], ...] = ()
    pictures: tuple[Panel, ...] = ()
    labels: tuple[str, ...] = ()
    probabilities: NDArray[np.floating] | None = None
    outcomes: NDArray[np.integer] | None = None
    remark: str = ""
    plane: PlanePicture | None = None


Show = Callable[[Any, Learner, Mapping[str, Tensor]], ShownModel]
_SHOWINGS: Parts[Show] = Parts()
showing = _SHOWINGS.register
"""Decorator: how models of these kinds are shown, `@showing("grid")`."""


Draw = Callable[[Any, Learner, Mapping[str, Tensor], int], PlanePicture]
_MOVING: Parts[Draw] = Parts()
moving = _MOVING.register
"""Decorator: how models of points are drawn in the plane at every step, on a grid of as many cells in a row."""


def fixed_items(data: TrainingData) -> Mapping[str, Tensor]:
    """The items that a run is asked about again and again; of the training part where there is no other."""
    source: BatchSource = data.train if data.validation is None else data.validation
    batch = source[torch.arange(min(MEASURED, len(source)))]
    if not isinstance(batch, Mapping):
        return {"items": batch}
    x = batch.get("x")
    if x is not None and x.is_floating_point() and x.shape[1:] == (2,):  # points of the plane are small, and drawn
        last = torch.arange(max(len(data.train) - POINTS, 0), len(data.train))  # what was painted is at the end
        drawn: Mapping[str, Tensor] = data.train[last]
        return drawn
    return batch


def show(model: TrainableModel, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """A model as it is now, asked about some items (N, …) by name."""
    function = _SHOWINGS.of(model)
    with torch.no_grad():
        return ShownModel(pictures=parameter_panels(model)) if function is None else function(model, learner, items)


def plane_of(model: TrainableModel, learner: Learner, items: Mapping[str, Tensor], side: int) -> PlanePicture | None:
    """The plane as it is now, quickly: with points (N, 2) by name; None for models that are not drawn there."""
    function = _MOVING.of(model)
    with torch.no_grad():
        return None if function is None else function(model, learner, items, side)


def parameter_panels(model: TrainableModel) -> tuple[Panel, ...]:
    """Every matrix among a model's tensors, coloured by sign and size."""
    panels = []
    for name, tensor in model.tensors().items():
        if tensor.ndim == 2 and min(tensor.shape) > 1:
            panels.append(
                signed_panel(name.replace("_", " "), tensor, f"The tensor {name}: rows × columns.", "parameters")
            )
    return tuple(panels)


def signed_panel(title: str, matrix: Tensor, help: str = "", group: str = "") -> Panel:
    """A matrix (rows, columns) as a panel that owns its numbers."""
    array = to_host(matrix.detach()[:LARGEST_SIDE, :LARGEST_SIDE].to("cpu", torch.float32, copy=True))
    return Panel(title, "signed", array, help, group)


def histogram(probabilities: NDArray[np.floating]) -> NDArray[np.float32]:
    """(labels, 20): the share of answers whose probability of a label falls into each twentieth."""
    index = np.clip((probabilities * HISTOGRAM_BINS).astype(np.int64), 0, HISTOGRAM_BINS - 1)
    counts = np.stack([np.bincount(column, minlength=HISTOGRAM_BINS) for column in index.T])
    return (counts / max(len(probabilities), 1)).astype(np.float32)


def calibration(probabilities: NDArray[np.floating], outcomes: NDArray[np.integer]) -> NDArray[np.float32]:
    """(bins, 3): mean probability, how often it came true, share of all answers; every label of every answer counts.

    probabilities (answers, labels), outcomes (answers,). A bin without answers has NaN in its first two columns.
    """
    flat = probabilities.ravel().astype(np.float64)
    true = (outcomes[:, None] == np.arange(probabilities.shape[1])).ravel()
    index = np.clip((flat * CALIBRATION_BINS).astype(np.int64), 0, CALIBRATION_BINS - 1)
    count = np.bincount(index, minlength=CALIBRATION_BINS)
    some = np.maximum(count, 1)
    predicted = np.where(count, np.bincount(index, flat, CALIBRATION_BINS) / some, np.nan)
    observed = np.where(count, np.bincount(index, true, CALIBRATION_BINS) / some, np.nan)
    return np.stack([predicted, observed, count / max(len(flat), 1)], axis=1).astype(np.float32)
