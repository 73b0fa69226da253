"""Factor graphs to and from PGMax."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from mrfstudio.engine.exchange.factors import factors_of, merged
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.errors import StudioError


def to_pgmax(graph: FactorGraph) -> tuple[Any, Any]:
    """A PGMax `FactorGraph` and its variables, an `NDVarArray` in the graph's order.

    Forbidden states are left out of a factor's configurations, and factors of the same variables become one: PGMax
    refuses a second one.
    """
    try:
        from pgmax import factor, fgraph, vgroup
    except ImportError:
        raise StudioError("PGMax is not installed: pip install pgmax.") from None

    variables = vgroup.NDVarArray(num_states=graph.cardinalities.copy(), shape=(graph.variables,))
    made = fgraph.FactorGraph(variable_groups=[variables])
    factors = []
    for scope, table in merged(factors_of(graph, unary=True)):
        allowed = np.argwhere(np.isfinite(table))
        factors.append(
            factor.EnumFactor(
                variables=[variables[v] for v in scope],
                factor_configs=allowed,
                log_potentials=table[tuple(allowed.T)],
            )
        )
    made.add_factors(factors)
    return made, variables


def from_pgmax(given: Any) -> FactorGraph:
    """The graph of a PGMax `FactorGraph`'s factors; those without listed configurations, such as OR, are refused."""
    number: dict[Any, int] = {}
    cards: list[int] = []
    listed = []
    for group in given.variable_groups:
        for variable in group.variables:
            number[variable] = len(cards)
            cards.append(int(variable[1]))
    with redirect_stdout(io.StringIO()):  # it prints that this may take a while
        by_type = given.factors
    for factor in (each for some in by_type.values() for each in some):
        if not hasattr(factor, "factor_configs"):
            raise StudioError(
                f"A {type(factor).__name__} has no list of configurations: only enumerated factors are read."
            )
        scope = tuple(number[variable] for variable in factor.variables)
        table = np.full([cards[v] for v in scope], -np.inf)
        table[tuple(np.asarray(factor.factor_configs).T)] = np.asarray(factor.log_potentials, float)
        listed.append((scope, table))
    return FactorGraph.from_factors(cards, listed)
