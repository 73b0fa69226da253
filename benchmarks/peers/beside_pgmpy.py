"""The studio beside pgmpy: exact marginals of all variables, here by tensor contraction, there by variable elimination.

python benchmarks/peers/beside_pgmpy.py [--install] [--out FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
from rivals import Arrays, Peer, Task, main, rival_main

SIDE, STATES = 5, 3
TRIPLES, VARIABLES = 20, 16


def grid_inputs() -> Arrays:
    """A grid of SIDE × SIDE variables with STATES states: scopes (factors, 2) and log-tables (factors, S, S)."""
    draw = np.random.default_rng(0)
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right, down = np.stack([at[:, :-1], at[:, 1:]], -1), np.stack([at[:-1], at[1:]], -1)
    scopes = np.concatenate([right.reshape(-1, 2), down.reshape(-1, 2)])
    return {"scopes": scopes, "tables": draw.normal(0, 1.0, (len(scopes), STATES, STATES))}


def triple_inputs() -> Arrays:
    """Factors of order 3 on random variables, every variable in at least one."""
    draw = np.random.default_rng(1)
    scopes = [draw.choice(VARIABLES, 3, replace=False) for _ in range(TRIPLES)]
    scopes += [[v, (v + 1) % VARIABLES, (v + 5) % VARIABLES] for v in range(0, VARIABLES, 3)]
    return {"scopes": np.array(scopes), "tables": draw.normal(0, 1.0, (len(scopes), STATES, STATES, STATES))}


def studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    """Marginals (variables, states) and the seconds of the whole call, graph included."""
    import mrfstudio

    count = int(inputs["scopes"].max()) + 1
    began = time.perf_counter()
    factors = [(tuple(scope.tolist()), table) for scope, table in zip(inputs["scopes"], inputs["tables"], strict=True)]
    graph = mrfstudio.FactorGraph.from_factors([STATES] * count, factors)
    answer = mrfstudio.infer(graph, "exact")
    return np.array([np.asarray(marginal) for marginal in answer.marginals]), time.perf_counter() - began


def rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The same by pgmpy's variable elimination, one query a variable."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination

    try:
        from pgmpy.models import DiscreteMarkovNetwork as Network
    except ImportError:
        from pgmpy.models import MarkovNetwork as Network
    count = int(inputs["scopes"].max()) + 1
    began = time.perf_counter()
    network, factors = Network(), []
    network.add_nodes_from([str(v) for v in range(count)])
    for scope, table in zip(inputs["scopes"], inputs["tables"], strict=True):
        names = [str(v) for v in scope]
        network.add_edges_from([(a, b) for k, a in enumerate(names) for b in names[k + 1 :]])
        factors.append(DiscreteFactor(names, list(table.shape), np.exp(table)))
    network.add_factors(*factors)
    elimination = VariableElimination(network)
    found = [elimination.query([str(v)], show_progress=False).values for v in range(count)]
    weights = np.array([np.asarray(values) for values in found])  # of undirected networks they are not normalised
    return weights / weights.sum(1, keepdims=True), time.perf_counter() - began


PEER = Peer(
    "pgmpy",
    ("torch==2.13.0", "pgmpy"),
    __file__,
    (
        Task("grid", f"exact marginals, grid {SIDE}×{SIDE}, {STATES} states", grid_inputs, studio, 1e-6, least=10.0),
        Task("triples", f"exact marginals, {TRIPLES} triples", triple_inputs, studio, 1e-6, least=10.0),
    ),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        rival_main({"grid": rival, "triples": rival})
    else:
        main(PEER)
