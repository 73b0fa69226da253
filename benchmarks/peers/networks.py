"""Networks for PGMax and libDAI: random factors of order 3, and files of a competition where a folder is named.

`MRFSTUDIO_NETWORKS` names a folder of UAI files; those of `FILES` that lie there become tasks. A peer gets the same
factors as the studio, and no evidence.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rivals import Arrays

VARIABLES, TRIPLES, STATES = 2000, 4000, 5
FILES = ("Grids_17", "DBN_11", "Segmentation_11", "Alchemy_11", "relational_2", "relational_5")
"""Networks of the UAI competition of 2014 without forbidden states, from 800 to 200,000 entries of messages."""


def triple_inputs() -> Arrays:
    """Random factors of three variables of `STATES` states each, and local potentials."""
    draw = np.random.default_rng(5)
    scopes = np.array([draw.choice(VARIABLES, 3, replace=False) for _ in range(TRIPLES)])
    return {
        "cards": np.full(VARIABLES, STATES),
        "orders": np.full(TRIPLES, 3),
        "scopes": scopes.ravel(),
        "tables": draw.normal(0, 0.7, TRIPLES * STATES**3),
        "local": draw.normal(0, 0.5, (VARIABLES, STATES)),
    }


def competition() -> list[tuple[str, Callable[[], Arrays]]]:
    """Name and inputs of every file of `FILES` that lies in the folder that is named."""
    folder = Path(os.environ.get("MRFSTUDIO_NETWORKS", "."))
    return [(name, lambda path=folder / f"{name}.uai": file_inputs(path)) for name in FILES if _there(folder, name)]


def _there(folder: Path, name: str) -> bool:
    return (folder / f"{name}.uai").exists()


def file_inputs(path: Path) -> Arrays:
    """The factors of a UAI file; those of the same variables are one, because PGMax takes no second."""
    import mrfstudio
    from mrfstudio.engine.exchange.factors import factors_of, merged

    graph = mrfstudio.read_graph(path)
    local = np.zeros((graph.variables, int(graph.cardinalities.max())))
    pairs = []
    for scope, table in merged(factors_of(graph, unary=True)):
        if len(scope) == 1:
            local[scope[0], : len(table)] = table
        else:
            pairs.append((scope, table))
    return {
        "cards": graph.cardinalities,
        "orders": np.array([len(scope) for scope, _ in pairs]),
        "scopes": np.concatenate([scope for scope, _ in pairs]),
        "tables": np.concatenate([table.ravel() for _, table in pairs]),
        "local": local,
    }


def factors(inputs: Arrays) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Scopes and log-tables (k_1, …, k_r), one after the other."""
    found, at, start = [], 0, 0
    for order in inputs["orders"].tolist():
        scope = tuple(inputs["scopes"][at : at + order].tolist())
        shape = tuple(inputs["cards"][list(scope)].tolist())
        size = int(np.prod(shape))
        found.append((scope, inputs["tables"][start : start + size].reshape(shape)))
        at, start = at + order, start + size
    return found


def absorbed(inputs: Arrays) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """`factors` with each local potential in the table of one of its variable's factors; alone where there is none."""
    found, left = [], {v: inputs["local"][v, :states] for v, states in enumerate(inputs["cards"].tolist())}
    for scope, table in factors(inputs):
        for axis, v in enumerate(scope):
            shape = [1] * table.ndim
            shape[axis] = -1
            table = table + left.pop(v, np.zeros(table.shape[axis])).reshape(shape)
        found.append((scope, table))
    return [*found, *(((v,), local) for v, local in left.items())]


def by_shape(inputs: Arrays) -> dict[tuple[int, ...], list[tuple[tuple[int, ...], np.ndarray]]]:
    """`factors`, those of one shape (k_1, …, k_r) together."""
    found: dict[tuple[int, ...], list[tuple[tuple[int, ...], np.ndarray]]] = {}
    for scope, table in factors(inputs):
        found.setdefault(table.shape, []).append((scope, table))
    return found


def graph_of(inputs: Arrays) -> Any:
    """The studio's graph of these factors, 32 bits."""
    import torch

    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    cards = inputs["cards"].tolist()
    unary = [((v,), inputs["local"][v, :states]) for v, states in enumerate(cards)]
    return FactorGraph.from_factors(cards, [*factors(inputs), *unary], dtype=torch.float32)


def padded(marginals: list[np.ndarray], inputs: Arrays) -> np.ndarray:
    """Marginals (variables, most states), 0 where a variable has fewer."""
    found = np.zeros(inputs["local"].shape)
    for v, marginal in enumerate(marginals):
        found[v, : len(marginal)] = marginal
    return found
