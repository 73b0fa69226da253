"""In which order tables are contracted: found by opt_einsum, or in a moment where they are few and small."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import opt_einsum

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.paths import Path, quick_path

FEW, LITTLE = 200, 5e7
"""Tables up to which a path is found in a millisecond or two, which is taken where it needs no more bytes than these:
what else there is to ask would take longer than the answer.
"""


@dataclass(frozen=True)
class ContractionOrder:
    """Pairwise contractions: which two operands, and the variables that are left of them."""

    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    scopes: tuple[tuple[int, ...], ...]
    open_logs: tuple[float, ...]
    """For each step the logarithm of how many assignments the variables not yet summed out have."""
    bytes: float
    widest: int


def plan_of(model: FactorGraph) -> ContractionOrder:
    """The order of contractions, found once for a structure."""
    return model.structural("contraction plan", lambda: _make_plan(model))


def _make_plan(model: FactorGraph) -> ContractionOrder:
    scopes: list[tuple[int, ...]] = [(v,) for v in alone(model)]
    for group in model.groups:
        scopes += [tuple(members) for members in group.scopes.T.tolist()]
    sizes = {v: int(k) for v, k in enumerate(model.cardinalities)}
    if len(scopes) <= FEW:
        plan = _along(quick_path(scopes, sizes), scopes, sizes)
        if plan.bytes <= LITTLE:
            return plan
    path = opt_einsum.paths.greedy([frozenset(scope) for scope in scopes], frozenset(), sizes)
    return _along(path, scopes, sizes)


def _along(path: Path, scopes: list[tuple[int, ...]], sizes: dict[int, int]) -> ContractionOrder:
    """What a path costs."""
    remaining = [frozenset(scope) for scope in scopes]
    # How many operands still hold a variable: it is summed out when the last two of them meet.
    holders = Counter(v for scope in scopes for v in scope)
    steps, open_logs = [], []
    left = sum(map(math.log, sizes.values()))
    entries, widest = float(sum(_entries(scope, sizes) for scope in scopes)), 0
    for chosen in path:
        picked = [remaining[i] for i in chosen]
        for i in sorted(chosen, reverse=True):
            remaining.pop(i)
        joined = frozenset().union(*picked)
        for operand in picked:
            for variable in operand:
                holders[variable] -= 1
        kept = tuple(sorted(v for v in joined if holders[v] > 0))
        for variable in kept:
            holders[variable] += 1
        remaining.append(frozenset(kept))
        steps.append((tuple(chosen), kept))
        open_logs.append(left)
        left -= sum(math.log(sizes[v]) for v in joined.difference(kept))
        entries += _entries(kept, sizes)
        widest = max(widest, len(joined))
    # Gradients keep every intermediate and make one of the same size for the largest ones; in 64 bits where it must be.
    return ContractionOrder(tuple(steps), tuple(scopes), tuple(open_logs), 3.0 * entries * 8, widest)


def _entries(scope: tuple[int, ...], sizes: dict[int, int]) -> float:
    product = 1.0
    for variable in scope:
        product *= sizes[variable]
    return product


def alone(model: FactorGraph) -> list[int]:
    """Variables without factors: only theirs are local potentials that are contracted by themselves."""
    return [int(v) for b in model.packing.blocks if not b.degree for v in model.packing.order[b.first :][: b.count]]
