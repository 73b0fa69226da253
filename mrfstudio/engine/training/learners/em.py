"""Expectation maximisation with a gradient for the second half ([Liu20], sections 5.4 and 6.2).

    E-step    q(h) = p(h | v; θ_old), as an algorithm computes it
    M-step    a step up E_q[score(v, h; θ)] - log Z(θ)

θ_old is a copy of the parameters that is taken again every `held` steps. Held for one step, the gradient is that of the
log-likelihood itself (Fisher's identity), and EM is gradient ascent; held longer, a bound is climbed that touches the
likelihood where the copy was taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult, TrainingData
from mrfstudio.engine.training.learners.likelihood import Likelihood
from mrfstudio.engine.training.stepper import copies, exchanged

OLD = "old/"


@LEARNERS.register
class ExpectationMaximisation(Likelihood):
    """Parameters of EM."""

    name = "em"
    title = "Expectation maximisation"
    summary = "Asks what the hidden variables are, holds the answer, and makes the data with it more probable."
    needs: ClassVar[tuple[str, ...]] = ("posterior", "expected", "partition")

    held: int = integer(1, "Steps for which the answer about hidden variables is held.", low=1, high=100_000)
    temperature: float = number(
        1.0,
        "Answers about hidden variables begin more even, as at this temperature, and are sharp by half of the run.",
        low=1.0,
        high=10_000.0,
        logarithmic=True,
        advanced=True,
    )

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if self.temperature != 1.0 and not found.tempered:
            return f"A {model.kind} has no temperature in its answers: use em with temperature 1."
        return super().refuses(found, model)

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {**super().start(model, data, seed), **_old(model)}

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        warmth = 1 + (self.temperature - 1) * max(0.0, 1 - 2 * context.progress)
        inference = replace(self.inference(context.epoch), temperature=warmth)
        if self.held == 1 or context.step % self.held == 0:
            state = {**state, **_old(model)}
        tensors = model.tensors()
        before = {name: state[OLD + name] for name in tensors}
        with torch.no_grad(), exchanged(tensors, before):
            posterior = density_of(model, batch).disturbed(context).posterior(inference)
        seen = density_of(model, batch).disturbed(context)
        expected, log_z = seen.expected(posterior), seen.partition(inference)
        (log_z.surrogate.mean() - expected.mean()).backward()
        # The bound: what is expected, plus the entropy of the answer, which does not change while it is held.
        with torch.no_grad(), exchanged(tensors, before):
            entropy = posterior.log_z - density_of(model, batch).disturbed(context).expected(posterior)
        loss = float((log_z.value - expected.detach() - entropy).mean())
        return BatchResult(loss, float(len(seen.visible)), {"converged": posterior.converged}, state)


def _old(model: Any) -> dict[str, Tensor]:
    return {OLD + name: tensor for name, tensor in copies(model.tensors()).items()}
