"""A mixture of Gaussians on small windows of a photograph, each with few directions and noise ([ZW11], [TB99]).

    p(x) = Σ_k π_k N(x; 0, F_k F_kᵀ + s_k² I)          x: a window in colours from 0 to 1, less its mean in each channel

F_k (pixels, rank) are the directions in which windows of component k differ: a flat one, an edge at some angle, a
texture. Where some pixels are missing, what is left is again such a mixture, and everything about the others follows by
linear algebra of size `rank`: it is conditionable exactly (`windows.py`). The mean of each channel, which a window gets
back there, has a wide prior of its own.

What other rooms use of it:

    model.side, model.components, model.rank, model.pixels      8, how many, directions of each, side · side · 3
    model.log_weights, model.factors, model.log_noise           log π (K,), F (K, pixels, rank), log s (K,)
    log_densities(model, windows)                               (N, K): log π_k + log N(x; k)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

CHANNELS = 3
LEAST_NOISE = 1e-3
"""Deviation below which nothing is known of a pixel of 8 bits: a quarter of a grey level."""
PIECES = 300_000
SEEDS = 20_000
"""Windows that the first components are made of."""
CUT: Mapping[str, Any] = {"height": 8, "width": 8, "pieces": PIECES, "scenes": 0.25, "test": 0.0}
"""How models of windows have a folder of pictures cut."""


class PatchError(StudioError):
    """A model of windows that cannot be: sizes that do not fit, numbers that are not finite."""


class PatchMixture:
    """The parameters, and how windows are laid out: rows, columns, channels."""

    kind = "patches"

    def __init__(self, side: int, components: int, rank: int, *, dtype: torch.dtype = torch.float32) -> None:
        self.side, self.components, self.rank = int(side), int(components), int(rank)
        if min(self.side - 1, self.components, self.rank) < 1 or self.rank > self.pixels - CHANNELS:
            raise PatchError(
                f"A mixture of {components} components and {rank} directions on windows of {side} pixels cannot be: "
                f"expected at least one of each, and fewer directions than colours in a window."
            )
        self.log_weights = torch.full((self.components,), -math.log(self.components), dtype=dtype)
        self.factors = torch.zeros(self.components, self.pixels, self.rank, dtype=dtype)
        self.log_noise = torch.full((self.components,), math.log(0.1), dtype=dtype)
        self.calibration = torch.ones((), dtype=dtype)

    @property
    def pixels(self) -> int:
        """Numbers in a window."""
        return self.side * self.side * CHANNELS

    def tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in ("log_weights", "factors", "log_noise", "calibration")}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of an equal model. Raises `PatchError` where they do not fit."""
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape:
                found = "missing" if given is None else tuple(given.shape)
                raise PatchError(f"The tensor {name!r} is {found}: expected shape {tuple(tensor.shape)}.")
            if not bool(torch.isfinite(given).all()):
                raise PatchError(f"The tensor {name!r} holds numbers that are not finite: expected finite ones.")
            with torch.no_grad():
                tensor.copy_(given)

    def hyperparameters(self) -> dict[str, Any]:
        return {"side": self.side, "components": self.components, "rank": self.rank}

    def trained(self) -> PatchMixture:
        """This model with all that is learned marked so."""
        for tensor in (self.log_weights, self.factors, self.log_noise):
            tensor.requires_grad_()
        return self


def windows_of(batch: Any) -> Tensor:
    """Pieces (N, side, side, 3) of 8 bits, or a batch that holds some, as windows (N, pixels) without their means."""
    pieces = batch["images"] if isinstance(batch, Mapping) else batch
    if pieces.ndim != 4 or pieces.shape[-1] != CHANNELS or pieces.shape[1] != pieces.shape[2]:
        raise PatchError(
            f"The data have shape {tuple(pieces.shape)}: expected square pieces in colour, (N, side, side, 3); "
            "images:FOLDER with --pieces cuts some."
        )
    levels = pieces.to(torch.float32) / 255
    return (levels - levels.mean((1, 2), keepdim=True)).flatten(1)


def log_densities(model: PatchMixture, windows: Tensor, noise: float = 0.0) -> Tensor:
    """log π_k + log N(x; 0, F_k F_kᵀ + (s_k² + noise²) I), (N, K), of windows (N, pixels) without their means.

    Columns of F_k are orthogonal, as the learner leaves them: then the inverse is one product with scaled directions,

        xᵀ C⁻¹ x = (|x|² - Σ_i (f_iᵀ x)² / (|f_i|² + s²)) / s²

    and all components are one matrix product.
    """
    noises = (2 * model.log_noise).exp() + noise**2
    strengths = model.factors.square().sum(1)
    scaled = model.factors / (noises[:, None] + strengths).sqrt()[:, None, :]
    seen = windows @ scaled.permute(1, 0, 2).flatten(1)
    explained = seen.unflatten(1, (model.components, model.rank)).square().sum(-1)
    rest = (windows.square().sum(1, keepdim=True) - explained).clamp_min(0) / noises
    free = model.pixels - CHANNELS  # the means of the channels are not there
    volume = (noises[:, None] + strengths).log().sum(1) + (free - model.rank) * noises.log()
    return model.log_weights - 0.5 * (rest + volume + free * math.log(2 * math.pi))


@MODELS.register
class PatchesPlan(ModelPlan):
    """What a person chooses about a new mixture."""

    name = "patches"
    title = "Mixture of colour patches"
    summary = "Repairs photographs of any size: small colour windows as a mixture of Gaussians, learned from a folder."
    default_learner = "online-em"
    data_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"images": CUT}

    components: int = integer(100, "Gaussians: flat parts, edges, textures.", low=1, high=10_000, logarithmic=True)
    rank: int = integer(48, "Directions in which the windows of one Gaussian differ.", low=1, high=1000)

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> PatchMixture:
        return PatchMixture(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> PatchMixture:
        """A new mixture: each component begins with the windows that look most like one drawn at random."""
        generator = torch.Generator().manual_seed(seed)
        chosen = torch.randperm(len(data.train), generator=generator)[:SEEDS]
        batch = data.train[chosen]
        windows = windows_of(batch)
        model = PatchMixture(math.isqrt(windows.shape[1] // CHANNELS), self.components, self.rank)
        first_components(model, windows, generator)
        return model.trained()


@torch.no_grad()
def first_components(model: PatchMixture, windows: Tensor, generator: torch.Generator) -> None:
    """Give each component the windows (N, pixels) nearest in pattern and contrast to one of them."""
    contrast = windows.square().mean(1).sqrt() + LEAST_NOISE
    patterns = windows / (contrast[:, None] * math.sqrt(windows.shape[1]))
    everything = windows.T @ windows / len(windows)
    seeds = torch.randint(len(windows), (model.components,), generator=generator)
    near = min(len(windows), max(200, 2 * len(windows) // model.components))
    for k, seed in enumerate(seeds.tolist()):
        likeness = (patterns @ patterns[seed]).square() - (contrast / contrast[seed]).log().square()
        own = windows[likeness.topk(near).indices]
        put_covariance(
            model, k, 0.9 * own.T @ own / near + 0.1 * everything * contrast[seed] ** 2 / contrast.pow(2).mean()
        )


def put_covariance(model: PatchMixture, k: int, covariance: Tensor) -> None:
    """Component k becomes the best one of its rank for a covariance (pixels, pixels) ([TB99], Eqs. 7 and 8)."""
    factor, noise = best_factor(covariance, model.rank)
    model.factors[k], model.log_noise[k] = factor, noise.log()


def best_factor(covariance: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Directions (pixels, rank), orthogonal, and the deviation of what they leave of a covariance."""
    values, vectors = torch.linalg.eigh(covariance.double())
    values, vectors = values.flip(0), vectors.flip(1)
    left = values[rank:-CHANNELS] if rank < len(values) - CHANNELS else values[-1:]
    noise = left.mean().clamp_min(LEAST_NOISE**2)
    factor = vectors[:, :rank] * (values[:rank] - noise).clamp_min(0).sqrt()
    return factor.to(covariance.dtype), noise.sqrt().to(covariance.dtype)
