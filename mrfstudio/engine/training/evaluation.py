"""How good a model is on data it has not seen: what is asked, and who answers.

A family answers with one function in its folder:

    @evaluation("rbm", "dbm")
    def evaluate_machine(model, splits, asked): ...        # plain values ready for JSON
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.protocol.catalogue import Field
from mrfstudio.engine.registry import Parts

TEMPERATURES = Field("log_z", "integer", 0, "Temperatures of an estimate of log Z by annealing.", low=1)


@dataclass(frozen=True)
class Evaluation:
    """Which items, which queries (None: the model's usual ones), how many iterations; `tick` hears of progress.

    `log_z` is the number of temperatures of an estimate of log Z; 0 makes none.
    """

    split: str
    queries: str | None
    limit: int | None
    seed: int
    iterations: int
    tick: Callable[[str], None]
    log_z: int = 0


@dataclass(frozen=True)
class Evaluator:
    """A family's function, and whether it estimates log Z where that is asked for."""

    evaluate: Callable[[Any, Splits, Evaluation], dict[str, Any]]
    log_z: bool = False


EVALUATORS: Parts[Evaluator] = Parts()
E = TypeVar("E", bound=Callable[[Any, Splits, Evaluation], dict[str, Any]])


def evaluation(*kinds: str, log_z: bool = False) -> Callable[[E], E]:
    """Decorator: how models of these kinds are evaluated; takes (model, `Splits`, `Evaluation`)."""

    def register(function: E) -> E:
        EVALUATORS.register(*kinds)(Evaluator(function, log_z))
        return function

    return register
