"""Photographs cut by scribbles: colours learned from the strokes, a Potts grid that respects edges, BP coarse to fine.

Each label's colours are a mixture of Gaussians fitted to its scribbled pixels. Belief propagation runs on a pyramid:
messages travel one pixel an iteration, so a halved picture carries them twice as far, and the finer grid goes on from
the coarser one's messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.catalogue import Parameters, integer, number
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.potts_belief_propagation import PottsMessages
from mrfstudio.engine.models.potts import STRONGEST, PottsGrid

Pixels = NDArray[np.float32]
OUTLIERS = 0.05  # part of each label's colours that may be anything: no colour excludes a label by itself


class PhotoCut(Parameters):
    """How strongly pixels hold together, and how long to iterate."""

    smoothness: float = number(4.0, "How much neighbouring pixels want the same label.", low=0.0, high=STRONGEST)
    colours: int = integer(4, "Gaussians in the colour mixture of each label.", low=1, high=16)
    iterations: int = integer(20, "Iterations of belief propagation at each level of the pyramid.", low=1)


@dataclass(frozen=True)
class Cut:
    """labels (height, width) uint8 from 1, beliefs (height, width, labels), and the last residual."""

    labels: NDArray[np.uint8]
    beliefs: NDArray[np.float32]
    residual: float
    iterations: int


def cut_photo(
    photo: Pixels,
    scribbles: NDArray[np.uint8],
    labels: int,
    settings: PhotoCut,
    on_level: Callable[[str], None] = print,
) -> Cut:
    """Label every pixel of a photograph (height, width, 3) from scribbles (height, width): 0 nothing, 1 … labels."""
    _check(photo, scribbles, labels)
    likelihood = np.stack([_colour_fit(photo, scribbles == k, settings.colours) for k in range(1, labels + 1)], -1)
    evidence = torch.from_numpy(likelihood.astype(np.float32))
    for k in range(labels):
        others = [j for j in range(labels) if j != k]
        strokes = torch.from_numpy(scribbles == k + 1)
        evidence[strokes.unsqueeze(-1) & torch.tensor([j in others for j in range(labels)])] = -torch.inf
    across, down = _edge_weights(torch.from_numpy(photo), settings.smoothness)
    pyramid = [(evidence, across, down)]
    while min(pyramid[-1][0].shape[:2]) >= 32:
        pyramid.append(_halve(*pyramid[-1]))
    messages: Tensor | None = None
    for step, (level, wide, tall) in enumerate(reversed(pyramid[1:]), 1):
        on_level(f"level {step} of {len(pyramid)}")
        messages = _propagate(PottsGrid(wide, tall, labels), Evidence(level), messages, settings.iterations).messages
    on_level(f"level {len(pyramid)} of {len(pyramid)}")
    model, given, bp = PottsGrid(across, down, labels), Evidence(evidence), BeliefPropagation()
    state = _propagate(model, given, messages, settings.iterations)
    beliefs = bp.beliefs(model, given, state).numpy()
    total = settings.iterations * len(pyramid)
    return Cut((beliefs.argmax(-1) + 1).astype(np.uint8), beliefs, bp.residual(state), total)


def _propagate(model: PottsGrid, given: Evidence, coarser: Tensor | None, iterations: int) -> PottsMessages:
    """BP on one level, from the messages of the coarser one where there is one."""
    bp = BeliefPropagation()
    state = bp.init(model, given)
    if coarser is not None:
        state = PottsMessages(0, state.residual, _doubled(coarser, model.height, model.width))
    for _ in range(iterations):
        state = bp.step(model, given, state)
    assert isinstance(state, PottsMessages)
    return state


def _check(photo: Pixels, scribbles: NDArray[np.uint8], labels: int) -> None:
    if photo.shape[:2] != scribbles.shape:
        size, other = _size(photo.shape), _size(scribbles.shape)
        raise StudioError(
            f"The scribbles are {other} pixels: the photograph is {size}, and both must be the same size."
        )
    found = sorted({int(k) for k in np.unique(scribbles)} - {0})
    missing = [k for k in range(1, labels + 1) if k not in found]
    if missing:
        names = ", ".join(map(str, missing))
        raise StudioError(f"The scribbles have no stroke of label {names}: each of the {labels} labels needs one.")


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def _colour_fit(photo: Pixels, chosen: NDArray[np.bool_], components: int) -> NDArray[np.float64]:
    """log p(colour | label) at every pixel from a mixture of Gaussians on the chosen ones, by a few rounds of EM."""
    samples = photo[chosen].astype(np.float64)
    rng = np.random.default_rng(0)
    if len(samples) > 5000:
        samples = samples[rng.choice(len(samples), 5000, replace=False)]
    count = max(1, min(components, len(samples) // 20))
    means = samples[rng.choice(len(samples), count, replace=False)]
    spread = np.cov(samples.T) if len(samples) > 3 else np.zeros((3, 3))
    floor = 2e-4 * np.eye(3)
    covariances = np.repeat((spread + floor)[None], count, 0)
    shares = np.full(count, 1 / count)
    for _ in range(15):
        weights = np.exp(_log_densities(samples, means, covariances, shares))
        weights /= weights.sum(1, keepdims=True) + 1e-300
        mass = weights.sum(0) + 1e-9
        means = weights.T @ samples / mass[:, None]
        apart = samples[:, None] - means
        covariances = np.einsum("nk,nki,nkj->kij", weights, apart, apart) / mass[:, None, None] + floor
        shares = mass / mass.sum()
    flat = photo.reshape(-1, 3).astype(np.float64)
    density = np.exp(_log_densities(flat, means, covariances, shares)).sum(1)
    return np.log((1 - OUTLIERS) * density + OUTLIERS).reshape(photo.shape[:2])


def _log_densities(
    points: NDArray[np.float64],
    means: NDArray[np.float64],
    covariances: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """log(share_k N(point; mean_k, covariance_k)), (points, k)."""
    columns = []
    for mean, covariance, share in zip(means, covariances, shares, strict=True):
        root = np.linalg.cholesky(covariance)
        solved = np.linalg.solve(root, (points - mean).T)
        norm = np.log(np.diag(root)).sum() + 1.5 * math.log(2 * math.pi)
        columns.append(math.log(share) - norm - 0.5 * (solved**2).sum(0))
    return np.stack(columns, 1)


def _edge_weights(photo: Tensor, smoothness: float) -> tuple[Tensor, Tensor]:
    """w = smoothness · (0.1 + 0.9 exp(-|Δcolour|² / 2⟨|Δcolour|²⟩)): (h, w - 1) and (h - 1, w)."""
    across = (photo[:, 1:] - photo[:, :-1]).square().sum(-1)
    down = (photo[1:] - photo[:-1]).square().sum(-1)
    count = across.numel() + down.numel()
    mean = float(across.sum() + down.sum()) / max(count, 1) + 1e-8
    wide, tall = (smoothness * (0.1 + 0.9 * torch.exp(-d / (2 * mean))) for d in (across, down))
    return wide, tall


def _halve(evidence: Tensor, across: Tensor, down: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every 2×2 block becomes a pixel: potentials and weights add up; a block that forbids every label is undecided."""
    height, width = evidence.shape[0] // 2, evidence.shape[1] // 2
    blocks = evidence[: 2 * height, : 2 * width].reshape(height, 2, width, 2, -1).sum((1, 3))
    impossible = torch.isneginf(blocks).all(-1, keepdim=True)
    blocks = torch.where(impossible, torch.zeros_like(blocks), blocks)
    wide = across[: 2 * height, 1 : 2 * width - 1 : 2].reshape(height, 2, width - 1).sum(1)
    tall = down[1 : 2 * height - 1 : 2, : 2 * width].reshape(height - 1, width, 2).sum(2)
    return blocks, wide.clamp(max=STRONGEST), tall.clamp(max=STRONGEST)


def _doubled(messages: Tensor, height: int, width: int) -> Tensor:
    return functional.interpolate(messages, size=(height, width), mode="nearest")
