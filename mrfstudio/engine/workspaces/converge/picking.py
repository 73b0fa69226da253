"""What `auto` would pick for a graph and its evidence, as advice: the judgement is that of `auto` itself."""

from __future__ import annotations

from mrfstudio.engine.convergence.oscillation import Advice
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.join.auto import UNKNOWN, Auto, AutoState, plan
from mrfstudio.engine.inference.run import Limits, run

LARGE = 3000
"""Variables and factors beyond which nothing is tried out for an advice."""
TRIAL = 1.0
"""Seconds that are spent to find out how large the error will be."""


def auto_advice(graph: FactorGraph, evidence: Evidence) -> Advice | None:
    """What `auto` picks, with the error to expect; None where evidence contradicts the graph.

    The error is measured, not guessed: join graphs of two sizes are run, and how far their answers are apart is said.
    """
    chosen = Auto()
    if graph.variables + sum(group.count for group in graph.groups) > LARGE:
        return Advice("Auto", "Exact where that fits into the time, else larger and larger clusters.", chosen.name)
    try:
        last = plan(chosen, graph, evidence)[-1]
        if last.exact:
            seconds = f"about {max(last.seconds, 0.1):.1g} s"
            return Advice("Auto: exact", f"A join tree answers exactly, in {seconds} at most: {last.why}.", chosen.name)
        error = _expected(graph, evidence)
    except ContradictoryEvidence:
        return None
    if error == UNKNOWN:
        return Advice("Auto", f"For {chosen.seconds:g} s {last.why}.", chosen.name)
    reason = f"Nothing exact fits into {chosen.seconds:g} s. Clusters do; smaller ones differ by {error:.2g} already."
    return Advice(f"Auto: error ≈ {error:.1g}", reason, chosen.name)


def _expected(graph: FactorGraph, evidence: Evidence) -> float:
    """How far the last two answers are apart after a short trial."""
    trial = Auto(seconds=TRIAL)
    state = run(trial, graph, evidence, Limits(iterations=100)).state
    assert isinstance(state, AutoState)
    return state.error
