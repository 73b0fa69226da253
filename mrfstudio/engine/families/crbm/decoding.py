"""Answers of a conditional RBM: mean field, or sum-, max- or mixed-product messages, for a fixed number of steps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.model import CRBM
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.ratio_messages import answers
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import Limits, run


@dataclass(frozen=True)
class Decoded:
    """P(v = 1) (B, V) and P(h = 1) (B, H); for `max` and `mixed` max-marginals, whose larger side is the answer.

    `change` (B,) is the largest change of a visible one in the last iteration.
    """

    visible: Tensor
    hidden: Tensor
    change: Tensor

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
    tolerance: float = -1.0,
) -> Decoded:
    """What the model says given features (B, X), by its own decoder unless another is named; `extra` is (B, V).

    With a tolerance large machines may stop early (see `ratio_messages`).
    """
    if model.hidden == 0:
        odds = model.biases(features)[1]
        chance = torch.sigmoid(odds if extra is None else odds + extra)
        return Decoded(chance, chance.new_zeros(len(chance), 0), chance.new_zeros(len(chance)))
    algorithm, iterations = decoding(decoder or model.decoder), iterations or int(model.iterations)
    hidden, odds = model.biases(features)
    odds = odds if extra is None else odds + extra
    fast = answers(algorithm, model.couplings, hidden, odds, iterations, tolerance)
    if fast is not None:
        return Decoded(torch.sigmoid(fast.visible), torch.sigmoid(fast.hidden), fast.change)
    machine, evidence = model.machine(features, extra)
    # All iterations, so that an answer does not depend on the items beside it.
    last_two = deque[State](maxlen=2)
    run(algorithm, machine, evidence, Limits(iterations=iterations, tolerance=0.0), on_step=last_two.append)
    before, visible = (algorithm.beliefs(machine, evidence, state)[..., 1] for state in (last_two[0], last_two[-1]))
    hidden = algorithm.hidden_beliefs(machine, evidence, last_two[-1])
    return Decoded(visible, hidden, (visible - before).abs().amax(1))
