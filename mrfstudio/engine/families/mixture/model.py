"""Mixtures of flows ([Liu20], chapter 6).

    GenMM   p(x) = Σ_k π_k p_k(x), a flow for each component
    LatMM   p(x) = |det ∂f/∂x| Σ_k π_k N(f(x); μ_k, diag σ_k²), one flow for all

    γ_k(x) = softmax_k((log π_k + log p_k(x)) / temperature)

Temperature 1 gives posteriors; [Liu20] divides log p by the dimension, which is a temperature of that size and no
posterior any more. With one component μ and σ of LatMM are the flow's own affine layer once more, and stay 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.mixture.flow import (
    LOG_TWO_PI,
    from_normal,
    log_densities,
    start_flows,
    to_normal,
)
from mrfstudio.engine.families.named_tensors import NamedTensors
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

POINTS_TO_START = 4000
LARGEST_DIMENSION = 4096


class MixtureError(StudioError):
    """A mixture that cannot be made, or points that do not fit it. The message is one sentence for a person."""


class FlowMixture(NamedTensors):
    """Tensors by name: those of the flows, `weights` (K,) for π, and with one shared flow `means`, `log_deviations`."""

    kind = "flow-mixture"
    misfit = MixtureError

    def __init__(self, tensors: Mapping[str, Tensor], *, components: int, shared: bool) -> None:
        self.components, self.shared = components, shared
        super().__init__(tensors)
        if shared and components == 1:
            for name in ("means", "log_deviations"):
                self._tensors[name].requires_grad_(False)

    def hyperparameters(self) -> dict[str, Any]:
        shapes = {name: list(tensor.shape) for name, tensor in self._tensors.items()}
        return {"components": self.components, "shared": self.shared, "shapes": shapes}

    @property
    def dimension(self) -> int:
        return self._tensors["shift"].shape[1]

    def works(self) -> bool:
        points = torch.zeros(1, self.dimension, device=self._tensors["shift"].device)
        return self.log_joint(points).shape == (1, self.components)

    def log_joint(self, points: Tensor) -> Tensor:
        """log π_k + log p_k(x), (N, K), of points (N, D); gradients flow to the parameters."""
        weights = torch.log_softmax(self._tensors["weights"], 0)
        if not self.shared:
            return weights + log_densities(self._tensors, points).T
        normal, log_det = to_normal(self._tensors, points)
        scale = self._tensors["log_deviations"]
        z = (normal[0][:, None] - self._tensors["means"]) * torch.exp(-scale)
        each = -0.5 * (z.square().sum(-1) + self.dimension * LOG_TWO_PI) - scale.sum(-1)
        return weights + each + log_det[0][:, None]

    def log_density(self, points: Tensor) -> Tensor:
        """log p(x) (N,)."""
        return torch.logsumexp(self.log_joint(points), 1)

    def prior(self) -> Tensor:
        """What LatMM adds to log p: (1/K) Σ_k log Gamma(1/σ_k; 2, 1), highest at σ = 1; 0 for GenMM."""
        if not self.shared or self.components == 1:
            return self._tensors["weights"].new_zeros(())
        log_deviations = self._tensors["log_deviations"]
        return (-log_deviations - torch.exp(-log_deviations)).sum() / self.components

    @torch.no_grad()
    def drawn(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Points (N, D) and the component (N,) of each."""
        chances = torch.softmax(self._tensors["weights"], 0)
        which = torch.multinomial(chances, count, replacement=True, generator=generator)
        normal = torch.randn(count, self.dimension, generator=generator)
        if self.shared:
            moved = self._tensors["means"][which] + torch.exp(self._tensors["log_deviations"][which]) * normal
            return from_normal(self._tensors, moved[None])[0], which
        # Every flow maps all of them: in the plane that is quicker than sorting by component.
        each = from_normal(self._tensors, normal.expand(self.components, -1, -1))
        return each[which, torch.arange(count)], which


@MODELS.register
class FlowMixturePlan(ModelPlan):
    """What a person chooses about a mixture of flows."""

    name = "flow-mixture"
    title = "Mixture of flows"
    summary = "A density of points: a few bent Gaussians, each an invertible network (GenMM), or one for all (LatMM)."
    default_data = "points"
    default_learner = "em"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: {"learning_rate": 0.005, "batch_size": 256, "epochs": 150.0, "clip_norm": 5.0}
        for name in ("em", "likelihood")
    }
    demonstration = TrainingPlan("flow-mixture", "em", "points", options={"components": 5})

    components: int = integer(5, "Components of the mixture.", low=1, high=64)
    sharing: str = choice(
        "none", ("none", "generator"), "A flow for each component (GenMM), or one flow over a Gaussian mixture (LatMM)."
    )
    layers: int = integer(4, "Coupling layers of a flow; 0 leaves plain Gaussians.", low=0, high=32)
    width: int = integer(32, "Width of the networks in a flow.", low=1, high=512, advanced=True)

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> FlowMixture:
        """An empty model like the one a file describes."""
        tensors = {name: torch.zeros(shape) for name, shape in hyperparameters["shapes"].items()}
        return FlowMixture(tensors, components=hyperparameters["components"], shared=hyperparameters["shared"])

    def build_for(self, data: TrainingData, seed: int) -> FlowMixture:
        """A new mixture for points `x` (N, D); components begin at points that lie far apart."""
        generator = torch.Generator().manual_seed(seed)
        x = points_of(data.train[torch.arange(min(POINTS_TO_START, len(data.train)))])
        shared = self.sharing == "generator"
        tensors = start_flows(1 if shared else self.components, x.shape[1], self.layers, self.width, generator)
        centres, deviation = apart(x, self.components, generator), x.std(0).clamp_min(1e-3)
        if shared:
            tensors["shift"], tensors["log_scale"] = x.mean(0)[None], deviation.log()[None]
            tensors["means"] = (centres - x.mean(0)) / deviation if self.components > 1 else torch.zeros(1, x.shape[1])
            spread = -0.7 if self.components > 1 else 0.0  # half as wide as all points together
            tensors["log_deviations"] = torch.full((self.components, x.shape[1]), spread)
        else:
            tensors["shift"] = centres
            spread = self.components ** (-1 / x.shape[1])
            tensors["log_scale"] = (spread * deviation).log().expand(self.components, -1).clone()
        tensors["weights"] = torch.zeros(self.components)
        return FlowMixture(tensors, components=self.components, shared=shared)


def points_of(batch: Any) -> Tensor:
    """Points (N, D) of a batch, float32."""
    x = batch.get("x") if isinstance(batch, Mapping) else None
    if x is None or x.ndim != 2 or not x.is_floating_point() or x.shape[1] > LARGEST_DIMENSION:
        raise MixtureError("These data hold no points x (N, D) of real numbers: try points.")
    return x.float()


def apart(points: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Centres (count, D) far from each other (k-means++), moved to the means of what is nearest a few times."""
    chosen = points[torch.randint(len(points), (1,), generator=generator)]
    while len(chosen) < count:
        distance = torch.cdist(points, chosen).amin(1).square()
        chosen = torch.cat([chosen, points[torch.multinomial(distance + 1e-12, 1, generator=generator)]])
    for _ in range(10):
        near = torch.cdist(points, chosen).argmin(1)
        own = torch.nn.functional.one_hot(near, count).to(points)
        total = own.sum(0)[:, None]
        chosen = torch.where(total > 0, own.T @ points / total.clamp_min(1), chosen)
    return chosen
