"""How a generator is shown while it learns: its points, the data, and the plan between them as lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.transport.learner import Sinkhorn
from mrfstudio.engine.families.transport.model import Generator, points_in
from mrfstudio.engine.protocol.training import Panel, PlanePicture
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import QUERIES, ShownModel, moving, showing

CARRIED = 60
"""Generated points whose mass is drawn."""
SAMPLES = 600
SIDE = 96


@showing("transport")
def show_generator(model: Generator, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Of points (N, 2): samples, a picture of where they are dense, and the plan. Of others: generated squares."""
    if model.dimension != 2:
        return _squares(_made(model))
    plane = draw_generator(model, learner, items, SIDE)
    density = plane.density
    picture = Panel("samples", "grey", (density / max(float(density.max()), 1e-12))[::-1], "Where it makes points.")
    return ShownModel(
        pictures=(picture,), plane=plane, remark="Generated points, and to which of the data their mass is carried."
    )


@moving("transport")
def draw_generator(model: Generator, learner: Learner, items: Mapping[str, Tensor], side: int) -> PlanePicture:
    """Samples, where they are dense, and the plan from them to the points (N, 2)."""
    data, made = points_in(items), _made(model)
    middle = (data.amax(0) + data.amin(0)) / 2
    half = 0.6 * float((data.amax(0) - data.amin(0)).max().clamp_min(1e-3))
    low, high = middle - half, middle + half
    return PlanePicture(
        (float(low[0]), float(low[1]), float(high[0]), float(high[1])),
        density=_smoothed(made, low, high, side),
        shares=np.zeros((0, side, side), np.float32),
        samples=to_host(made),
        sample_components=np.zeros(len(made), np.int64),
        points=to_host(data),
        responsibilities=np.zeros((len(data), 0), np.float32),
        lines=carried(model, learner, data[:CARRIED], made[:CARRIED]),
    )


def _made(model: Generator) -> Tensor:
    """Generated points (SAMPLES, D), from the same noise at every step."""
    return model.generated(model.drawn_noise(SAMPLES, torch.Generator().manual_seed(0)))


def carried(model: Generator, learner: Learner, data: Tensor, made: Tensor) -> np.ndarray:
    """Lines (n, 5) from generated points to data: x, y, x, y and how much of the point's mass goes there."""
    if not isinstance(learner, Sinkhorn):
        return np.zeros((0, 5), np.float32)
    found, _ = learner.plan(model, data, made)
    share = found.plan.T / found.plan.T.sum(1, keepdim=True)
    start, end = (share > 0.05).nonzero(as_tuple=True)
    return to_host(torch.cat([made[start], data[end], share[start, end][:, None]], 1))


def _smoothed(points: Tensor, low: Tensor, high: Tensor, side: int) -> np.ndarray:
    """A density (side, side) of samples (N, 2) between the corners (2,): bumps of a fortieth of the window."""
    steps = (torch.arange(side) + 0.5) / side
    width = float(high[0] - low[0]) / 40
    across = torch.exp(-0.5 * ((low[0] + steps * (high[0] - low[0]) - points[:, :1]) / width).square())
    up = torch.exp(-0.5 * ((low[1] + steps * (high[1] - low[1]) - points[:, 1:]) / width).square())
    return to_host(up.T @ across / (len(points) * 2 * np.pi * width**2))


def _squares(made: Tensor) -> ShownModel:
    """Generated points (N, side²) as pictures, where their length is a square."""
    side = round(made.shape[1] ** 0.5)
    if side * side != made.shape[1]:
        return ShownModel(remark="Points of more than two dimensions are not drawn.")
    drawn = made[: 4 * QUERIES].reshape(-1, side, side).clamp(0, 1)
    pictures = to_host(drawn)
    panels = tuple(
        Panel(f"{n + 1}", "grey", square, "A generated picture.", "generated") for n, square in enumerate(pictures)
    )
    return ShownModel(pictures=panels, remark="Generated pictures.")
