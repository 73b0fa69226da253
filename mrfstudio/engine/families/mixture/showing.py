"""How densities of points are shown while they learn: the plane, as pictures of one window of it.

All panels show the same square of the plane, whose corners are constant while a run goes on: they come from the fixed
items, which are the same at every step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.mixture.model import FlowMixture, points_of
from mrfstudio.engine.protocol.training import Panel, PlanePicture
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import ShownModel, moving, showing

SIDE = 96
"""Cells of the plane in each direction."""
SAMPLES = 400


@showing("flow-mixture")
def show_mixture(model: FlowMixture, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Density by component, samples, and how strongly each of the points (N, 2) is claimed."""
    if model.dimension != 2:
        return ShownModel(remark="Points of more than two dimensions are not drawn.")
    plane = draw_mixture(model, learner, items, SIDE)
    shares, density = plane.shares, plane.density
    log = np.log(np.maximum(density, density.max() * 1e-4))
    scaled = (log - log.min()) / max(float(log.max() - log.min()), 1e-12)
    picture = Panel("density", "grey", scaled[::-1].astype(np.float32), "log p(x) in the plane.", "density")
    each = tuple(
        Panel(
            f"{k + 1}", "grey", np.sqrt(_unit(density * shares[k]))[::-1], "One component; a square root.", "components"
        )
        for k in range(min(model.components, 12))
    )
    return ShownModel(
        pictures=(picture, *each), plane=plane, remark="The density of points, and what each component claims."
    )


@moving("flow-mixture")
def draw_mixture(model: FlowMixture, learner: Learner, items: Mapping[str, Tensor], side: int) -> PlanePicture:
    """Density by component, samples, and how strongly each of the points (N, 2) is claimed."""
    points = points_of(items)
    low, high = window_of(points)
    shares, density = by_component(model, low, high, side)
    drawn, which = model.drawn(SAMPLES, torch.Generator().manual_seed(0))
    claimed = torch.softmax(model.log_joint(points), 1)
    return PlanePicture(
        (float(low[0]), float(low[1]), float(high[0]), float(high[1])),
        density=density,
        shares=shares,
        samples=to_host(drawn),
        sample_components=to_host(which),
        points=to_host(points),
        responsibilities=to_host(claimed),
    )


def window_of(points: Tensor) -> tuple[Tensor, Tensor]:
    """Corners (2,) of a square that holds the points, with a margin."""
    middle = (points.amax(0) + points.amin(0)) / 2
    half = 0.6 * float((points.amax(0) - points.amin(0)).max().clamp_min(1e-3))
    return middle - half, middle + half


def by_component(
    model: FlowMixture, low: Tensor, high: Tensor, side: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """γ (K, side, side) and p(x) (side, side) at the middles of cells between corners (2,); the lowest row first."""
    steps = (torch.arange(side) + 0.5) / side
    x, y = low[0] + steps * (high[0] - low[0]), low[1] + steps * (high[1] - low[1])
    cells = torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).reshape(-1, 2)
    joint = model.log_joint(cells)
    shares = torch.softmax(joint, 1).T.reshape(-1, side, side)
    density = torch.logsumexp(joint, 1).exp().reshape(side, side)
    return to_host(shares), to_host(density)


def _unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return (values / max(float(values.max()), 1e-12)).astype(np.float32)
