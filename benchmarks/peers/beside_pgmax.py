"""The studio beside PGMax (JAX): one iteration of belief propagation on grids, an RBM and networks of any factors.

    python benchmarks/peers/beside_pgmax.py [--install] [--out FOLDER]      see networks.py for files of a competition

Both send all messages at once from uniform ones, without damping, in 32 bits; beliefs after the same few iterations
must agree. PGMax is compiled before it is timed; its time is that of an iteration within a run of several, which is
how it is meant to be used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
import networks
from rivals import Arrays, Peer, Task, best_seconds, main, rival_main, stage

SIDE, VISIBLE, HIDDEN = 100, 1000, 500
CLONES, IMAGE = 64, 30
ITERATIONS = 5
"""Iterations after which beliefs are compared."""
TIMED = 20
"""Iterations of one compiled run of PGMax that is timed."""


# Inputs ---------------------------------------------------------------------------------------------------------------


def ising_inputs() -> Arrays:
    """Couplings of the lines to the right (SIDE, SIDE-1) and down (SIDE-1, SIDE), and fields (SIDE, SIDE)."""
    draw = np.random.default_rng(0)
    return {
        "right": draw.normal(0, 0.5, (SIDE, SIDE - 1)),
        "down": draw.normal(0, 0.5, (SIDE - 1, SIDE)),
        "field": draw.normal(0, 0.2, (SIDE, SIDE)),
    }


def rbm_inputs() -> Arrays:
    draw = np.random.default_rng(1)
    return {
        "weights": draw.normal(0, 0.1, (HIDDEN, VISIBLE)),
        "hidden": draw.normal(0, 0.2, HIDDEN),
        "visible": draw.normal(0, 0.2, VISIBLE),
    }


def grid_inputs() -> Arrays:
    """Potentials (4, S, S) of right, down, down-right, down-left, and log-evidence (H, W, S)."""
    draw = np.random.default_rng(2)
    states = CLONES + 2
    return {
        "potentials": draw.normal(0, 0.5, (4, states, states)),
        "evidence": np.repeat(draw.normal(0, 1.0, (IMAGE, IMAGE, 3)), (CLONES, 1, 1), axis=2),
    }


# The studio -----------------------------------------------------------------------------------------------------------


def _stepped(model: Any, evidence: Any, **options: Any) -> tuple[Any, float]:
    """Beliefs after `ITERATIONS` iterations, and the seconds of one more, residual included."""
    from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

    bp = BeliefPropagation(**options)
    state = bp.init(model, evidence)
    for _ in range(ITERATIONS):
        state = bp.step(model, evidence, state)
    beliefs = bp.beliefs(model, evidence, state)
    return beliefs, best_seconds(lambda: bp.step(model, evidence, state), repeats=200, most=3.0)


def _ising(inputs: Arrays, kernel: str) -> tuple[np.ndarray, float]:
    import torch

    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = [
        *zip(at[:, :-1].ravel().tolist(), at[:, 1:].ravel().tolist(), strict=True),
        *zip(at[:-1].ravel().tolist(), at[1:].ravel().tolist(), strict=True),
    ]
    couplings = np.concatenate([inputs["right"].ravel(), inputs["down"].ravel()]).tolist()
    graph = FactorGraph.ising(pairs, couplings, inputs["field"].ravel().tolist(), dtype=torch.float32)
    beliefs, seconds = _stepped(graph, graph.no_evidence(), kernel=kernel)
    return np.array([marginal[1] for marginal in graph.packing.unpack_numpy(beliefs.numpy())]), seconds


def ising_studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    return _ising(inputs, "auto")


def generic_studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    return _ising(inputs, "generic")


def rbm_studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    import torch

    from mrfstudio.engine.families.rbm.model import RBM

    model = RBM(VISIBLE, HIDDEN)
    with torch.no_grad():
        model.weights.copy_(torch.from_numpy(inputs["weights"]))
        model.hidden_bias.copy_(torch.from_numpy(inputs["hidden"]))
        model.outer_bias.copy_(torch.from_numpy(inputs["visible"]))
    beliefs, seconds = _stepped(model, model.no_evidence())
    return np.asarray(beliefs)[..., 1].reshape(-1)[:VISIBLE], seconds


def grid_studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    import torch

    from mrfstudio.engine.families.grid.model import GridMRF
    from mrfstudio.engine.graphs.evidence import Evidence

    model = GridMRF((CLONES, 1, 1), weights=torch.from_numpy(inputs["potentials"]).float())
    labels = torch.from_numpy(inputs["evidence"][..., [0, CLONES, CLONES + 1]]).float()
    torch.set_flush_denormal(True)
    beliefs, seconds = _stepped(model, Evidence(labels))
    return np.asarray(beliefs), seconds


def network_studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    graph = networks.graph_of(inputs)
    beliefs, seconds = _stepped(graph, graph.no_evidence())
    return networks.padded(graph.packing.unpack_numpy(beliefs.numpy()), inputs), seconds


# PGMax ----------------------------------------------------------------------------------------------------------------


def _pgmax(graph: Any, evidence: dict[Any, Any]) -> tuple[dict[Any, Any], float]:
    """Marginals after `ITERATIONS` iterations, and the seconds of one, compiled."""
    import jax
    from pgmax import infer

    stage("building its arrays")
    bp = infer.build_inferer(graph.bp_state, backend="bp")
    stage("compiling")
    arrays = bp.init(evidence_updates=evidence)
    run = jax.jit(lambda given: bp.run(given, num_iters=ITERATIONS, damping=0.0, temperature=1.0))
    timed = jax.jit(lambda given: bp.run(given, num_iters=TIMED, damping=0.0, temperature=1.0))
    found = infer.get_marginals(bp.get_beliefs(run(arrays)))
    stage("being timed")
    seconds = best_seconds(lambda: jax.block_until_ready(timed(arrays).ftov_msgs), repeats=9, warm=1)
    return found, seconds / TIMED


def _prepare() -> None:
    """PGMax 0.6.1 asks for the backend where current JAX has none."""
    import types

    import jax

    if not hasattr(jax.lib, "xla_bridge"):
        jax.lib.xla_bridge = types.SimpleNamespace(get_backend=lambda: types.SimpleNamespace(platform="cpu"))


def ising_rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    _prepare()
    from pgmax import fgraph, fgroup, vgroup

    at = vgroup.NDVarArray(num_states=2, shape=(SIDE, SIDE))
    pairs = [[at[i, j], at[i, j + 1]] for i in range(SIDE) for j in range(SIDE - 1)]
    pairs += [[at[i, j], at[i + 1, j]] for i in range(SIDE - 1) for j in range(SIDE)]
    couplings = np.concatenate([inputs["right"].ravel(), inputs["down"].ravel()])
    tables = couplings[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    graph = fgraph.FactorGraph(variable_groups=[at])
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=tables))
    field = np.stack([-inputs["field"], inputs["field"]], -1)
    marginals, seconds = _pgmax(graph, {at: field})
    return np.asarray(marginals[at])[..., 1].ravel(), seconds


def rbm_rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    _prepare()
    from pgmax import fgraph, fgroup, vgroup

    hidden = vgroup.NDVarArray(num_states=2, shape=(HIDDEN,))
    visible = vgroup.NDVarArray(num_states=2, shape=(VISIBLE,))
    pairs = [[hidden[i], visible[j]] for i in range(HIDDEN) for j in range(VISIBLE)]
    # [QT21]'s machines have units of ±1: a weight says by how much equal ones are likelier than unequal ones.
    tables = inputs["weights"].ravel()[:, None, None] * np.array([[0.5, -0.5], [-0.5, 0.5]])
    graph = fgraph.FactorGraph(variable_groups=[hidden, visible])
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=tables))
    on = {hidden: inputs["hidden"], visible: inputs["visible"]}
    marginals, seconds = _pgmax(graph, {group: np.stack([0 * bias, bias], -1) for group, bias in on.items()})
    return np.asarray(marginals[visible])[..., 1].ravel(), seconds


def grid_rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    _prepare()
    from pgmax import fgraph, fgroup, vgroup

    states = CLONES + 2
    at = vgroup.NDVarArray(num_states=states, shape=(IMAGE, IMAGE))
    graph = fgraph.FactorGraph(variable_groups=[at])
    for table, (row, column) in zip(inputs["potentials"], ((0, 1), (1, 0), (1, 1), (1, -1)), strict=True):
        pairs = [
            [at[i, j], at[i + row, j + column]]
            for i in range(IMAGE - row)
            for j in range(IMAGE)
            if 0 <= j + column < IMAGE
        ]
        graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=table))
    marginals, seconds = _pgmax(graph, {at: inputs["evidence"]})
    return np.asarray(marginals[at]), seconds


def network_rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    _prepare()
    from pgmax import fgraph, fgroup, vgroup

    stage("building the graph")
    cards = inputs["cards"]
    at = vgroup.NDVarArray(num_states=cards, shape=(len(cards),))
    graph = fgraph.FactorGraph(variable_groups=[at])
    for shape, members in networks.by_shape(inputs).items():  # factors one by one take PGMax minutes to compile
        group = fgroup.EnumFactorGroup(
            variables_for_factors=[[at[v] for v in scope] for scope, _ in members],
            factor_configs=np.argwhere(np.ones(shape)),
            log_potentials=np.stack([table.ravel() for _, table in members]),
        )
        graph.add_factors(group)
    marginals, seconds = _pgmax(graph, {at: inputs["local"]})
    return networks.padded([np.asarray(marginals[at])[v, :states] for v, states in enumerate(cards)], inputs), seconds


NETWORKS = (
    Task(
        "triples",
        f"{networks.TRIPLES} triples of {networks.STATES} states",
        networks.triple_inputs,
        network_studio,
        1e-4,
    ),
    *(Task(name, f"UAI 2014: {name}", inputs, network_studio, 1e-4) for name, inputs in networks.competition()),
)

PEER = Peer(
    "pgmax",
    ("jax", "jaxlib", "pgmax==0.6.1"),
    __file__,
    (
        Task("ising", f"Ising grid {SIDE}×{SIDE}, binary kernel", ising_inputs, ising_studio, 1e-4, least=5.0),
        Task("generic", f"Ising grid {SIDE}×{SIDE}, generic kernel", ising_inputs, generic_studio, 1e-4, least=2.0),
        Task("rbm", f"RBM {VISIBLE}×{HIDDEN}", rbm_inputs, rbm_studio, 1e-3, least=8.0),
        Task("grid", f"cloned grid {IMAGE}×{IMAGE}, {CLONES + 2} states", grid_inputs, grid_studio, 1e-3, least=100.0),
        *NETWORKS,
    ),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        known = {"ising": ising_rival, "generic": ising_rival, "rbm": rbm_rival, "grid": grid_rival}
        rival_main(known | {task.name: network_rival for task in NETWORKS})
    else:
        main(PEER)
