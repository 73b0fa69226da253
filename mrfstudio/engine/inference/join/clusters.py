"""Join graphs by mini-buckets [DR03]: clusters of variables whose tables stay below a size, and what neighbours share.

Variables are eliminated in order. Whatever mentions a variable lies in its bucket; a bucket whose table would be too
large is split, and its parts share the variable itself. Each part hands what is left of its scope on to the bucket of
the next variable in it. Where nothing had to be split the result is a join tree, and messages on it are exact.

Clusters are numbered so that a sweep through them in order, and back, passes every message after those it depends on:
on a tree one sweep is all it takes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from mrfstudio.engine.inference.join.orders import Order
from mrfstudio.engine.inference.join.reduction import Reduced, Scope
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

OVERHEAD = 2000.0
"""Entries that take as long as the bookkeeping of one message."""
CROWDED = 4
"""Messages to a cluster beyond which small ones meet in a cluster of their own first …"""
SMALLER = 3.0
"""… by so many bits smaller."""
CHAINED = 14.0
"""Bits of a message that is sent on from one sender to the next, where several meet in one cluster."""


@dataclass(frozen=True)
class Clusters:
    """Scopes of clusters, the factors that each holds, and edges (cluster, cluster, shared variables), first < second.

    Scopes and what is shared are in the order of elimination. `tree` says that nothing was split.
    """

    scopes: tuple[Scope, ...]
    factors: tuple[tuple[Scope, ...], ...]
    edges: tuple[tuple[int, int, Scope], ...]
    tree: bool


def _cost(size: float, degree: int) -> float:
    return size * (2 * degree + 1) + OVERHEAD * (degree + 1)


@dataclass
class _Part:
    """A cluster while it is made: its variables, the factors in it, the parts whose messages it takes."""

    scope: set[int]
    factors: list[Scope] = field(default_factory=list)
    takes: list[tuple[int, Scope]] = field(default_factory=list)


_Item = tuple[frozenset[int], Scope | int]
"""What lies in a bucket: its variables, and the factor, or the number of the part that sends a message."""


def mini_buckets(problem: Reduced, order: Order, bits: float) -> Clusters:
    """Clusters whose tables have at most 2^bits entries, or as many as the largest factor."""
    place = {v: number for number, v in enumerate(order.variables)}
    buckets: list[list[_Item]] = [[] for _ in order.variables]
    for scope in problem.factors:
        buckets[min(place[v] for v in scope)].append((frozenset(scope), scope))
    parts: list[_Part] = []
    edges: list[tuple[int, int, Scope]] = []
    whole = True
    for number, v in enumerate(order.variables):
        stop_if_interrupted()
        made = _split(problem, v, buckets[number], bits)
        whole &= len(made) == 1
        numbers: list[int] = []
        for part in made:
            _relieve(problem, part, parts, edges)
            edges += [(sender, len(parts), shared) for sender, shared in part.takes]
            left = frozenset(part.scope) - {v}
            if left:
                buckets[min(place[x] for x in left)].append((left, len(parts)))
            numbers.append(len(parts))
            parts.append(part)
        edges += [(one, other, (v,)) for one, other in itertools.pairwise(numbers)]
    return _merged(problem, parts, edges, place, whole)


def whole_buckets(problem: Reduced, order: Order) -> Clusters:
    """The same with nothing split: a join tree."""
    return mini_buckets(problem, order, math.inf)


def _split(problem: Reduced, v: int, bucket: list[_Item], bits: float) -> list[_Part]:
    """A bucket as parts: the largest first, each thing into the part that it makes least larger."""
    parts: list[_Part] = []
    for scope, what in sorted(bucket, key=lambda item: -problem.width(item[0])):
        fits = [p for p in parts if scope <= p.scope or problem.width(p.scope | scope) <= bits]
        if fits:
            part = min(fits, key=lambda p: len(scope - p.scope))
            part.scope |= scope
        else:
            part = _Part({v, *scope})
            parts.append(part)
        if isinstance(what, int):
            part.takes.append((what, tuple(sorted(scope))))
        else:
            part.factors.append(what)
    return parts or [_Part({v})]


def _relieve(problem: Reduced, part: _Part, parts: list[_Part], edges: list[tuple[int, int, Scope]]) -> None:
    """Where a large cluster takes many messages, small ones meet in a smaller cluster first: each message to or from
    a cluster goes through its whole table.
    """
    most = problem.width(part.scope) - SMALLER
    while len(part.takes) > CROWDED:
        part.takes.sort(key=lambda each: problem.width(each[1]))
        union, count = set(part.takes[0][1]), 1
        while count < len(part.takes) and problem.width(union | set(part.takes[count][1])) <= most:
            union |= set(part.takes[count][1])
            count += 1
        if count < 2:
            return
        between = _Part(union, takes=part.takes[:count])
        edges += [(sender, len(parts), shared) for sender, shared in between.takes]
        part.takes = [*part.takes[count:], (len(parts), tuple(sorted(union)))]
        parts.append(between)


def _merged(
    problem: Reduced, parts: list[_Part], edges: list[tuple[int, int, Scope]], place: dict[int, int], tree: bool
) -> Clusters:
    """The same without clusters that lie wholly in one that sends to them, where that is less work.

    The two take the place of the second: all that sends to it comes before, all that it sends to after.
    """
    into = list(range(len(parts)))
    degrees = [0] * len(parts)
    for one, other, _ in edges:
        degrees[one] += 1
        degrees[other] += 1

    def found(number: int) -> int:
        while into[number] != number:
            into[number] = into[into[number]]
            number = into[number]
        return number

    for sender, taker, scope in sorted(edges, key=lambda edge: edge[1]):
        sender = found(sender)
        # All of its variables must come over this edge: one that came another way too would be counted twice.
        if taker != found(taker) or not parts[taker].scope <= set(scope):
            continue
        sizes = [2.0 ** problem.width(parts[number].scope) for number in (sender, taker)]
        apart = _cost(sizes[0], degrees[sender]) + _cost(sizes[1], degrees[taker])
        if _cost(sizes[0], degrees[sender] + degrees[taker] - 2) > apart:
            continue
        into[sender] = taker
        parts[taker].scope |= parts[sender].scope
        parts[taker].factors += parts[sender].factors
        degrees[taker] += degrees[sender] - 2
    kept = [number for number in range(len(parts)) if found(number) == number]
    number_of = {number: at for at, number in enumerate(kept)}
    shared: dict[tuple[int, int], set[int]] = {}
    for one, other, scope in edges:
        ends = sorted((number_of[found(one)], number_of[found(other)]))
        if ends[0] != ends[1]:
            shared.setdefault((ends[0], ends[1]), set()).update(scope)
    return Clusters(
        tuple(tuple(sorted(parts[number].scope, key=place.__getitem__)) for number in kept),
        tuple(tuple(parts[number].factors) for number in kept),
        tuple((one, other, tuple(sorted(scope, key=place.__getitem__))) for (one, other), scope in shared.items()),
        tree,
    )


def chained(problem: Reduced, clusters: Clusters) -> Clusters:
    """The same tree with large messages that meet in one cluster sent on from sender to sender instead: none of those
    that wait there needs its memory longer than for one step.

    Where what one cluster shares with its parent has all that another one shares with it, that one may as well send to
    the first.
    """
    parent = {one: (other, shared) for one, other, shared in clusters.edges}
    senders: dict[int, list[int]] = {}
    for one, (other, shared) in parent.items():
        if problem.width(shared) >= CHAINED:
            senders.setdefault(other, []).append(one)
    for members in senders.values():
        for place, one in enumerate(members):
            shared = parent[one][1]
            for following in members[place + 1 :]:
                if set(shared) <= set(parent[following][1]):
                    parent[one] = (following, shared)
                    break
    edges = tuple((one, other, shared) for one, (other, shared) in parent.items())
    return Clusters(clusters.scopes, clusters.factors, edges, clusters.tree)
