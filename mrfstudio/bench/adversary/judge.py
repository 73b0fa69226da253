"""What every algorithm must keep to on every graph, against the truth.

Finite or refused; a contradiction only where there is one, and then always; bounds on the right side; "converged" only
at a fixed point, where beliefs of factors and of variables agree, and on trees only at the truth; samples within their
errors; no impossible assignment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mrfstudio.bench.adversary.graphs import Case
from mrfstudio.bench.adversary.oracle import Truth
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import UNDECIDED
from mrfstudio.engine.inference.algorithm import Algorithm, Unsupported
from mrfstudio.engine.inference.residuals import disagreement
from mrfstudio.engine.inference.run import Limits, Outcome, run
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.tasks.infer import decode

DEVIATIONS = 8.0
"""Standard errors within which a sampler that says "converged" must be."""
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "bp": (
        {"damping": 0.5},
        {"damping": 0.9},
        {"schedule": "sequential"},
        {"kernel": "generic"},
        {"temperature": 0.0},
        {"temperature": 0.0, "damping": 0.5},
        {"temperature": 0.5},
        {"temperature": 2.0},
    ),
    "mean-field": ({"damping": 0.5},),
    "alpha-bp": ({"alpha": 0.2}, {"alpha": 1.4, "damping": 0.3}),
    "trw": ({"probabilities": "uniform"}, {"damping": 0.0}, {"memory": 0}),
    "gbp": ({"method": "messages"}, {"method": "auto"}, {"regions": "bethe"}),
    "gibbs": ({"sampler": "metropolis"}, {"sampler": "trees"}),
    "join-graph": ({"bits": 2.0}, {"bits": 4.0, "damping": 0.5}),
    "residual-bp": ({"damping": 0.5}, {"patience": 10}),
    "sparse-tree": ({"rows": 100},),
    "cut-set": ({"bits": 2.0}, {"bits": 4.0, "assignments": 50}),
}
SLOW = ("renn", "bethe-net", "gibbs")
LIMITS = {"gibbs": Limits(iterations=500, tolerance=0.02), "renn": Limits(iterations=220, tolerance=1e-4)}


@dataclass(frozen=True)
class Setting:
    """An algorithm with some parameters."""

    name: str
    parameters: dict[str, Any]

    def make(self) -> Algorithm:
        made: Algorithm = ALGORITHMS[self.name]().replace(**self.parameters)
        return made

    @property
    def words(self) -> str:
        return " ".join([self.name, *(f"--{key.replace('_', '-')} {value}" for key, value in self.parameters.items())])


def settings() -> list[Setting]:
    """Every registered algorithm with its defaults, and with others that take another way through the code."""
    found = []
    for cls in ALGORITHMS:
        short = {"chains": 64, "burn_in": 50} if cls.name == "gibbs" else {}
        found += [Setting(cls.name, {**short, **other}) for other in ({}, *VARIANTS.get(cls.name, ()))]
    return found


def findings(case: Case, truth: Truth, setting: Setting) -> list[str]:
    """What is wrong with one algorithm's answer about one case; an empty list is what everybody hopes for."""
    torch.manual_seed(0)
    algorithm = setting.make()
    graph = case.graph()
    given = case.given(graph)
    defaults = Limits(iterations=200) if case.bits == 64 else Limits(iterations=200, tolerance=1e-6)
    limits = LIMITS.get(setting.name, defaults)
    found: list[str] = []
    try:
        if algorithm.supports(graph) is not None:
            return []
        with torch.no_grad():
            outcome = run(algorithm, graph, given, limits)
            found.extend(_faults(case, truth, algorithm, graph, given, limits, outcome))  # those before a refusal stay
    except Unsupported:
        return found
    except ContradictoryEvidence:
        return [*found, "says contradictory, and is not"] if truth.possible else found
    except Exception as error:  # whatever it is, a person would have seen it
        return [*found, f"fails: {type(error).__name__}: {error}"]
    return found


def _faults(
    case: Case,
    truth: Truth,
    algorithm: Algorithm,
    graph: FactorGraph,
    given: Evidence,
    limits: Limits,
    outcome: Outcome,
) -> Iterator[str]:
    if not truth.possible:
        if UNDECIDED not in outcome.notices:
            yield f"answers what has no answer ({outcome.ending})"
        return
    if outcome.ending == "not finite":
        yield "left the finite range"
    beliefs = algorithm.beliefs(graph, given, outcome.state)
    singles = graph.unpack(beliefs)
    loose = case.bits == 32
    if not all(np.isfinite(v).all() and (v >= -1e-9).all() and abs(v.sum() - 1) < 1e-4 for v in singles):
        yield "marginals are no distributions"
        return
    yield from _log_partition(case, truth, algorithm, graph, given, outcome)
    error = max(float(np.abs(a - b).max()) for a, b in zip(singles, truth.marginals, strict=True))
    temperature = getattr(algorithm, "temperature", 1.0)
    claimed = algorithm.remarks(outcome.state).get("estimated_error")
    if (algorithm.single_step or claimed == 0) and error > _close(case, 1e-6, 1e-3):
        yield f"is wrong by {error:.3g}"
    yield from _factors(case, truth, algorithm, graph, given, outcome)
    if temperature == 0:
        yield from _assignment(case, truth, algorithm, graph, given, limits, outcome)
    if not outcome.converged or algorithm.single_step:
        return
    if algorithm.sampling:
        allowed = DEVIATIONS * algorithm.residual(outcome.state) + 1e-6
        if error > allowed:
            yield f"converged, and is wrong by {error:.3g} where its error is {algorithm.residual(outcome.state):.2g}"
        return
    if algorithm.planned is not None:
        return  # an optimiser that comes to rest; its bounds and consistency are all it claims
    if algorithm.name == "bp" and case.is_tree and temperature == 1 and error > _close(case, 1e-5, 2e-3):
        yield f"converged on a tree, and is wrong by {error:.3g}"
    yield from _fixed_point(algorithm, graph, given, outcome, 2e-2 if loose else 1e-4)


def _factors(
    case: Case, truth: Truth, algorithm: Algorithm, graph: FactorGraph, given: Evidence, outcome: Outcome
) -> Iterator[str]:
    """Beliefs of factors are distributions, and those of exact inference the true ones."""
    if algorithm.marginals_only:
        return
    try:
        tables = algorithm.factor_beliefs(graph, given, outcome.state)
    except Unsupported:
        return
    for group, beliefs in zip(graph.groups, tables, strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            table = beliefs[..., number].double().numpy()
            if not (np.isfinite(table).all() and (table >= -1e-9).all() and abs(table.sum() - 1) < 1e-3):
                yield f"the belief of the factor of {scope} is no distribution"
                return
            error = float(np.abs(table - truth.over(tuple(scope))).max()) if algorithm.single_step else 0.0
            if error > _close(case, 1e-6, 1e-3):
                yield f"the belief of the factor of {scope} is wrong by {error:.3g}"
                return


def _fixed_point(
    algorithm: Algorithm, graph: FactorGraph, given: Evidence, outcome: Outcome, allowed: float
) -> Iterator[str]:
    """One more step without damping must change nothing, and pairs must agree with singles."""
    beliefs = algorithm.beliefs(graph, given, outcome.state)
    free = algorithm.replace(damping=0.0) if hasattr(algorithm, "damping") else algorithm
    after = free.beliefs(graph, given, free.step(graph, given, outcome.state))
    moved = float((after - beliefs).abs().max()) if beliefs.numel() else 0.0
    if not moved <= allowed:
        yield f"converged, and moves by {moved:.3g} in one more step"
    if algorithm.name == "mean-field" or getattr(algorithm, "temperature", 1.0) != 1:
        return
    spread = graph.packing.by_message(graph.packing.spread(beliefs))
    gap = disagreement(spread, algorithm.factor_beliefs(graph, given, outcome.state))
    if not gap <= allowed:
        yield f"converged, and factors disagree with variables by {gap:.3g}"


def _log_partition(
    case: Case, truth: Truth, algorithm: Algorithm, graph: FactorGraph, given: Evidence, outcome: Outcome
) -> Iterator[str]:
    found = algorithm.log_partition(graph, given, outcome.state)
    if found.value is None:
        if algorithm.single_step:
            yield "has no log Z"
        return
    if not math.isfinite(found.value):
        yield f"log Z is {found.value}"
        return
    numbers = [table for _, table in case.factors if table.size] + case.evidence
    slack = _close(case, 1e-7, 1e-5) * (1 + sum(float(np.abs(_finite(table)).max()) for table in numbers))
    difference = found.value - truth.log_z
    if found.kind == "exact" and abs(difference) > slack:
        yield f"log Z is wrong by {difference:.3g}"
    if found.kind == "lower_bound" and difference > slack:
        yield f"the lower bound is {difference:.3g} above log Z"
    if found.kind == "upper_bound" and difference < -slack:
        yield f"the upper bound is {-difference:.3g} below log Z"


def _assignment(
    case: Case,
    truth: Truth,
    algorithm: Algorithm,
    graph: FactorGraph,
    given: Evidence,
    limits: Limits,
    outcome: Outcome,
) -> Iterator[str]:
    states = decode(algorithm, graph, given, outcome.state, limits)
    if states is None:
        yield "finds no assignment, and there is one"
        return
    score = float(truth.scores[tuple(states)])
    if math.isinf(score):
        yield "decodes an impossible assignment"
    elif case.is_tree and outcome.converged and score < truth.best - _close(case, 1e-6, 1e-3) * (1 + abs(truth.best)):
        yield f"converged on a tree, and its assignment scores {truth.best - score:.3g} below the best"


def _close(case: Case, fine: float, coarse: float) -> float:
    return fine if case.bits == 64 else coarse


def _finite(table: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(table), table, 0.0)
