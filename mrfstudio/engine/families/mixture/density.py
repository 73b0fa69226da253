"""Densities of points: responsibilities, and what they expect ([Liu20], section 6.2)."""

from __future__ import annotations

from copy import copy
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.mixture.model import FlowMixture, points_of
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.training.density import Density, Inference, PartitionEstimate, Posterior, chunks, density
from mrfstudio.engine.training.learner import BatchSource


@density("flow-mixture")
class MixtureDensity(Density):
    """Points (B, D). The component is the one hidden variable, and a sum over it is exact."""

    tempered = True

    def __init__(self, model: FlowMixture, batch: Any) -> None:
        self.model, self.visible = model, points_of(batch)

    def part(self, rows: slice) -> MixtureDensity:
        part = copy(self)
        part.visible = self.visible[rows]
        return part

    @classmethod
    def hides(cls, model: FlowMixture) -> bool:
        return True

    def partition(self, inference: Inference) -> PartitionEstimate:
        """The density is normalised; the prior of LatMM is taken off here, so that it is learned with the rest."""
        prior = -self.model.prior() / max(len(self.visible), 1)
        return PartitionEstimate(torch.zeros((), device=self.visible.device), prior, 1.0)

    def clamped(self, inference: Inference) -> PartitionEstimate:
        found = self.model.log_density(self.visible)
        return PartitionEstimate(found.detach(), found, 1.0)

    def posterior(self, inference: Inference) -> Posterior:
        """γ (B, K); `log_z` is log p(x) at temperature 1, else what such answers bound it by."""
        with torch.no_grad():
            joint = self.model.log_joint(self.visible)
            chances = torch.softmax(joint / inference.temperature, 1)
            return Posterior((chances,), (chances * joint + torch.special.entr(chances)).sum(1))

    def expected(self, posterior: Posterior) -> Tensor:
        return (posterior.marginals[0] * self.model.log_joint(self.visible)).sum(1)

    @classmethod
    def refusal(cls, model: FlowMixture, algorithm: Algorithm) -> str | None:
        return None

    @classmethod
    @torch.no_grad()
    def measure(cls, model: FlowMixture, source: BatchSource) -> dict[str, float]:
        """`nll`, nats a point."""
        total = sum(float(model.log_density(cls(model, source[part]).visible).sum()) for part in chunks(source))
        return {"nll": -total / len(source)}
