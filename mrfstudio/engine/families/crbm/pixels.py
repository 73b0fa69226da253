"""Conditional RBMs on a canvas: what is seen is the damaged picture, all of it; what is asked for is the clean one.

A hole that is painted is background there, as in the pictures that it learned from; a doubtful pixel is seen as much
as it is known. Given what is seen the model is an RBM with biases, so that its algorithms are those of RBMs: the
kernels here hand everything on to that machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.model import CRBM
from mrfstudio.engine.families.pixels import Grey, Pixels, pixels
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.pixels import BinaryPixels
from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.inference.algorithm import Kernel, LogPartition, kernel
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from mrfstudio.engine.runtime.device import to_host


@dataclass(frozen=True, eq=False)
class SeenPicture(AnyEvidence):
    """The machine that a damaged picture makes of a conditional one, and its biases as evidence."""

    machine: RBM
    given: Evidence


@pixels("crbm")
class ConditionalPixels(Pixels):
    """Beliefs hold the probability that a pixel of the clean picture is black or white."""

    algorithms = ("matrix-bp", "mean-field", "bp", "gibbs")
    answers_all = True

    def hidden(self, model: CRBM) -> int:
        return model.hidden

    def drawn(self, model: CRBM, sampler: Any, evidence: SeenPicture, state: Any) -> Tensor:
        return BinaryPixels().drawn(evidence.machine, sampler, evidence.given, state)

    def fields(self, model: CRBM) -> Grey:
        """What turning a hidden unit on adds to the log-odds of each pixel: A."""
        shape = self.shape(model)
        return np.ascontiguousarray(to_host(model.couplings.detach().float().view(-1, *shape)))


def seen_picture(
    model: CRBM,
    grey: Tensor,
    unknown: Tensor | None = None,
    strength: Tensor | float = 1.0,
    hidden: Tensor | None = None,
) -> SeenPicture:
    """Features x = s·(grey > ½), 0 where it is unknown; all (height, width). `hidden` (hidden,) are log-odds."""
    features = (grey > 0.5).to(model.dtype) * torch.as_tensor(strength, dtype=model.dtype)
    if unknown is not None:
        features = torch.where(unknown, 0.0, features)
    machine, batch = model.machine(features.reshape(1, -1))
    machine.image_shape = model.image_shape
    given = batch.log_potentials[0]
    if hidden is not None:
        odds = hidden.to(model.dtype)
        given = given.clone()
        given[model.visible :] += torch.stack([-odds.clamp(min=0), odds.clamp(max=0)], -1)
    return SeenPicture(machine, Evidence(given))


class OnMachine(Kernel):
    """The same algorithm on the machine of the evidence."""

    def entries(self, model: CRBM, evidence: SeenPicture) -> int | None:
        return model.couplings.numel()

    def init(self, algorithm: Any, model: CRBM, evidence: SeenPicture) -> Any:
        return algorithm.init(evidence.machine, evidence.given)

    def step(self, algorithm: Any, model: CRBM, evidence: SeenPicture, state: Any) -> Any:
        return algorithm.step(evidence.machine, evidence.given, state)

    def beliefs(self, algorithm: Any, model: CRBM, evidence: SeenPicture, state: Any) -> Tensor:
        found: Tensor = algorithm.beliefs(evidence.machine, evidence.given, state)
        return found

    def hidden_beliefs(self, algorithm: Any, model: CRBM, evidence: SeenPicture, state: Any) -> Tensor:
        found: Tensor = algorithm.hidden_beliefs(evidence.machine, evidence.given, state)
        return found

    def samples(self, algorithm: Any, model: CRBM, evidence: SeenPicture, state: Any) -> Tensor:
        found: Tensor = algorithm.samples(evidence.machine, evidence.given, state)
        return found

    def log_partition(self, algorithm: Any, model: CRBM, evidence: SeenPicture, state: Any) -> LogPartition:
        found: LogPartition = algorithm.log_partition(evidence.machine, evidence.given, state)
        return found


for _algorithm in (BeliefPropagation, MatrixBP, MeanField, Gibbs):
    kernel(_algorithm, CRBM)(OnMachine)
