"""Run an algorithm until it converges, reaches its limit, or leaves the finite range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import UNDECIDED, undecided
from mrfstudio.engine.inference.algorithm import Algorithm, Model, PlanEnd, State
from mrfstudio.engine.protocol.catalogue import Parameters, integer, number

Ending = Literal["converged", "iteration limit", "end of the plan", "not finite"]
"""A plan ends by itself, with whatever it has: its messages may still move."""


HELD_BACK = "Some messages swing to and fro and are held back; labels hardly change any more."

RESTING: tuple[PlanEnd, ...] = ("converged", "settled")


class Limits(Parameters):
    """When a run stops."""

    iterations: int = integer(1000, "Stop after this many iterations at the latest.", low=1, logarithmic=True)
    tolerance: float = number(
        1e-9,
        "Converged means that no message changes by more than this in one iteration, and that beliefs agree.",
        low=0,
        logarithmic=True,
    )


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `state` is the last one with finite numbers; `notices` are sentences about what it is worth."""

    state: State
    ending: Ending
    residuals: tuple[float, ...]
    notices: tuple[str, ...] = ()

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
    ending: Ending = "iteration limit"
    doubt = None
    for _ in range(limits.iterations):
        following = algorithm.step(model, evidence, state)
        residual = algorithm.residual(following)
        residuals.append(residual)
        if math.isnan(residual):
            return Outcome(state, "not finite", tuple(residuals))
        state = following
        if on_step is not None:
            on_step(state)
        if algorithm.remaining(state) == 0:
            ending = "converged" if algorithm.plan_end(state) in RESTING else "end of the plan"
            break
        settled = residual < limits.tolerance or algorithm.single_step
        doubt = algorithm.doubt(model, evidence, state, limits.tolerance) if settled else None
        if settled and doubt is None:
            ending = "converged"
            break
    else:
        doubt = final_doubt(algorithm, model, evidence, state, limits.tolerance)
    return Outcome(state, ending, tuple(residuals), notices(model, evidence, doubt, algorithm.decides(state)))


def final_doubt(
    algorithm: Algorithm, model: Model, evidence: AnyEvidence, state: State, tolerance: float
) -> str | None:
    """What there is to say about a run that ends at its limit, beyond the residual."""
    if algorithm.sampling or algorithm.residual(state) < tolerance:
        return algorithm.doubt(model, evidence, state, tolerance)
    return HELD_BACK if state.steadied else None


def notices(model: Model, evidence: AnyEvidence, doubt: str | None, decided: bool = False) -> tuple[str, ...]:
    """Sentences that belong beside an answer: the algorithm's doubt, and whether there is anything to answer, unless
    the algorithm has `decided` that.
    """
    found = () if doubt is None else (doubt,)
    if decided:
        return found
    if isinstance(model, FactorGraph) and isinstance(evidence, Evidence) and undecided(model, evidence):
        found = (*found, UNDECIDED)
    return found
