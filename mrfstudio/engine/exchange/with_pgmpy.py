"""Factor graphs to pgmpy's Markov networks, and pgmpy's Bayesian, Markov and factor graphs to ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfstudio.engine.exchange.factors import factors_of
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.errors import StudioError


def to_pgmpy(graph: FactorGraph) -> Any:
    """A `DiscreteMarkovNetwork` (`MarkovNetwork` in older versions) with the same factors, as linear values.

    Each table is divided by its largest entry, so the network's Z differs from the graph's.
    """
    try:
        import pgmpy.models
        from pgmpy.factors.discrete import DiscreteFactor
    except ImportError:
        raise StudioError("pgmpy is not installed: pip install pgmpy.") from None

    kind = getattr(pgmpy.models, "DiscreteMarkovNetwork", None) or pgmpy.models.MarkovNetwork
    names = [graph.name_of(v) for v in range(graph.variables)]
    states = [[graph.state_name(v, s) for s in range(int(k))] for v, k in enumerate(graph.cardinalities)]
    network = kind()
    network.add_nodes_from(names)
    listed = factors_of(graph, unary=True)
    named = {v for scope, _ in listed for v in scope}
    listed += [((v,), np.zeros(int(graph.cardinalities[v]))) for v in range(graph.variables) if v not in named]
    for scope, table in listed:
        inside = [names[v] for v in scope]
        network.add_edges_from((a, b) for place, a in enumerate(inside) for b in inside[place + 1 :])
        network.add_factors(
            DiscreteFactor(
                inside,
                list(table.shape),
                np.exp(table - table.max()).ravel(),
                state_names={names[v]: states[v] for v in scope},
            )
        )
    return network


def from_pgmpy(model: Any) -> FactorGraph:
    """The graph of a Bayesian network's tables, or of a Markov network's or factor graph's factors."""
    if hasattr(model, "get_cpds"):
        factors = [cpd.to_factor() for cpd in model.get_cpds()]
    elif hasattr(model, "get_factors"):
        factors = list(model.get_factors())
    else:
        raise StudioError(f"{type(model).__name__} has neither tables nor factors: give a pgmpy network.")
    if not factors:
        raise StudioError("The network has no tables: add them before it is converted.")
    names: list[str] = []
    states: list[list[str]] = []
    number: dict[Any, int] = {}
    listed = []
    for factor in factors:
        for variable, count in zip(factor.variables, factor.cardinality, strict=True):
            if variable not in number:
                number[variable] = len(names)
                names.append(str(variable))
                known = (factor.state_names or {}).get(variable, range(int(count)))
                states.append([str(state) for state in known])
        with np.errstate(divide="ignore"):
            listed.append((tuple(number[v] for v in factor.variables), np.log(np.asarray(factor.values, float))))
    cards = [len(each) for each in states]
    return FactorGraph.from_factors(cards, listed, names=Names.checked(names, states, cards))
