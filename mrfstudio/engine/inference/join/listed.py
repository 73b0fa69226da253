"""Tables as lists of what is possible: sums of products where zeros leave few joint states.

A bucket tree [D99] whose tables hold possible joint states alone, one a row. Variables are eliminated in order; what
mentions a variable is joined, as relations are, and the rows that agree in all other variables are added up: that is
the message to the bucket of the next of them. Rows that a factor of a later bucket forbids are struck at once. On the
way back every bucket hears what the rest says of its rows. Time and memory go with the rows, however large the tables
would be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mrfstudio.engine.inference.join.orders import Order
from mrfstudio.engine.inference.join.reduction import Floats, Impossible, Integers, Reduced, Scope
from mrfstudio.engine.inference.join.tables import SPAN, logarithm
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

LARGEST_KEY = 2**62


class TooMany(Exception):
    """More joint states are possible than may be listed."""


@dataclass(frozen=True, eq=False)
class _Listed:
    """A table: its variables, the states of each row (rows, variables), its logarithms (rows,), and whose it is: the
    scope of a factor, or the number of the bucket that says it.
    """

    scope: Scope
    states: Integers
    log: Floats
    source: Scope | int


@dataclass(eq=False)
class _Bucket:
    """What is possible together with one variable: its state in every row and the logarithm of the product (rows,); of
    each table that was joined the row that is meant; the row of the message, and its logarithms.
    """

    variable: int
    states: Integers
    log: Floats
    places: list[tuple[Scope | int, Integers]]
    up: Integers
    message: Floats
    heard: Floats = field(default_factory=lambda: np.zeros(0))
    """What the rest says of each row of the message; nothing where there is no rest."""


class ListedTree:
    """The tree of a problem along an order, solved: log Z, and marginals of variables and factors.

    Raises `TooMany` where more than `most` rows are needed in all, and `Impossible` where there are none.
    """

    def __init__(self, problem: Reduced, order: Order, most: float) -> None:
        self.problem, self.left = problem, most
        self.forbidding: dict[int, list[Scope]] = {v: [] for v in problem.unary}
        for scope, table in problem.factors.items():
            if np.isneginf(table).any():
                for v in scope:
                    self.forbidding[v].append(scope)
        place = {v: number for number, v in enumerate(order.variables)}
        waiting: list[list[_Listed]] = [[] for _ in order.variables]
        for scope, table in problem.factors.items():
            states = np.argwhere(table > -np.inf).astype(np.int32)  # half the memory
            waiting[min(place[v] for v in scope)].append(_Listed(scope, states, table[tuple(states.T)], scope))
        self.buckets: list[_Bucket] = []
        self.log_z = problem.constant
        for number, v in enumerate(order.variables):
            bucket, said = self._bucket(number, v, waiting[number])
            waiting[number] = []
            self.buckets.append(bucket)
            if said.scope:
                waiting[min(place[x] for x in said.scope)].append(said)
            else:
                self.log_z += float(bucket.message[0])
        self.marginals: dict[int, Floats] = {}
        self.factors: dict[Scope, Floats] = {}
        for bucket in reversed(self.buckets):
            self._answer(bucket)

    def _bucket(self, number: int, v: int, tables: list[_Listed]) -> tuple[_Bucket, _Listed]:
        """All tables of a variable joined, and what is left when it is summed out."""
        own = self.problem.unary[v]
        possible = np.flatnonzero(own > -np.inf)
        scope: Scope = (v,)
        states, log = possible[:, None].astype(np.int32), own[possible]
        places: list[tuple[Scope | int, Integers]] = []
        rest = list(tables)
        while rest:
            stop_if_interrupted()
            inside = set(scope)
            best = min(
                range(len(rest)),
                key=lambda n: (len(set(rest[n].scope) - inside), -len(rest[n].scope), len(rest[n].log)),
            )
            table = rest.pop(best)
            one, other = self._pairs(states, scope, table)
            fresh = [axis for axis, x in enumerate(table.scope) if x not in inside]
            joined = np.concatenate([states[one], table.states[other][:, fresh]], 1)
            scope = (*scope, *(table.scope[axis] for axis in fresh))
            fine = self._allowed(joined, scope, scope[len(inside) :])
            one, other, states = one[fine], other[fine], joined[fine]
            places = [(source, rows[one]) for source, rows in places]
            places.append((table.source, other))
            log = log[one] + table.log[other]
        if not len(log):
            raise Impossible(v)
        self._count(len(log))
        left = scope[1:]
        keys = self._keys(states, scope, states[:0], scope, left)[0]
        _, firsts, up = np.unique(keys, return_index=True, return_inverse=True)
        up = up.reshape(-1)
        message = grouped(log, up, len(firsts))
        bucket = _Bucket(v, states[:, 0], log, places, up, message)
        return bucket, _Listed(left, states[firsts][:, 1:], message, number)

    def _pairs(self, states: Integers, scope: Scope, table: _Listed) -> tuple[Integers, Integers]:
        """Rows (rows, variables) of what is joined so far and of a table that agree in the variables of both."""
        shared = tuple(x for x in table.scope if x in scope)
        mine, theirs = self._keys(states, scope, table.states, table.scope, shared)
        order = np.argsort(theirs, kind="stable")
        ordered = theirs[order]
        first = np.searchsorted(ordered, mine, "left")
        counts = np.searchsorted(ordered, mine, "right") - first
        total = int(counts.sum())
        if total > self.left:
            raise TooMany
        one = np.repeat(np.arange(len(mine)), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        return one, order[np.repeat(first, counts) + within]

    def _allowed(self, states: Integers, scope: Scope, fresh: Scope) -> Integers:
        """Rows (rows, variables) that no factor forbids which has a variable that is new."""
        inside, rows = set(scope), np.arange(len(states))
        for factor in {each for v in fresh for each in self.forbidding[v] if inside.issuperset(each)}:
            picked = states[rows]
            rows = rows[self.problem.factors[factor][tuple(picked[:, scope.index(x)] for x in factor)] > -np.inf]
        return rows

    def _keys(
        self, one: Integers, scope: Scope, other: Integers, other_scope: Scope, shared: Scope
    ) -> tuple[Integers, Integers]:
        """A number for every row of two tables (rows, variables), the same where shared variables are in the same
        states.
        """
        split = len(one)
        keys = np.zeros(split + len(other), np.int64)
        size = 1
        for x in shared:
            states = np.concatenate([one[:, scope.index(x)], other[:, other_scope.index(x)]])
            if size * self.problem.sizes[x] > LARGEST_KEY:  # as few numbers as there are different rows
                known, keys = np.unique(keys, return_inverse=True)
                keys, size = keys.reshape(-1), len(known)
            keys = keys * self.problem.sizes[x] + states.astype(np.int64)
            size *= self.problem.sizes[x]
        return keys[:split], keys[split:]

    def _count(self, rows: int) -> None:
        self.left -= rows
        if self.left < 0:
            raise TooMany

    def _answer(self, bucket: _Bucket) -> None:
        """Marginals of a bucket that has heard the rest; it says on what that means for the rows that it was sent."""
        stop_if_interrupted()
        log = bucket.log + bucket.heard[bucket.up] if len(bucket.heard) else bucket.log
        v = bucket.variable
        self.marginals[v] = _probabilities(grouped(log, bucket.states, self.problem.sizes[v]))
        for source, rows in bucket.places:
            if isinstance(source, int):
                sender = self.buckets[source]
                sender.heard = grouped(log, rows, len(sender.message)) - sender.message
            else:
                table = np.zeros(self.problem.factors[source].shape)
                possible = np.flatnonzero(self.problem.factors[source].ravel() > -np.inf)
                table.flat[possible] = _probabilities(grouped(log, rows, len(possible)))
                self.factors[source] = table
        bucket.places, bucket.heard, bucket.log = [], np.zeros(0), np.zeros(0)  # held no longer than needed


def grouped(log: Floats, groups: Integers, count: int) -> Floats:
    """The logarithm of the sum of what logarithms (rows,) stand for, for each of `count` groups; -inf where none is."""
    if not len(log):
        return np.full(count, -np.inf)
    top, low = float(log.max()), float(log.min())
    if top - low < SPAN:
        return logarithm(_sums(np.exp(log - top), groups, count)) + top
    tops = np.full(count, -np.inf)
    np.maximum.at(tops, groups, log)
    safe = np.where(np.isfinite(tops), tops, 0.0)
    return logarithm(_sums(np.exp(log - safe[groups]), groups, count)) + safe


def _sums(values: Floats, groups: Integers, count: int) -> Floats:
    return np.bincount(groups, values, count).astype(np.float64)


def _probabilities(log: Floats) -> Floats:
    linear = np.exp(log - log.max())
    normalised: Floats = linear / linear.sum()
    return normalised
