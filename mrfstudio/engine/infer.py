"""The headless answer to "what does this algorithm say about this graph?": what `mrfstudio infer` prints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.catalogue import ParameterError
from mrfstudio.engine.device import choose_device, choose_dtype
from mrfstudio.engine.diagnostics.verdict import interval_of, not_defined, verdict_on
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.files.graph import read_graph
from mrfstudio.engine.files.side_numbers import read_edge_alphas, read_priors
from mrfstudio.engine.files.uai import read_evidence
from mrfstudio.engine.inference.alpha_bp import AlphaBP, with_prior
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import Algorithm, State, Unsupported
from mrfstudio.engine.inference.run import Limits, Outcome, run
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.pairwise import couplings_of
from mrfstudio.engine.registry import ALGORITHMS

TIE = 1e-9  # two states whose max-marginals differ by less are tied


def infer_file(
    path: Path,
    algorithm_name: str,
    *,
    evidence_path: Path | None = None,
    edge_alphas_path: Path | None = None,
    priors_path: Path | None = None,
    parameters: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    pairwise: bool = False,
    device: str = "auto",
    precision: int | None = None,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Read a graph and its evidence, run one algorithm, and return plain values ready for JSON."""
    where = choose_device(device)
    bits = precision or (64 if where.type == "cpu" else 32)
    dtype = choose_dtype(bits, where)
    algorithm = make_algorithm(algorithm_name, parameters or {})
    graph = read_graph(path)
    observed = read_evidence(evidence_path, graph) if evidence_path else {}
    graph = graph.to(dtype=dtype, device=where)
    reason = algorithm.supports(graph)
    if reason is not None:
        raise Unsupported(reason)
    if edge_alphas_path is not None:
        algorithm = _with_edge_alphas(algorithm, edge_alphas_path, graph)
    priors = read_priors(priors_path, graph) if priors_path else None
    evidence = graph.evidence(observed)
    if priors is not None:
        evidence = with_prior(graph, evidence, priors)
    defaults: dict[str, Any] = {} if algorithm.planned is None else {"iterations": algorithm.planned}
    if bits != 64:  # 32 bits cannot resolve changes much smaller than this
        defaults["tolerance"] = 1e-6
    stop = Limits(**{**defaults, **(limits or {})})
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
        "iterations": state.iteration,
        "residual": finite(algorithm.residual(state)),
        "log_partition": finite(log_partition.value),
        "log_partition_kind": log_partition.kind,
        "variables": list(graph.labels),
        "marginals": [
            [finite(p) for p in vector] for vector in graph.unpack(algorithm.beliefs(graph, evidence, state))
        ],
    }
    consistency = getattr(state, "consistency", None)
    if consistency is not None:
        result["consistency_residual"] = finite(float(consistency))
    if pairwise:
        result["pairwise_marginals"] = pairwise_marginals(algorithm, graph, evidence, state)
    if getattr(algorithm, "temperature", 1.0) == 0:
        states = decode(algorithm, graph, evidence, state, limits)
        result["assignment"] = states.tolist()
        result["map_score"] = finite(graph.score(states, evidence))
    result["seconds"] = time.perf_counter() - started
    found = diagnostics(algorithm, graph, evidence)
    if found is not None:
        result["diagnostics"] = found
    elif isinstance(algorithm, AlphaBP | BeliefPropagation):
        result["no_diagnostics"] = not_defined(graph) or "The contraction matrix is that of temperatures above 0."
    return result


def diagnostics(algorithm: Algorithm, graph: FactorGraph, evidence: Evidence) -> dict[str, Any] | None:
    """The numbers of the contraction matrix and the α they leave free, where both are defined: bp and alpha-bp on
    binary pairwise graphs. `alpha_interval` is null where no α is guaranteed.
    """
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


def decode(algorithm: Algorithm, graph: FactorGraph, evidence: Evidence, state: State, limits: Limits) -> np.ndarray:
    """States of the largest max-marginals, (variables,).

    Where two states of a variable are tied, single variables cannot be decided alone (two neighbours might take halves
    of different optima): one more run with a tiny seeded perturbation of the local potentials picks one optimum.
    """
    beliefs = algorithm.beliefs(graph, evidence, state)
    states = graph.packing.argmax(beliefs).cpu().numpy()
    gaps = [float(np.diff(np.sort(v))[-1]) for v in graph.unpack(beliefs) if len(v) > 1]
    if not gaps or min(gaps) > TIE:
        return states
    generator = torch.Generator().manual_seed(0)
    noise = torch.rand(beliefs.shape, generator=generator, dtype=torch.float64).to(beliefs)
    nudged = Evidence(evidence.log_potentials + noise * 1e4 * torch.finfo(beliefs.dtype).eps ** 0.75)
    outcome = run(algorithm, graph, nudged, limits)
    other = graph.packing.argmax(algorithm.beliefs(graph, nudged, outcome.state)).cpu().numpy()
    return other if graph.score(other, evidence) >= graph.score(states, evidence) else states


def finite(value: float | None) -> float | None:
    """The number, or None where JSON has none for it."""
    return float(value) if value is not None and math.isfinite(value) else None


def _ending_in_words(outcome: Outcome) -> str:
    last = outcome.state.iteration
    if outcome.ending == "not finite":
        return f"stopped: numbers left the finite range at iteration {last + 1}; this is the state at iteration {last}"
    return outcome.ending
