"""Persistent contrastive divergence: chains that go on from batch to batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult, TrainingData, derive_seed


@LEARNERS.register
class PersistentContrastiveDivergence(DensityLearner):
    """PCD-k: the chains (chains, V) are the learner's state, so that a checkpoint keeps them and a resume goes on.

    Several processes all move all chains, with the same draws: their states stay the same without being exchanged.
    """

    name = "pcd"
    title = "Persistent contrastive divergence"
    summary = "Chains live on from batch to batch, so that they reach places which the data never show."

    needs: ClassVar[tuple[str, ...]] = ("score", "sweep")

    steps: int = integer(1, "Gibbs sweeps of each chain in one step of training.", low=1, high=10_000, logarithmic=True)
    chains: int = integer(100, "Chains that run side by side.", low=1, high=1_000_000, logarithmic=True)

    @classmethod
    def covers(cls, found: type[Density]) -> bool:
        return super().covers(found) and not found.conditional

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if found.conditional:
            return f"The potentials of a {model.kind} change with every item, so no chain can persist: use cd."
        return None

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        """Chains begin at training items: anywhere else they would first have to find the data."""
        state = super().start(model, data, seed)
        generator = torch.Generator().manual_seed(derive_seed(seed, "chains"))
        chosen = torch.randint(len(data.train), (self.chains,), generator=generator)
        return {**state, "chains": density_of(model, data.train[chosen]).visible.clone()}

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen, chains = density_of(model, batch), state["chains"]
        for step in range(self.steps):
            uniform = torch.rand(len(chains), seen.draws, generator=context.generator(f"chains {step}"), device="cpu")
            uniform = uniform.to(chains.device)
            chains = seen.sweep(chains, uniform)
        loss = seen.score(chains).mean() - seen.score(seen.visible).mean()
        loss.backward()
        return BatchResult(float(loss.detach()), float(len(seen.visible)), {}, {"chains": chains})
