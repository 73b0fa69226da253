"""What `auto` says of a small graph, without torch: importing that takes longer than the answer.

The same order, tree and sums as `auto` itself, and the same words; whatever is not simply a small graph in a file or in
words is left to `infer.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.graphs.bif import bif_network
from mrfstudio.engine.files.graphs.fg import fg_arrays
from mrfstudio.engine.files.graphs.graph import ending_of
from mrfstudio.engine.files.graphs.sidecar import names_beside
from mrfstudio.engine.files.graphs.text import is_compressed
from mrfstudio.engine.files.graphs.uai import read_evidence, uai_arrays
from mrfstudio.engine.files.graphs.xml_networks import xdsl_network, xmlbif_network
from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.observed import observed_vectors
from mrfstudio.engine.graphs.sketch import Sketch
from mrfstudio.engine.graphs.words import arrays_of
from mrfstudio.engine.inference.join.budget import (
    ANSWERED,
    BY_TREE,
    Begun,
    Budget,
    OutOfTime,
    clock_of,
    looks_long,
    why_tree,
)
from mrfstudio.engine.inference.join.orders import best_order
from mrfstudio.engine.inference.join.probing import probed
from mrfstudio.engine.inference.join.reduction import Impossible, reduced_tables
from mrfstudio.engine.inference.join.solved import SolvedTree
from mrfstudio.engine.runtime.interruption import ending

READERS: dict[str, Callable[[Path], GraphArrays]] = {
    ".uai": uai_arrays,
    ".fg": fg_arrays,
    ".bif": lambda path: bif_network(path).arrays(),
    ".xmlbif": lambda path: xmlbif_network(path).arrays(),
    ".xml": lambda path: xmlbif_network(path).arrays(),
    ".xdsl": lambda path: xdsl_network(path).arrays(),
}
LARGEST = 8 << 20
"""Bytes of a file that is read twice where it turns out not to be small."""


@dataclass(frozen=True)
class Quick:
    """An answer ready for JSON, or what was found out on the way to none."""

    result: dict[str, Any] | None = None
    begun: Begun | None = None
    spent: float = 0.0
    """Seconds that it took, by the clock of the parameters."""


def quickly(graph: Path | Sketch, evidence_path: Path | None, given: dict[str, Any], observed: str = "") -> Quick:
    """Marginals and log Z of a graph that `auto` answers by a join tree at once; `given` are parameters of `auto`.

    A sketch is one in words. Raises `StudioError` where file, evidence or parameters are wrong.
    """
    clock = clock_of(given)
    began = clock()
    budget = Budget(**given)
    arrays = arrays_of(graph) if isinstance(graph, Sketch) else _read(graph)
    if arrays is None:
        return Quick()
    states = read_evidence(evidence_path, arrays) if evidence_path else {}
    spent = clock() - began
    if looks_long(len(arrays.cardinalities), arrays.factors, budget.seconds):
        return Quick(spent=spent)
    timed = Budget(**{"clock": "wall", "spent": spent, **given})
    over = began + ANSWERED * timed.seconds
    try:
        with ending(lambda: timed.clocked and clock() > over, OutOfTime):
            begun = looked_at(arrays, states, observed, timed)
            result = _answer(arrays, begun, timed)
    except OutOfTime:
        return Quick(spent=clock() - began)
    except Impossible as problem:
        raise ContradictoryEvidence(arrays.labels[problem.variable]) from None
    return Quick(result, begun, clock() - began)


def _read(path: Path) -> GraphArrays | None:
    """A graph from a file; None where the file is large or packed."""
    kind = ending_of(path)
    if is_compressed(path) or (path.exists() and (not path.is_file() or path.stat().st_size > LARGEST)):
        return None
    graph = READERS[kind](path)
    if graph.names is None:
        graph = replace(graph, names=names_beside(path, graph.cardinalities.tolist()))
    return graph


def looked_at(graph: GraphArrays, states: dict[int, int], observed: str, budget: Budget) -> Begun:
    """The graph made smaller, and how to eliminate it."""
    local = graph.local(states)
    if observed:
        said = observed_vectors(observed, graph.cardinalities, graph.labels, graph.names)
        local = [one + other for one, other in zip(local, said, strict=True)]
    problem = probed(reduced_tables(graph.cardinalities, local, graph.tables, graph.constant))
    return Begun(problem, best_order(problem, budget.seed, budget.effort, budget.searched()))


def _answer(graph: GraphArrays, begun: Begun, budget: Budget) -> dict[str, Any] | None:
    """What `auto` writes after its only stage; None where it would have another."""
    started = time.perf_counter()
    tree = begun.quick_tree(budget)
    if tree is None:
        return None
    found = SolvedTree(tree)
    return {
        "algorithm": budget.name,
        "parameters": budget.values(),
        "converged": True,
        "ending": "converged",
        "notices": [],
        "iterations": 2,
        "residual": 0.0,
        "log_partition": found.log_z,
        "log_partition_kind": "exact",
        "variables": list(graph.labels),
        **({} if graph.names is None else {"names": graph.names.described()}),
        "marginals": [vector.tolist() for vector in begun.problem.expanded(found.marginals)],
        "picked": f"exact by {BY_TREE}: {why_tree(begun.order)}",
        "estimated_error": 0.0,
        "stages": 1,
        "seconds": time.perf_counter() - started,
    }
