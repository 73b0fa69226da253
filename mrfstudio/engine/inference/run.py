"""Run an algorithm until it converges, reaches its limit, or leaves the finite range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mrfstudio.engine.catalogue import Parameters, integer, number
from mrfstudio.engine.evidence import AnyEvidence
from mrfstudio.engine.inference.contract import Algorithm, Model, State

Ending = Literal["converged", "iteration limit", "not finite"]


class Limits(Parameters):
    """When a run stops."""

    iterations: int = integer(1000, "Stop after this many iterations at the latest.", low=1, logarithmic=True)
    tolerance: float = number(
        1e-9, "Converged means that no message changes by more than this in one iteration.", low=0, logarithmic=True
    )


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `state` is the last one with finite numbers."""

    state: State
    ending: Ending
    residuals: tuple[float, ...]

    @property
    def converged(self) -> bool:
        return self.ending == "converged"


def run(
    algorithm: Algorithm,
    model: Model,
    evidence: AnyEvidence,
    limits: Limits | None = None,
    *,
    start: State | None = None,
    on_step: Callable[[State], None] | None = None,
) -> Outcome:
    """Step from `start` (or `init`) until `limits` say stop; `on_step` sees every state."""
    limits = limits or Limits()
    state = algorithm.init(model, evidence) if start is None else start
    residuals: list[float] = []
    for _ in range(limits.iterations):
        following = algorithm.step(model, evidence, state)
        residual = algorithm.residual(following)
        residuals.append(residual)
        if math.isnan(residual):
            return Outcome(state, "not finite", tuple(residuals))
        state = following
        if on_step is not None:
            on_step(state)
        if residual < limits.tolerance or algorithm.single_step:
            return Outcome(state, "converged", tuple(residuals))
    return Outcome(state, "iteration limit", tuple(residuals))
