"""In which order tables are contracted: found by opt_einsum, or in a moment where they are few and small."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import opt_einsum

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.paths import PathStep, quick_path

FEW, LITTLE = 200, 5e7
"""Tables up to which a path is found in a millisecond or two, which is taken where it needs no more bytes than these:
what else there is to ask would take longer than the answer.
"""


@dataclass(frozen=True)
class ContractionOrder:
    """Pairwise contractions: which two operands, and the variables that are left of them."""

    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    scopes: tuple[tuple[int, ...], ...]
    sizes: Mapping[int, int]
    bytes: float
    widest: int

    @property
    def assignments(self) -> float:
        """The logarithm of how many assignments all variables have together."""
        return sum(map(math.log, self.sizes.values()))

    @cached_property
    def open_logs(self) -> tuple[float, ...]:
        """For each step the logarithm of how many assignments the variables not yet summed out have."""
        found, left = [], self.assignments
        remaining = [frozenset(scope) for scope in self.scopes]
        for chosen, kept in self.steps:
            joined = frozenset().union(*[remaining[place] for place in chosen])
            remaining = [scope for place, scope in enumerate(remaining) if place not in chosen] + [frozenset(kept)]
            found.append(left)
            left -= sum(math.log(self.sizes[v]) for v in joined.difference(kept))
        return tuple(found)


def plan_of(model: FactorGraph) -> ContractionOrder:
    """The order of contractions, found once for a structure."""
    return model.structural("contraction plan", lambda: _make_plan(model))


def _make_plan(model: FactorGraph) -> ContractionOrder:
    scopes: list[tuple[int, ...]] = [(v,) for v in alone(model)]
    for group in model.groups:
        scopes += [tuple(members) for members in group.scopes.T.tolist()]
    sizes = {v: int(k) for v, k in enumerate(model.cardinalities)}
    if len(scopes) <= FEW:
        plan = _costed(quick_path(scopes, sizes), scopes, sizes)
        if plan.bytes <= LITTLE:
            return plan
    path = opt_einsum.paths.greedy([frozenset(scope) for scope in scopes], frozenset(), sizes)
    return _costed(_along(path, scopes), scopes, sizes)


def _along(path: Sequence[tuple[int, ...]], scopes: Sequence[tuple[int, ...]]) -> Iterator[PathStep]:
    """The steps of a path: places of operands among those that are left."""
    remaining = [frozenset(scope) for scope in scopes]
    # How many operands still hold a variable: it is summed out when the last two of them meet.
    holders = Counter(v for scope in scopes for v in scope)
    for chosen in path:
        picked = [remaining[i] for i in chosen]
        for i in sorted(chosen, reverse=True):
            remaining.pop(i)
        joined = frozenset().union(*picked)
        for operand in picked:
            for variable in operand:
                holders[variable] -= 1
        kept = frozenset(v for v in joined if holders[v] > 0)
        for variable in kept:
            holders[variable] += 1
        remaining.append(kept)
        yield PathStep(tuple(chosen), joined, kept)


def _costed(path: Iterable[PathStep], scopes: list[tuple[int, ...]], sizes: dict[int, int]) -> ContractionOrder:
    """What a path costs."""
    steps, widest = [], 0
    entries = float(sum(_entries(scope, sizes) for scope in scopes))
    for chosen, joined, kept in path:
        left = tuple(sorted(kept))
        steps.append((chosen, left))
        entries += _entries(left, sizes)
        widest = max(widest, len(joined))
    # Gradients keep every intermediate and make one of the same size for the largest ones; in 64 bits where it must be.
    return ContractionOrder(tuple(steps), tuple(scopes), sizes, 3.0 * entries * 8, widest)


def _entries(scope: Iterable[int], sizes: dict[int, int]) -> float:
    return math.prod(map(sizes.__getitem__, scope), start=1.0)


def alone(model: FactorGraph) -> list[int]:
    """Variables without factors: only theirs are local potentials that are contracted by themselves."""
    return [int(v) for b in model.packing.blocks if not b.degree for v in model.packing.order[b.first :][: b.count]]
