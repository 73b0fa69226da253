"""The factors of a graph one by one, as other libraries take them."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.runtime.device import to_host

Factors = list[tuple[tuple[int, ...], np.ndarray]]


def factors_of(graph: FactorGraph, *, unary: bool = False) -> Factors:
    """Scopes and log-tables of all factors of two and more variables in the order that the graph was built from; with
    `unary` first those of single variables that say something.
    """
    found = []
    for group in graph.groups:
        tables = np.moveaxis(to_host(group.tables.detach().cpu().double()), -1, 0)
        triples = zip(group.positions.tolist(), group.scopes.T.tolist(), tables, strict=True)
        found += [(position, tuple(scope), table) for position, scope, table in triples]
    listed: Factors = [(scope, table) for _, scope, table in sorted(found, key=lambda each: each[0])]
    if not unary:
        return listed
    singles: Factors = [((v,), vector) for v, vector in enumerate(graph.unpack(graph.unary)) if vector.any()]
    return singles + listed


def merged(factors: Factors) -> Factors:
    """Sum the log-tables of factors of the same variables, axes in the order of the first of them."""
    found: dict[frozenset[int], tuple[tuple[int, ...], np.ndarray]] = {}
    for scope, table in factors:
        first, before = found.get(frozenset(scope), (scope, np.zeros(())))
        found[frozenset(scope)] = first, before + table.transpose([scope.index(v) for v in first])
    return list(found.values())
