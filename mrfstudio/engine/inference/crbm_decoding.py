"""Answers of a conditional RBM: mean field, or sum-, max- or mixed-product messages, for a fixed number of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.inference.contract import Algorithm
from mrfstudio.engine.inference.matrix_bp import MatrixBP
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.models.crbm import CRBM


@dataclass(frozen=True)
class Answer:
    """P(v = 1) (B, V) and P(h = 1) (B, H); for `max` and `mixed` max-marginals, whose larger side is the answer."""

    visible: Tensor
    hidden: Tensor

    @property
    def states(self) -> Tensor:
        """The predicted picture, 0 and 1."""
        return (self.visible > 0.5).to(self.visible.dtype)

    @property
    def hidden_states(self) -> Tensor:
        return (self.hidden > 0.5).to(self.hidden.dtype)


def decoding(decoder: str) -> Algorithm:
    """The algorithm that a decoder's name means; nothing is damped."""
    return MeanField() if decoder == "mean-field" else MatrixBP(product=decoder)


@torch.no_grad()
def decoded(
    model: CRBM,
    features: Tensor,
    *,
    extra: Tensor | None = None,
    decoder: str | None = None,
    iterations: int | None = None,
) -> Answer:
    """What the model says given features (B, X), by its own decoder unless another is named; `extra` is (B, V)."""
    if model.hidden == 0:
        odds = model.biases(features)[1]
        chance = torch.sigmoid(odds if extra is None else odds + extra)
        return Answer(chance, chance.new_zeros(len(chance), 0))
    algorithm = decoding(decoder or model.decoder)
    machine, evidence = model.machine(features, extra)
    # All iterations, so that an answer does not depend on the items beside it.
    limits = Limits(iterations=iterations or int(model.iterations), tolerance=0.0)
    state: Any = run(algorithm, machine, evidence, limits).state
    visible = algorithm.beliefs(machine, evidence, state)[..., 1]
    return Answer(visible, algorithm.hidden_beliefs(machine, evidence, state))
