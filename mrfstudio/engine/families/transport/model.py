"""A small network from noise to points, z ~ N(0, I) → g(z) ([Liu20], chapter 8); it has samples and no density."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.named_tensors import NamedTensors
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData


class TransportError(StudioError):
    """A generator that cannot be made, or data that do not fit it. The message is one sentence for a person."""


class Generator(NamedTensors):
    """Tensors by name; those that begin with `feature` belong to the cost that EOTGAN learns, where there is one."""

    kind = "transport"
    misfit = TransportError

    def __init__(self, tensors: Mapping[str, Tensor], noise: int) -> None:
        self.noise = noise
        super().__init__(tensors)

    def hyperparameters(self) -> dict[str, Any]:
        return {"noise": self.noise, "shapes": {name: list(t.shape) for name, t in self._tensors.items()}}

    @property
    def dimension(self) -> int:
        return self._tensors["out_bias"].shape[0]

    def works(self) -> bool:
        points = self.generated(torch.zeros(1, self.noise, device=self._tensors["out_bias"].device))
        return points.ndim == self.features(points).ndim == 2

    @property
    def learns_cost(self) -> bool:
        return "feature_in" in self._tensors

    def drawn_noise(self, count: int, generator: torch.Generator) -> Tensor:
        """z (count, noise) where the model is; drawn on the CPU, so that a seed means the same everywhere."""
        drawn = torch.randn(count, self.noise, generator=generator, device="cpu")
        return drawn.to(self._tensors["out_bias"].device)

    def generated(self, noise: Tensor) -> Tensor:
        """g(z) (N, D) of noise (N, noise); gradients flow."""
        return self._network(noise, "in", "mid", "out")

    def features(self, points: Tensor) -> Tensor:
        """What the cost compares: points (N, D), and beside them learned features (N, F) within a ball of radius 1.

        Features alone cost the same everywhere far from the data, and nothing leads back from there.
        """
        if not self.learns_cost:
            return points
        found = self._network(points, "feature_in", "feature_mid", "feature_out")
        # Bounded, so that the cost cannot be raised without end by stretching.
        return torch.cat([points, found / (1 + found.square().sum(-1, keepdim=True)).sqrt()], -1)

    def _network(self, h: Tensor, first: str, second: str, last: str) -> Tensor:
        """Two layers with ReLU and a linear one, by the names of their tensors: h (N, into) → (N, out)."""
        tensors = self._tensors
        h = torch.relu(h @ tensors[first] + tensors[f"{first}_bias"])
        h = torch.relu(h @ tensors[second] + tensors[f"{second}_bias"])
        return h @ tensors[last] + tensors[f"{last}_bias"]


@MODELS.register
class TransportPlan(ModelPlan):
    """What a person chooses about a generator."""

    name = "transport"
    title = "Generator by transport"
    summary = "A network that makes points of noise, and learns to make such that are cheap to carry to the data."
    default_data = "points"
    default_learner = "sinkhorn"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    demonstration = TrainingPlan("transport", "sinkhorn", "points", options={"shape": "clouds"})

    noise: int = integer(2, "Numbers of noise that a point is made of.", low=1, high=256)
    width: int = integer(128, "Width of the network.", low=1, high=2048)
    features: int = integer(
        0, "Dimensions that a learned cost adds (EOTGAN); 0 compares the points alone.", low=0, high=1024, advanced=True
    )

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> Generator:
        """An empty model like the one a file describes."""
        tensors = {name: torch.zeros(shape) for name, shape in hyperparameters["shapes"].items()}
        return Generator(tensors, hyperparameters["noise"])

    def build_for(self, data: TrainingData, seed: int) -> Generator:
        """A new generator for points `x` (N, D)."""
        generator = torch.Generator().manual_seed(seed)
        x = points_in(data.train[torch.arange(min(4000, len(data.train)))])
        tensors = _layers("", self.noise, self.width, x.shape[1], generator)
        tensors["out_bias"] = x.mean(0)
        if self.features:
            tensors |= _layers("feature_", x.shape[1], self.width, self.features, generator)
        return Generator(tensors, self.noise)


def _layers(name: str, into: int, width: int, out: int, generator: torch.Generator) -> dict[str, Tensor]:
    sizes = {"in": (into, width), "mid": (width, width), "out": (width, out)}
    tensors = {}
    for layer, (rows, columns) in sizes.items():
        tensors[f"{name}{layer}"] = torch.randn(rows, columns, generator=generator) * math.sqrt(2 / rows)
        tensors[f"{name}{layer}_bias"] = torch.zeros(columns)
    return tensors


def points_in(batch: Any) -> Tensor:
    """Points (N, D) of a batch, float32."""
    x = batch.get("x") if isinstance(batch, Mapping) else None
    if x is None or x.ndim != 2 or not x.is_floating_point():
        raise TransportError("These data hold no points x (N, D) of real numbers: try points.")
    return x.float()
