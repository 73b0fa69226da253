"""Factor graphs as networkx graphs and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfstudio.engine.exchange.factors import factors_of
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.errors import StudioError


def to_networkx(graph: FactorGraph) -> Any:
    """A bipartite `networkx.Graph`.

    Variables are nodes called by name, or by number, with `kind="variable"`, `states` and `log_potential` (states,);
    factors are nodes `("factor", 0)`, … with `kind="factor"`, `scope` and `log_table`.
    """
    import networkx as nx

    made = nx.Graph(constant=graph.constant)
    keys: list[Any] = list(range(graph.variables)) if graph.names is None else list(graph.names.variables)
    for variable, unary in enumerate(graph.unpack(graph.unary)):
        states = range(int(graph.cardinalities[variable])) if graph.names is None else graph.names.states[variable]
        made.add_node(keys[variable], kind="variable", states=tuple(states), log_potential=unary)
    for number, (scope, table) in enumerate(factors_of(graph)):
        node = ("factor", number)
        made.add_node(node, kind="factor", scope=tuple(keys[v] for v in scope), log_table=table)
        made.add_edges_from((node, keys[v]) for v in scope)
    return made


def from_networkx(given: Any) -> FactorGraph:
    """A graph as `to_networkx` makes it; or any graph as an Ising model, x in {-1, +1}.

    For the latter edges have `coupling`, else `weight`, else 1, and nodes have `field`, else 0.
    """
    if any(kind == "factor" for _, kind in given.nodes(data="kind")):
        return _bipartite(given)
    keys = list(given.nodes)
    number = {key: place for place, key in enumerate(keys)}
    ends = [(number[a], number[b]) for a, b in given.edges()]
    couplings = [data.get("coupling", data.get("weight", 1.0)) for _, _, data in given.edges(data=True)]
    fields = [float(field or 0.0) for _, field in given.nodes(data="field")]
    graph = FactorGraph.ising(np.array(ends, np.int64).reshape(-1, 2), couplings, fields)
    return graph.named(_names(keys, [("-1", "+1")] * len(keys), graph))


def _bipartite(given: Any) -> FactorGraph:
    keys = [key for key, kind in given.nodes(data="kind") if kind != "factor"]
    number = {key: place for place, key in enumerate(keys)}
    states = [tuple(given.nodes[key].get("states", (0, 1))) for key in keys]
    factors: list[tuple[tuple[int, ...], Any]] = []
    for key in keys:
        potential = given.nodes[key].get("log_potential")
        if potential is not None:
            factors.append(((number[key],), potential))
    for node, kind in given.nodes(data="kind"):
        if kind != "factor":
            continue
        data = given.nodes[node]
        if "scope" not in data or "log_table" not in data:
            raise StudioError(f"The factor {node!r} has no scope or no log_table: give both as attributes of its node.")
        unknown = [key for key in data["scope"] if key not in number]
        if unknown:
            raise StudioError(f"The factor {node!r} names {unknown[0]!r}, which is no variable of the graph.")
        factors.append((tuple(number[key] for key in data["scope"]), np.asarray(data["log_table"])))
    factors.append(((), np.array(float(given.graph.get("constant", 0.0)))))
    graph = FactorGraph.from_factors([len(each) for each in states], factors)
    return graph.named(_names(keys, states, graph))


def _names(keys: list[Any], states: list[tuple[Any, ...]], graph: FactorGraph) -> Names | None:
    """Names where a node is called by something else than its number, or a state is."""
    plain = keys == list(range(len(keys))) and all(each == tuple(range(len(each))) for each in states)
    numbered = keys == list(range(len(keys))) and all(each == ("-1", "+1") for each in states)
    if plain or numbered:
        return None
    return Names.checked([str(key) for key in keys], [[str(s) for s in each] for each in states],
                         graph.cardinalities.tolist())  # fmt: skip
