"""The engine in a few lines, for notebooks: what a researcher can do in the window without one.

import mrfstudio
graph = mrfstudio.FactorGraph.ising([(0, 1), (1, 2)], [0.5, -1.0], [0.1, 0.0, 0.0])
answer = mrfstudio.infer(graph, "bp", evidence={2: 1}, damping=0.2)
answer.marginals[0], answer.log_partition, answer.converged
mrfstudio.view(graph)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfstudio.engine.files.graph import read_graph, write_graph
from mrfstudio.engine.infer import make_algorithm
from mrfstudio.engine.inference.contract import State
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.ising import ising_grid
from mrfstudio.engine.open_model import open_model

__all__ = ["Answer", "FactorGraph", "infer", "ising_grid", "open_model", "read_graph", "write_graph"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What an algorithm says: a marginal for each variable in order, and how the run ended."""

    marginals: list[np.ndarray]
    log_partition: float | None
    log_partition_kind: str | None
    converged: bool
    iterations: int
    residuals: tuple[float, ...]
    state: State


def infer(
    graph: FactorGraph,
    algorithm: str = "bp",
    evidence: Mapping[int, int] | None = None,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-9,
    **parameters: Any,
) -> Answer:
    """Run a registered algorithm; `parameters` are its own, such as `damping=0.5`."""
    chosen = make_algorithm(algorithm, parameters)
    given = graph.evidence(evidence or {})
    outcome = run(chosen, graph, given, Limits(iterations=iterations, tolerance=tolerance))
    log_partition = chosen.log_partition(graph, given, outcome.state)
    return Answer(
        graph.unpack(chosen.beliefs(graph, given, outcome.state)),
        log_partition.value,
        log_partition.kind,
        outcome.converged,
        outcome.state.iteration,
        outcome.residuals,
        outcome.state,
    )
