"""A graph with its evidence, made smaller: impossible states and decided variables go, equal scopes are one table.

    allowed_i(x_i) = [local_i(x_i) > -inf] · Π_a [max over x_a with that x_i of θ_a > -inf]

repeated until nothing changes (arc consistency). A variable with one state left is decided: its axis is dropped from
every table. Where variables turn out to be one and the same (`probing.py`), one of them leads the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Scope = tuple[int, ...]
Same = Mapping[int, tuple[int, Integers]]
"""Variables that another one decides: which, and the state for each state of that one."""

Group = tuple[Floats, NDArray[np.int64]]
"""Log-tables (k_1, …, k_r, n) of factors of one shape, and their scopes (r, n)."""

DECIDED = -1


class Impossible(Exception):
    """No state of a cluster is possible; `variable` is one of it. What is possible is never lost."""

    def __init__(self, variable: int) -> None:
        super().__init__(variable)
        self.variable = variable


@dataclass(frozen=True)
class Origin:
    """Where a variable of the graph went: what is left of it is `leader`, whose states stand for its `states`.

    A variable that is decided has no leader and one state.
    """

    leader: int
    states: Integers


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left of a graph. Tables and unaries are logarithms; scopes are in ascending order of variables.

    Only variables with more than one state that lead themselves are in `unary`; `origins` has all of the graph.
    """

    cardinalities: Integers
    origins: tuple[Origin, ...]
    unary: dict[int, Floats]
    factors: dict[Scope, Floats]
    constant: float

    @cached_property
    def sizes(self) -> dict[int, int]:
        """Possible states of every variable that is undecided."""
        return {v: len(vector) for v, vector in self.unary.items()}

    @cached_property
    def bits(self) -> dict[int, float]:
        """log2 of `sizes`."""
        return {v: float(np.log2(size)) for v, size in self.sizes.items()}

    def width(self, scope: Scope | set[int] | frozenset[int]) -> float:
        """log2 of the entries of a table over these variables."""
        return sum(self.bits[v] for v in scope)

    def expanded(self, marginals: dict[int, Floats]) -> list[Floats]:
        """Marginals of undecided variables as those of all variables, over all their states."""
        full = []
        for states, origin in zip(self.cardinalities, self.origins, strict=True):
            vector = np.zeros(int(states))
            vector[origin.states] = marginals[origin.leader] if origin.leader != DECIDED else 1.0
            full.append(vector)
        return full

    def leaders(self, scope: Iterable[int]) -> Scope:
        """The undecided variables that stand for those of a scope."""
        found = (self.origins[v].leader for v in scope)
        return tuple(dict.fromkeys(v for v in found if v != DECIDED))

    def laid_out(self, table: Floats, leaders: Scope, scope: Scope) -> Floats:
        """A table over the leaders of a scope as one over the scope's variables and all their states."""
        full = np.zeros([int(self.cardinalities[v]) for v in scope])
        full[self._places(leaders, scope)] = table
        return full

    def _places(self, leaders: Scope, scope: Scope) -> tuple[Integers, ...]:
        """For every joint state of the leaders, the state of each variable of a scope."""
        found = []
        for v in scope:
            origin = self.origins[v]
            shape = [len(origin.states) if leader == origin.leader else 1 for leader in leaders]
            found.append(np.broadcast_to(origin.states.reshape(shape), [self.sizes[u] for u in leaders]))
        return tuple(found)

    def shrunk(self, kept: Mapping[int, Integers], same: Same, tables: Mapping[Scope, Floats]) -> Reduced:
        """With those states only that are kept, without variables that another one decides, with some other tables."""
        changed = [(scope, tables.get(scope, table)) for scope, table in self.factors.items()]
        return _shrunk(self, changed, kept, same)


def reduced(graph: FactorGraph, evidence: Evidence) -> Reduced:
    """Fold evidence and zeros into a graph. Raises `ContradictoryEvidence` where nothing is left of a variable."""
    local = [np.asarray(vector, np.float64) for vector in graph.unpack(graph.local_potentials(evidence).double())]
    groups = [(group.tables.double().cpu().numpy(), group.scopes.cpu().numpy()) for group in graph.groups]
    try:
        return reduced_tables(graph.cardinalities, local, groups, graph.constant)
    except Impossible as problem:
        raise ContradictoryEvidence(graph.labels[problem.variable]) from None


def reduced_tables(cards: Integers, local: Sequence[Floats], groups: Sequence[Group], constant: float) -> Reduced:
    """The same of log-tables and of what is said of each variable alone. Raises `Impossible`."""
    allowed = _consistent(cards, local, groups)
    empty = ~allowed.any(1)
    if empty.any():
        raise Impossible(int(np.flatnonzero(empty)[0]))
    origins = tuple(Origin(v, np.arange(len(vector))) for v, vector in enumerate(local))
    whole = Reduced(cards, origins, dict(enumerate(local)), {}, constant)
    return _shrunk(whole, _factors(groups), {v: np.flatnonzero(row) for v, row in enumerate(allowed)}, {})


def _shrunk(
    before: Reduced, factors: Iterable[tuple[Scope, Floats]], kept: Mapping[int, Integers], same: Same
) -> Reduced:
    left = {v: kept.get(v, np.arange(size)) for v, size in before.sizes.items()}
    constant = before.constant
    unary: dict[int, Floats] = {}
    for v in before.unary:
        if v not in same and len(left[v]) > 1:
            unary[v] = before.unary[v][left[v]]
        elif v not in same:
            constant += float(before.unary[v][left[v][0]])
    pending = [((v,), before.unary[v]) for v in same]
    tables: dict[Scope, Floats] = {}
    for scope, table in (*pending, *factors):
        leaders = tuple(sorted({same[v][0] if v in same else v for v in scope}))
        free = tuple(v for v in leaders if v in unary)
        places = []
        for v in scope:
            leader, states = same.get(v, (v, None))
            chosen = left[leader] if states is None else states[left[leader]]
            places.append(chosen.reshape([-1 if u == leader else 1 for u in leaders]))
        cut = table[tuple(places)].reshape([len(left[u]) for u in free])
        if not free:
            constant += float(cut)
        elif len(free) == 1:
            unary[free[0]] = unary[free[0]] + cut
        else:
            tables[free] = tables[free] + cut if free in tables else cut
    origins = tuple(_moved(origin, left, same) for origin in before.origins)
    return Reduced(before.cardinalities, origins, unary, tables, constant)


def _moved(origin: Origin, left: Mapping[int, Integers], same: Same) -> Origin:
    """Where a variable is after its leader has fewer states, or follows another one."""
    if origin.leader == DECIDED:
        return origin
    leader, states = origin.leader, origin.states
    if leader in same:
        leader, places = same[leader]
        states = states[places]
    states = states[left[leader]]
    return Origin(leader if len(states) > 1 else DECIDED, states)


def _factors(groups: Sequence[Group]) -> list[tuple[Scope, Floats]]:
    """Every factor of order two and more with its log-table."""
    found = []
    for tables, scopes in groups:
        for number, scope in enumerate(scopes.T.tolist()):
            found.append((tuple(scope), tables[..., number]))
    return found


def _consistent(cards: Integers, local: Sequence[Floats], groups: Sequence[Group]) -> NDArray[np.bool_]:
    """Which states (variables, most states) no zero of a table or of the evidence rules out."""
    allowed = np.zeros((len(cards), int(cards.max())), bool)
    for v, vector in enumerate(local):
        allowed[v, : len(vector)] = vector > -np.inf
    zeros = [(tables > -np.inf, scopes) for tables, scopes in groups]
    before = -1
    while before != (before := int(allowed.sum())):
        for possible, scopes in zeros:
            stop_if_interrupted()
            _narrow(allowed, possible, scopes)
    return allowed


def _narrow(allowed: NDArray[np.bool_], possible: NDArray[np.bool_], scopes: NDArray[np.int64]) -> None:
    """Strike states that no factor of a group (k_1, …, k_r, n) with these scopes (r, n) allows; in place."""
    order, left = len(scopes), possible
    for axis, variables in enumerate(scopes):
        shape = [1] * (order + 1)
        shape[axis], shape[-1] = possible.shape[axis], possible.shape[-1]
        left = left & allowed[variables, : possible.shape[axis]].T.reshape(shape)
    for axis, variables in enumerate(scopes):
        keeps = left.any(axis=tuple(other for other in range(order) if other != axis))
        strikes = np.zeros_like(allowed)
        np.logical_or.at(strikes[:, : possible.shape[axis]], variables, ~keeps.T)
        allowed &= ~strikes
