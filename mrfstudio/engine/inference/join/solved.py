"""A join tree, solved: log Z, marginals of all variables and of factors, each message made once or twice.

    m_{a→b}(s) ∝ Σ_{x_a \\ s} ψ_a(x_a) Π_{c ≠ b} m_{c→a},        log Z = Σ_a log of what is taken out of m_a

Messages go towards the roots and back (`walk.py`). A marginal is read off the smallest table that has its variable as
soon as what it needs is there. Without torch.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mrfstudio.engine.inference.join.clusters import Clusters, chained
from mrfstudio.engine.inference.join.layout import Layout
from mrfstudio.engine.inference.join.nests import LARGE, LEAST
from mrfstudio.engine.inference.join.reduction import Floats, Impossible, Reduced, Scope
from mrfstudio.engine.inference.join.sums import Place, Said, Sum, Sums
from mrfstudio.engine.inference.join.tables import Axes
from mrfstudio.engine.inference.join.walk import Walk, Walker
from mrfstudio.engine.runtime.interruption import stop_if_interrupted, tell

AGAIN = 2**16
"""Entries of a message whose memory is used again."""


class JunctionTree:
    """What is known of a join tree before it is solved: who sends to whom, and how every sum is taken."""

    def __init__(self, problem: Reduced, clusters: Clusters) -> None:
        assert clusters.tree
        self.problem, self.clusters = problem, chained(problem, clusters)
        self.layout = Layout(problem, self.clusters)
        count = len(self.clusters.scopes)
        parents = [-1] * count
        self.shared: list[Scope] = [()] * count
        for one, other, shared in self.clusters.edges:
            parents[one], self.shared[one] = other, shared
        sizes = [math.prod(problem.sizes[v] for v in shared) for shared in self.shared]
        self.way = Walk(parents, sizes)
        self.up = [self._mask(cluster, shared) for cluster, shared in enumerate(self.shared)]
        self.places = [self._place(cluster) for cluster in range(count)]
        self.on_edges, self.in_clusters = self._read_off()

    def _mask(self, cluster: int, scope: Scope) -> int:
        inside = set(scope)
        return sum(1 << axis for axis, v in enumerate(self.clusters.scopes[cluster]) if v in inside)

    def _place(self, cluster: int) -> Place:
        """Its messages are those of its children, then that of its parent, if it has one."""
        node = self.layout.nodes[cluster]
        ways = [self._mask(cluster, self.shared[child]) for child in self.way.children[cluster]]
        if self.way.parents[cluster] >= 0:
            ways.append(self.up[cluster])
        return Place(node.axes, node.logs, node.masks, node.span, tuple(ways))

    def _read_off(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Which variables are read off the edge above each cluster, and which off the cluster itself."""
        sizes, best = self.way.sizes, dict[int, int]()
        for cluster, shared in enumerate(self.shared):
            for v in shared:
                if v not in best or sizes[cluster] < sizes[best[v]]:
                    best[v] = cluster
        edges: dict[int, list[int]] = {}
        for v, cluster in best.items():
            edges.setdefault(cluster, []).append(v)
        clusters: dict[int, list[int]] = {}
        for v, cluster in self.layout.home.items():
            if v not in best:
                clusters.setdefault(cluster, []).append(v)
        return edges, clusters

    @cached_property
    def collecting(self) -> list[Sum]:
        """How each cluster makes what it says to its parent."""
        found = []
        for place, up, parent in zip(self.places, self.up, self.way.parents, strict=True):
            stop_if_interrupted()
            found.append(place.sum(up, without=len(place.ways) - 1 if parent >= 0 else -1))
        return found

    @cached_property
    def distributing(self) -> dict[int, Sum]:
        """How what a large child hears is made: of all but what it has said itself."""
        found = {}
        for cluster, place in enumerate(self.places):
            stop_if_interrupted()
            for number, child in enumerate(self.way.children[cluster]):
                if self._apart(cluster, child):
                    found[child] = place.sum(place.ways[number], without=number)
        return found

    def _apart(self, cluster: int, child: int) -> bool:
        axes = self.places[cluster].axes
        whole = axes.size(self.places[cluster].whole)
        return whole > LEAST and self.way.sizes[child] > whole // LARGE

    def small(self, cluster: int, factors: bool) -> list[int]:
        """Sets of axes to which a cluster's whole product is summed: small children, variables, factors."""
        place, scope = self.places[cluster], self.clusters.scopes[cluster]
        found = [
            place.ways[number]
            for number, child in enumerate(self.way.children[cluster])
            if not self._apart(cluster, child)
        ]
        found += [1 << scope.index(v) for v in self.in_clusters.get(cluster, ())]
        if factors:
            found += [self._mask(cluster, each) for each in self.clusters.factors[cluster]]
        return found

    @cached_property
    def reading(self) -> list[Sums]:
        """How the rest is made, without the factors' marginals."""
        return [self._sums(cluster, False) for cluster in range(len(self.places))]

    def _sums(self, cluster: int, factors: bool) -> Sums:
        stop_if_interrupted()
        return Sums(self.places[cluster], self.small(cluster, factors))

    def reading_with(self, factors: bool) -> list[Sums]:
        return [self._sums(cluster, True) for cluster in range(len(self.places))] if factors else self.reading

    @cached_property
    def between(self) -> dict[int, Sums]:
        """How variables are read off the edge above a cluster."""
        found = {}
        for cluster, variables in self.on_edges.items():
            shared = self.shared[cluster]
            axes = Axes(tuple(self.problem.sizes[v] for v in shared))
            whole = (1 << len(shared)) - 1
            place = Place(axes, (), (), 0.0, (whole, whole))
            found[cluster] = Sums(place, [1 << shared.index(v) for v in variables])
        return found

    @cached_property
    def work(self) -> float:
        """About how many table entries solving it touches."""
        collecting = [each.work for each in self.collecting]
        again = sum(work for cluster, work in enumerate(collecting) if cluster not in self.way.stay)
        rest = [each.work for each in self.distributing.values()]
        rest += [each.work for each in (*self.reading, *self.between.values())]
        return sum(collecting) + again + sum(rest)

    @cached_property
    def memory(self) -> float:
        """About how many bytes solving it takes."""
        peaks = [each.peak for each in (*self.collecting, *self.distributing.values())]
        peaks += [each.peak for each in (*self.reading, *self.between.values())]
        largest = max(peaks, default=0)
        return 8.0 * (self.way.peak(self.way.stay) + max(self.way.sizes, default=0) + 2 * largest)


class SolvedTree(Walker):
    """`log_z`, `marginals` of undecided variables, and of `factors` where they are asked for.

    Raises `Impossible` where nothing is possible.
    """

    def __init__(self, tree: JunctionTree, *, factors: bool = False, threads: int = 1) -> None:
        super().__init__(tree.way, tree.way.stay)
        self.tree, self.problem, self.threads, self.with_factors = tree, tree.problem, threads, factors
        self.reading = tree.reading_with(factors)
        self.log_z = tree.problem.constant
        self.marginals: dict[int, Floats] = {}
        self.factors: dict[Scope, Floats] = {}
        self.spare, self.done = _Spare(), 0.0
        self.up: dict[int, Said] = {}
        self.down: dict[int, Said] = {}
        self.walk()
        self.spare.free.clear()

    def _heard(self, cluster: int) -> list[Said]:
        found = [self.up[child] for child in self.way.children[cluster]]
        return [*found, self.down[cluster]] if cluster in self.down else found

    def collect(self, cluster: int, *, first: bool) -> None:
        stop_if_interrupted()
        place, plan = self.tree.places[cluster], self.tree.collecting[cluster]
        above = self.way.parents[cluster] >= 0
        heard = self._heard(cluster)
        out = self.spare.take(self.way.sizes[cluster])
        nothing = Said(np.ones(1), 0.0)
        said = place.said(
            plan, [*heard, nothing] if above else heard, out, self.threads, without=len(heard) if above else -1
        )
        if said is None:
            raise Impossible(self.tree.clusters.scopes[cluster][0])
        self.up[cluster] = said
        self._tell(plan.work)
        if first:
            self.log_z += said.taken + self.tree.layout.nodes[cluster].scale

    def _tell(self, work: float) -> None:
        self.done += work
        tell(min(self.done / max(self.tree.work, 1.0), 1.0))  # more where factors are asked for

    def forget(self, child: int) -> None:
        self.spare.give(self.up.pop(child).values)

    def distribute(self, cluster: int) -> None:
        stop_if_interrupted()
        tree, place = self.tree, self.tree.places[cluster]
        heard, children = self._heard(cluster), self.way.children[cluster]
        sums = self.reading[cluster].of(heard, self.threads)
        self._tell(self.reading[cluster].work)
        if sums is None:
            raise Impossible(tree.clusters.scopes[cluster][0])
        for number, child in enumerate(children):
            if child in tree.distributing:
                out = self.spare.take(self.way.sizes[child])
                said = place.said(tree.distributing[child], heard, out, self.threads, without=number)
                self._tell(tree.distributing[child].work)
            else:
                said = without(sums[place.ways[number]], heard[number])
            if said is None:
                raise Impossible(tree.clusters.scopes[cluster][0])
            self.down[child] = said
            if child in tree.between:
                self._read_edge(child)
        scope = tree.clusters.scopes[cluster]
        for v in tree.in_clusters.get(cluster, ()):
            self.marginals[v] = _probabilities(sums[1 << scope.index(v)])
        if self.with_factors:
            for factor in tree.clusters.factors[cluster]:
                self._read_factor(cluster, factor, sums)
        if cluster in self.down:
            self.spare.give(self.down.pop(cluster).values)
        elif self.way.parents[cluster] < 0:
            self.forget(cluster)

    def _read_edge(self, child: int) -> None:
        """Variables of what a cluster and its parent say to each other."""
        shared = self.tree.shared[child]
        sums = self.tree.between[child].of([self.up[child], self.down[child]], self.threads)
        self._tell(self.tree.between[child].work)
        if sums is None:
            raise Impossible(shared[0])
        for v in self.tree.on_edges[child]:
            self.marginals[v] = _probabilities(sums[1 << shared.index(v)])

    def _read_factor(self, cluster: int, factor: Scope, sums: dict[int, Said]) -> None:
        """Axes in the order in which a factor's scope has them."""
        inside = [v for v in self.tree.clusters.scopes[cluster] if v in factor]
        mask = sum(1 << self.tree.clusters.scopes[cluster].index(v) for v in factor)
        table = _probabilities(sums[mask]).reshape([self.problem.sizes[v] for v in inside])
        self.factors[factor] = table.transpose([inside.index(v) for v in factor])


def without(total: Said, own: Said) -> Said | None:
    """A sum (entries,) with what was heard (entries,) divided out. Where nothing is heard of a state, nothing is
    believed of it.
    """
    if not total.logarithmic and not own.logarithmic:
        values = np.divide(total.values, own.values, out=np.zeros_like(own.values), where=own.values > 0)
        positive = values[values > 0]
        return Said(values, 0.0, float(positive.max()), float(positive.min())) if len(positive) else None
    mine, silent = own.logarithm(), np.isneginf(own.logarithm())
    log = np.where(silent, -np.inf, total.logarithm() - np.where(silent, 0.0, mine))
    top = float(log.max())
    return None if math.isinf(top) else Said(log - top, 0.0, logarithmic=True)


def _probabilities(said: Said) -> Floats:
    linear = np.exp(said.values) if said.logarithmic else said.values
    normalised: Floats = linear / linear.sum()
    return normalised


class _Spare:
    """Memory of messages that are not needed any more: fresh pages take longer than what is written to them."""

    def __init__(self) -> None:
        self.free: dict[int, list[Floats]] = {}

    def take(self, size: int) -> Floats:
        """Of so many entries, whatever is in it."""
        if self.free.get(size):
            return self.free[size].pop()
        self._let_go(size)
        return np.empty(size)

    def _let_go(self, size: int) -> None:
        """As much as is taken anew, so that there is never more than was needed at once."""
        for other in sorted(self.free):
            while self.free[other] and size > 0:
                size -= self.free[other].pop().size

    def give(self, values: Floats) -> None:
        if values.size >= AGAIN and values.base is None and values.flags.c_contiguous:
            self.free.setdefault(values.size, []).append(values)
