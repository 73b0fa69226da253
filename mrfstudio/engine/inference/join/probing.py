"""What zeros imply: every state is tried, and what that rules out elsewhere is found for all trials at once.

A trial fixes a variable, or all variables of a factor, and strikes what no factor allows any more (arc consistency).
All trials run together: for each state of each variable an integer has a bit for every trial in which that state is
still possible, and a factor is gone through with a few operations on whole integers,

    alive_i(x_i) ∧= ⋁ over possible x_a with that x_i of ⋀_{j≠i} alive_j(x_j).

A trial that leaves nothing of some variable proves that what it fixed is impossible. Two variables of which each state
of one leaves one state of the other, and no two the same, are one variable. Both are exact, and both make what is left
smaller: in pedigrees the tables of a join tree shrink by a factor of up to forty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.inference.join.reduction import Floats, Impossible, Integers, Reduced, Scope
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

MOST = 6.0e7
"""Machine words that all trials of one round may touch, about: some tenths of a second."""
ROUNDS = 8
"""Rounds of trials: what one finds lets the next find more, mostly for three or four."""
BOOKKEEPING = 16
"""Words that take as long as one operation on short integers."""

Trial = tuple[tuple[int, int], ...]
Alive = dict[int, list[int]]
"""For each variable and state the trials in which it is possible, as bits."""


@dataclass(frozen=True)
class _Constraint:
    """A factor with zeros: its variables and which of their joint states are possible."""

    scope: Scope
    possible: list[tuple[int, ...]]


def probed(problem: Reduced) -> Reduced:
    """The same problem with what its zeros imply; raises `Impossible` where that is that nothing is possible."""
    for _ in range(ROUNDS):
        constraints = [
            _Constraint(scope, [tuple(x) for x in np.argwhere(table > -np.inf).tolist()])
            for scope, table in problem.factors.items()
            if np.isneginf(table).any()
        ]
        smaller = _once(problem, constraints) if constraints else None
        if smaller is None:
            break
        problem = smaller
    return problem


def _once(problem: Reduced, constraints: list[_Constraint]) -> Reduced | None:
    """One round of trials; None where it finds nothing."""
    touched = {v for constraint in constraints for v in constraint.scope}
    sizes = {v: size for v, size in problem.sizes.items() if v in touched}
    singles = [(v, state) for v, size in sizes.items() for state in range(size)]
    joint = [(each.scope, states) for each in constraints for states in each.possible]
    trials: list[Trial] = [(single,) for single in singles]
    trials += [tuple(zip(scope, states, strict=True)) for scope, states in joint]
    alive = _begun(sizes, trials)
    _propagate(alive, constraints, len(trials))
    dead = _dead(alive, len(trials))
    gone = {singles[number] for number in _bits(dead & ((1 << len(singles)) - 1))}
    kept = {v: [state for state in range(size) if (v, state) not in gone] for v, size in sizes.items()}
    for v, states in kept.items():
        if not states:
            raise Impossible(v)
    tables: dict[Scope, Floats] = {}
    for number in _bits(dead >> len(singles)):
        scope, entry = joint[number]
        tables.setdefault(scope, problem.factors[scope].copy())[entry] = -np.inf
    same = _same(alive, kept, singles)
    if not dead and not same:
        return None
    return problem.shrunk({v: np.array(states) for v, states in kept.items()}, same, tables)


def _begun(sizes: dict[int, int], trials: list[Trial]) -> Alive:
    """Everything is possible in a trial but other states of what it fixes."""
    whole = (1 << len(trials)) - 1
    fixed = {v: [bytearray((len(trials) + 7) // 8) for _ in range(size)] for v, size in sizes.items()}
    for number, trial in enumerate(trials):
        for v, state in trial:
            fixed[v][state][number >> 3] |= 1 << (number & 7)
    found: Alive = {}
    for v, states in fixed.items():
        own = [int.from_bytes(each, "little") for each in states]
        free = whole
        for each in own:
            free &= ~each
        found[v] = [free | each for each in own]
    return found


def _propagate(alive: Alive, constraints: list[_Constraint], trials: int) -> None:
    """Strike what no factor allows until nothing changes, or until it has taken long enough: less is struck then."""
    of: dict[int, list[int]] = {v: [] for v in alive}
    for number, each in enumerate(constraints):
        for v in each.scope:
            of[v].append(number)
    queue, waiting = deque(range(len(constraints))), [True] * len(constraints)
    left, words = MOST, BOOKKEEPING + trials / 64
    while queue and left > 0:
        stop_if_interrupted()
        number = queue.popleft()
        waiting[number] = False
        each = constraints[number]
        left -= words * len(each.possible) * len(each.scope)
        for v, fresh in zip(each.scope, _allowed(each, alive), strict=True):
            if fresh == alive[v]:
                continue
            alive[v] = fresh
            for other in of[v]:
                if not waiting[other]:
                    waiting[other] = True
                    queue.append(other)


def _allowed(constraint: _Constraint, alive: Alive) -> list[list[int]]:
    """For each variable of a factor and each of its states the trials in which the factor allows it."""
    columns = [alive[v] for v in constraint.scope]
    found = [[0] * len(column) for column in columns]
    for states in constraint.possible:
        both = columns[0][states[0]]
        for column, state in zip(columns[1:], states[1:], strict=True):
            both &= column[state]
        if both:
            for column, state in zip(found, states, strict=True):
                column[state] |= both
    return found


def _dead(alive: Alive, trials: int) -> int:
    """Trials that leave nothing of some variable."""
    living = (1 << trials) - 1
    for states in alive.values():
        some = 0
        for each in states:
            some |= each
        living &= some
    return ((1 << trials) - 1) & ~living


def _same(alive: Alive, kept: dict[int, list[int]], singles: list[tuple[int, int]]) -> dict[int, tuple[int, Integers]]:
    """Variables that another one decides, one state for each of its own. A leader follows nobody."""
    first: dict[int, int] = {}
    for number, (v, _) in enumerate(singles):
        first.setdefault(v, number)
    whole = (1 << len(singles)) - 1
    found: dict[int, tuple[int, Integers]] = {}
    leading: set[int] = set()
    for w, states in alive.items():
        if w in leading or len(kept[w]) < 2:
            continue
        only = [_alone(states, state) & whole for state in range(len(states))]
        some = 0
        for each in only:
            some |= each
        for v in dict.fromkeys(singles[number][0] for number in _bits(some)):
            if v == w or v in found or len(kept[v]) != len(kept[w]):
                continue
            places = {s: t for s in kept[v] for t in kept[w] if only[t] >> (first[v] + s) & 1}
            if len(places) == len(kept[v]) == len(set(places.values())):
                found[w] = v, np.array([places.get(s, 0) for s in range(len(alive[v]))])
                leading.add(v)
                break
    return found


def _alone(states: list[int], state: int) -> int:
    """Trials in which a state is the only one that is possible."""
    found = states[state]
    for other, each in enumerate(states):
        if other != state:
            found &= ~each
    return found


def _bits(number: int) -> Iterator[int]:
    """Places of the ones of an integer, from the lowest."""
    data = np.frombuffer(number.to_bytes((number.bit_length() + 7) // 8, "little"), np.uint8)
    yield from np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
