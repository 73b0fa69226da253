"""What `auto` says of a small graph, without torch: importing that takes longer than the answer.

The same order, tree and sums as `auto` itself, and the same words; whatever is not simply a small graph in a file is
left to `infer.py`, complaints about it too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.graphs.fg import fg_arrays
from mrfstudio.engine.files.graphs.sidecar import ENDING
from mrfstudio.engine.files.graphs.uai import read_evidence, uai_arrays
from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.inference.join.budget import BY_TREE, Begun, Budget, clock_of, looks_long, why_tree
from mrfstudio.engine.inference.join.orders import best_order
from mrfstudio.engine.inference.join.probing import probed
from mrfstudio.engine.inference.join.reduction import Impossible, reduced_tables
from mrfstudio.engine.protocol.errors import StudioError

READERS = {".uai": uai_arrays, ".fg": fg_arrays}
LARGEST = 8 << 20
"""Bytes of a file that is read twice where it turns out not to be small."""


@dataclass(frozen=True)
class Quick:
    """An answer ready for JSON, or what was found out on the way to none."""

    result: dict[str, Any] | None = None
    begun: Begun | None = None
    spent: float = 0.0
    """Seconds that it took, by the clock of the parameters."""


def quickly(path: Path, evidence_path: Path | None, given: dict[str, Any]) -> Quick:
    """Marginals and log Z of a graph that `auto` answers by a join tree at once; `given` are parameters of `auto`."""
    clock = clock_of(given)
    began = clock()
    reader = READERS.get(path.suffix.lower())
    if reader is None or not path.is_file() or path.stat().st_size > LARGEST or Path(f"{path}{ENDING}").exists():
        return Quick()
    try:
        budget = Budget(**given)
        graph = reader(path)
        observed = read_evidence(evidence_path, graph) if evidence_path else {}
        spent = clock() - began
        if looks_long(len(graph.cardinalities), graph.factors, budget.seconds):
            return Quick(spent=spent)
        begun = looked_at(graph, observed, budget)
        result = _answer(graph, begun, Budget(**{"clock": "wall", "spent": spent, **given}))
    except (StudioError, Impossible):  # said by whoever comes next
        return Quick()
    return Quick(result, begun, clock() - began)


def looked_at(graph: GraphArrays, observed: dict[int, int], budget: Budget) -> Begun:
    """The graph made smaller, and how to eliminate it."""
    local = graph.local(observed)
    problem = probed(reduced_tables(graph.cardinalities, local, graph.tables, graph.constant))
    return Begun(problem, best_order(problem, budget.seed, budget.effort))


def _answer(graph: GraphArrays, begun: Begun, budget: Budget) -> dict[str, Any] | None:
    """What `auto` writes after its only stage; None where it would have another."""
    started = time.perf_counter()
    layout = begun.quick_tree(budget)
    if layout is None:
        return None
    messages = layout.silent()
    layout.sweep(messages, 0.0)
    return {
        "algorithm": budget.name,
        "parameters": budget.values(),
        "converged": True,
        "ending": "converged",
        "notices": [],
        "iterations": 2,
        "residual": 0.0,
        "log_partition": layout.log_z(messages),
        "log_partition_kind": "exact",
        "variables": list(graph.labels),
        "marginals": [vector.tolist() for vector in begun.problem.expanded(layout.marginals(messages))],
        "picked": f"exact by {BY_TREE}: {why_tree(begun.order)}",
        "estimated_error": 0.0,
        "stages": 1,
        "seconds": time.perf_counter() - started,
    }
