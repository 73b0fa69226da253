"""The headless answer to "what does this algorithm say about this graph?": what `mrfstudio infer` prints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.files.graphs.graph import read_edge_alphas, read_graph, read_priors
from mrfstudio.engine.files.graphs.uai import read_evidence
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.pairwise import couplings_of
from mrfstudio.engine.graphs.sketch import Sketch
from mrfstudio.engine.graphs.supports import possible_assignment, support_of
from mrfstudio.engine.graphs.words import evidence_of, graph_of
from mrfstudio.engine.inference.algorithm import Algorithm, State, Unsupported
from mrfstudio.engine.inference.join.auto import Auto
from mrfstudio.engine.inference.join.budget import clock_of
from mrfstudio.engine.inference.join.propagation import known
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP, with_prior
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, Outcome, run
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.device import choose_device, choose_dtype, to_host
from mrfstudio.engine.tasks.quick import Quick

NOT_DECODED = (
    "The most probable states of single variables do not fit together, and a search found none that do: "
    "there is no assignment to print."
)
TIE = 1e-9  # two states whose max-marginals differ by less are tied


@dataclass(frozen=True, eq=False)
class Given:
    """A graph with what is known of it, as a session has them."""

    graph: FactorGraph
    evidence: Evidence


def in_link(link: str) -> Given:
    """The graph and the evidence of a link. Raises `StudioError`."""
    from mrfstudio.engine.files.links import LinkError, opened
    from mrfstudio.engine.files.sessions.session_file import load_session

    session = opened(link, load_session)
    model = session.point.lanes[0].model
    if not isinstance(model, FactorGraph):
        raise LinkError("This link shows no graph: `mrfstudio replay` computes it again.")
    evidence = session.workspace.evidence(session.document, model)
    assert isinstance(evidence, Evidence)
    return Given(model, evidence)


def infer_file(
    path: Path | Sketch | Given,
    algorithm_name: str,
    *,
    observed: str = "",
    evidence_path: Path | None = None,
    edge_alphas_path: Path | None = None,
    priors_path: Path | None = None,
    parameters: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    pairwise: bool = False,
    device: str = "auto",
    precision: int | None = None,
    on_step: Callable[[State], None] | None = None,
    tried: Quick | None = None,
) -> dict[str, Any]:
    """Read a graph and its evidence, run one algorithm, and return plain values ready for JSON.

    A graph in words is a sketch, one in a link is `Given`; `observed` is evidence in words, see
    `engine/graphs/words.py`. `tried` is what was found out about the same graph and evidence, for `auto`.
    """
    tried = tried or Quick()
    clock = clock_of(parameters or {})
    began = clock() - tried.spent
    where = choose_device(device)
    bits = precision or (64 if where.type == "cpu" else 32)
    dtype = choose_dtype(bits, where)
    algorithm = make_algorithm(algorithm_name, parameters or {})
    graph = graph_of(path) if isinstance(path, Sketch) else path.graph if isinstance(path, Given) else read_graph(path)
    given = read_evidence(evidence_path, graph) if evidence_path else {}
    graph = graph.to(dtype=dtype, device=where)
    reason = algorithm.supports(graph)
    if reason is not None:
        raise Unsupported(reason)
    if edge_alphas_path is not None:
        algorithm = _with_edge_alphas(algorithm, edge_alphas_path, graph)
    priors = read_priors(priors_path, graph) if priors_path else None
    evidence = graph.evidence(given)
    if isinstance(path, Given):
        evidence = Evidence(evidence.log_potentials + path.evidence.log_potentials.to(evidence.log_potentials))
    if observed:
        evidence = Evidence(evidence.log_potentials + evidence_of(observed, graph).log_potentials)
    if priors is not None:
        evidence = with_prior(graph, evidence, priors)
    defaults: dict[str, Any] = {} if algorithm.planned is None else {"iterations": algorithm.planned}
    if bits != 64:  # 32 bits cannot resolve changes much smaller than this
        defaults["tolerance"] = 1e-6
    stop = Limits(**{**defaults, **(limits or {})})
    if isinstance(algorithm, Auto):  # who waits at a terminal means seconds of the clock, reading the graph included
        given_by = {"clock": "wall", "spent": clock() - began}
        algorithm = algorithm.replace(**{**given_by, **(parameters or {})})
        if tried.begun is not None:
            known(graph, evidence, tried.begun, algorithm.seed, algorithm.effort)
    return answer(algorithm, graph, evidence, stop, pairwise=pairwise, on_step=on_step)


def _with_edge_alphas(algorithm: Algorithm, path: Path, graph: FactorGraph) -> Algorithm:
    if not isinstance(algorithm, AlphaBP):
        raise ParameterError(f"{algorithm.name} has no α: give one for each edge to alpha-bp.")
    return replace(algorithm, edge_alphas=read_edge_alphas(path, graph))


def make_algorithm(name: str, parameters: dict[str, Any]) -> Algorithm:
    """A registered algorithm with some of its parameters set."""
    algorithm: Algorithm = ALGORITHMS[name]().replace(**parameters)
    return algorithm


def answer(
    algorithm: Algorithm,
    graph: FactorGraph,
    evidence: Evidence,
    limits: Limits,
    *,
    pairwise: bool = False,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Run and describe. Marginals follow the graph's variable order."""
    started = time.perf_counter()
    outcome = run(algorithm, graph, evidence, limits, on_step=on_step)
    state = outcome.state
    log_partition = algorithm.log_partition(graph, evidence, state)
    result: dict[str, Any] = {
        "algorithm": algorithm.name,
        "parameters": algorithm.values(),
        "converged": outcome.converged,
        "ending": _ending_in_words(outcome),
        "notices": list(outcome.notices),
        "iterations": state.iteration,
        "residual": finite(algorithm.residual(state)),
        "log_partition": finite(log_partition.value),
        "log_partition_kind": log_partition.kind,
        "variables": list(graph.labels),
        **({} if graph.names is None else {"names": graph.names.described()}),
        "marginals": [
            [finite(p) for p in vector] for vector in graph.unpack(algorithm.beliefs(graph, evidence, state))
        ],
    }
    remarks = algorithm.remarks(state)
    result |= {name: finite(said) if isinstance(said, float) else said for name, said in remarks.items()}
    consistency = getattr(state, "consistency", None)
    if consistency is not None:
        result["consistency_residual"] = finite(float(consistency))
    if pairwise:
        result["pairwise_marginals"] = pairwise_marginals(algorithm, graph, evidence, state)
    if getattr(algorithm, "temperature", 1.0) == 0:
        states = decode(algorithm, graph, evidence, state, limits)
        result["assignment"] = None if states is None else states.tolist()
        result["map_score"] = None if states is None else finite(graph.score(states, evidence))
        if states is None:
            result["notices"].append(NOT_DECODED)
    result["seconds"] = time.perf_counter() - started
    if not isinstance(algorithm, AlphaBP | BeliefPropagation):
        return result
    from mrfstudio.engine.convergence.verdict import not_defined  # loads scipy, which takes its time

    found = diagnostics(algorithm, graph, evidence)
    if found is not None:
        result["diagnostics"] = found
    else:
        result["no_diagnostics"] = not_defined(graph) or "The contraction matrix is that of temperatures above 0."
    return result


def diagnostics(algorithm: Algorithm, graph: FactorGraph, evidence: Evidence) -> dict[str, Any] | None:
    """The numbers of the contraction matrix and the α they leave free, where both are defined: bp and alpha-bp on
    binary pairwise graphs. `alpha_interval` is null where no α is guaranteed.
    """
    from mrfstudio.engine.convergence.verdict import interval_of, not_defined, verdict_on

    if not_defined(graph) is not None:
        return None
    if isinstance(algorithm, AlphaBP):
        alpha: float | np.ndarray = (
            algorithm.alpha if algorithm.edge_alphas is None else np.array(algorithm.edge_alphas)
        )
        temperature = 1.0
    elif isinstance(algorithm, BeliefPropagation) and algorithm.temperature > 0:
        alpha, temperature = 1.0, algorithm.temperature
    else:
        return None
    given = couplings_of(graph, evidence)
    scaled = replace(given, couplings=given.couplings / temperature)
    interval = interval_of(scaled)
    return {
        **verdict_on(scaled, alpha, tolerance=1e-6).as_dict(),
        "alpha_interval": None if interval is None else [interval.low, interval.high],
        "alpha_step": None if interval is None else interval.step,
    }


def pairwise_marginals(
    algorithm: Algorithm, graph: FactorGraph, evidence: Evidence, state: State
) -> list[dict[str, Any]]:
    """One `{variables, table}` for each factor of order 2, in the order of the file, axes in its scope order."""
    found = []
    tables = algorithm.factor_beliefs(graph, evidence, state)
    for group, belief in zip(graph.groups, tables, strict=True):
        if group.order != 2:
            continue
        values = belief.detach().cpu().double().permute(2, 0, 1).tolist()
        for position, scope, table in zip(group.positions.tolist(), group.scopes.T.tolist(), values, strict=True):
            found.append((position, {"variables": [graph.labels[v] for v in scope], "table": table}))
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def decode(
    algorithm: Algorithm, graph: FactorGraph, evidence: Evidence, state: State, limits: Limits
) -> np.ndarray | None:
    """States of the largest max-marginals, (variables,).

    Where two states of a variable are tied, single variables cannot be decided alone (two neighbours might take halves
    of different optima): one more run with a tiny seeded perturbation of the local potentials picks one optimum. Where
    zeros make what was decoded impossible, a search takes states that fit together, the surest variables first; None
    where it finds none.
    """
    beliefs = algorithm.beliefs(graph, evidence, state)
    tried = [to_host(graph.packing.argmax(beliefs))]
    gaps = [float(np.diff(np.sort(v))[-1]) for v in graph.unpack(beliefs) if len(v) > 1]
    if gaps and min(gaps) <= TIE:
        generator = torch.Generator().manual_seed(0)
        noise = torch.rand(beliefs.shape, generator=generator, dtype=torch.float64).to(beliefs)
        nudged = Evidence(evidence.log_potentials + noise * 1e4 * torch.finfo(beliefs.dtype).eps ** 0.75)
        outcome = run(algorithm, graph, nudged, limits)
        tried.append(to_host(graph.packing.argmax(algorithm.beliefs(graph, nudged, outcome.state))))
    best = max(tried, key=lambda states: graph.score(states, evidence))
    if math.isfinite(graph.score(best, evidence)):
        return best
    found = possible_assignment(graph, evidence, beliefs.detach().log())
    return support_of(graph, evidence).witness if found is None else found


def finite(value: float | None) -> float | None:
    """The number, or None where JSON has none for it."""
    return float(value) if value is not None and math.isfinite(value) else None


def _ending_in_words(outcome: Outcome) -> str:
    last = outcome.state.iteration
    if outcome.ending == "not finite":
        return f"stopped: numbers left the finite range at iteration {last + 1}; this is the state at iteration {last}"
    return outcome.ending
