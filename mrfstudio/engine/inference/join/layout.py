"""Clusters and the messages between them, as arrays: the arithmetic of join graphs.

A message is linear with 1 as its largest entry, or logarithmic with 0. A cluster's sums are linear where the spans of
its factors and of what it hears cannot underflow together, and logarithmic where they could: nothing possible is lost.
What a cluster says over an edge is a sum of products of tables (`tables.py`); where it has many edges of its own size,
its whole table is made once and what was heard is divided out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfstudio.engine.inference.join.clusters import Clusters
from mrfstudio.engine.inference.join.reduction import Impossible, Reduced, Scope
from mrfstudio.engine.inference.join.tables import (
    SPAN,
    TINY,
    Axes,
    Contraction,
    Floats,
    Shape,
    all_summed,
    contraction,
    difference,
    is_linear,
    linear_span,
    log_summed,
    logarithm,
    mixed,
    scaled,
    span,
    summed,
)
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

FOLDED = 2**12
"""Entries up to which factors of a cluster are multiplied once and for all …"""
SHARE = 16
"""… or up to this part of the cluster's own table, if that is no more than `MOST`."""
MOST = 2**16
LOGARITHMS = 2.0
"""How many times longer sums of logarithms take."""


@dataclass(frozen=True)
class _Way:
    """One direction of an edge, as a cluster sees it: the other end, the axes that are shared, where messages lie."""

    other: int
    mask: int
    takes: slice
    sends: slice


@dataclass(frozen=True, eq=False)
class _Node:
    """A cluster: its factors as log-tables with the axes they have; what was taken out of them so that each has 0 as
    its largest entry; at most how far their entries are apart together.
    """

    axes: Axes
    logs: tuple[Floats, ...]
    masks: tuple[int, ...]
    scale: float
    span: float
    ways: tuple[_Way, ...]

    @cached_property
    def whole(self) -> int:
        return (1 << len(self.axes.shape)) - 1

    @cached_property
    def linear(self) -> tuple[Floats, ...]:
        return tuple(np.exp(log) for log in self.logs)

    @cached_property
    def table(self) -> Contraction:
        """How its whole table is made."""
        return contraction(self.axes, [*self.masks, *(way.mask for way in self.ways)], self.whole)

    def to(self, kept: int, without: int = -1) -> Contraction:
        """How it is summed to some axes, without what was heard over one of the edges."""
        heard = [way.mask for number, way in enumerate(self.ways) if number != without]
        return contraction(self.axes, [*self.masks, *heard], kept)

    @cached_property
    def apart(self) -> tuple[Contraction, ...] | None:
        """How each message is made, where that is less work than making the whole table."""
        if self.axes.size(self.whole) <= TINY or not self.ways:
            return None
        found = tuple(self.to(way.mask, number) for number, way in enumerate(self.ways))
        return found if sum(each.work for each in found) < self.together else None

    @property
    def together(self) -> float:
        """Entries touched when the whole table is made once each way through the clusters."""
        return self.table.work * (1 if len(self.ways) < 2 else 2) + self.axes.size(self.whole) * len(self.ways)

    @cached_property
    def cost(self) -> tuple[float, float]:
        """Entries touched in a sweep, and those of the largest table."""
        if self.span > SPAN:
            return LOGARITHMS * self.together, float(self.axes.size(self.whole))
        if self.apart is None:
            return self.together, float(self.axes.size(self.whole))
        return sum(each.work for each in self.apart), float(max(each.peak for each in self.apart))


@dataclass(frozen=True)
class _Heard:
    """What a cluster has to multiply: factors and messages, linear or not; the logarithm that was taken out."""

    tables: list[Floats]
    logarithmic: bool
    scale: float


class Layout:
    """Factors of all clusters and the places of their messages: made once for a graph and its evidence."""

    def __init__(self, problem: Reduced, clusters: Clusters) -> None:
        self.problem, self.clusters = problem, clusters
        self.axes = [Axes(tuple(problem.sizes[v] for v in scope)) for scope in clusters.scopes]
        sizes = [math.prod(axes.shape) for axes in self.axes]
        self.home: dict[int, int] = {}
        for cluster, scope in enumerate(clusters.scopes):
            for v in scope:
                if v not in self.home or sizes[cluster] < sizes[self.home[v]]:
                    self.home[v] = cluster
        ways, self.size = self._ways()
        self.nodes = [self._node(cluster, tuple(ways[cluster])) for cluster in range(len(self.axes))]

    @cached_property
    def work(self) -> float:
        """About how many table entries one sweep touches."""
        return sum(node.cost[0] for node in self.nodes)

    @cached_property
    def memory(self) -> float:
        """About how many bytes it takes: messages, and three of the largest tables."""
        return 8.0 * (self.size + 3 * max((node.cost[1] for node in self.nodes), default=0.0))

    def _ways(self) -> tuple[list[list[_Way]], int]:
        ways: list[list[_Way]] = [[] for _ in self.clusters.scopes]
        at = 0
        for one, other, shared in self.clusters.edges:
            size = math.prod(self.problem.sizes[v] for v in shared)
            there, back = slice(at, at + size), slice(at + size, at + 2 * size)
            at += 2 * size
            ways[one].append(_Way(other, self._mask(one, shared), back, there))
            ways[other].append(_Way(one, self._mask(other, shared), there, back))
        return ways, at

    def _mask(self, cluster: int, scope: Scope) -> int:
        inside = set(scope)
        return sum(1 << axis for axis, v in enumerate(self.clusters.scopes[cluster]) if v in inside)

    def _node(self, cluster: int, ways: tuple[_Way, ...]) -> _Node:
        stop_if_interrupted()
        axes = self.axes[cluster]
        scopes: list[Scope] = [(v,) for v in self.clusters.scopes[cluster] if self.home[v] == cluster]
        scopes += self.clusters.factors[cluster]
        most = max(FOLDED, min(math.prod(axes.shape) // SHARE, MOST))
        found = _folded(axes, [(self._mask(cluster, s), self._factor(cluster, s)) for s in scopes], most)
        tops = [float(log.max()) for _, log in found]
        if any(math.isinf(top) for top in tops):
            raise Impossible(self.clusters.scopes[cluster][0])
        logs = tuple(log - top for (_, log), top in zip(found, tops, strict=True))
        return _Node(axes, logs, tuple(mask for mask, _ in found), sum(tops), sum(map(span, logs)), ways)

    def _factor(self, cluster: int, factor: Scope) -> Floats:
        """A factor's log-table laid into the axes of a cluster, which are in another order than its own."""
        log = self.problem.unary[factor[0]] if len(factor) == 1 else self.problem.factors[factor]
        inside = set(factor)
        turn = [factor.index(v) for v in self.clusters.scopes[cluster] if v in inside]
        return log.transpose(turn).reshape(self.axes[cluster].laid(self._mask(cluster, factor)))

    def silent(self) -> Floats:
        """Messages that say nothing."""
        return np.ones(self.size)

    def _heard(self, cluster: int, messages: Floats) -> _Heard:
        node = self.nodes[cluster]
        heard = [messages[way.takes] for way in node.ways]
        linear = [is_linear(message) for message in heard]
        spans = (linear_span(m) if is_so else span(m) for m, is_so in zip(heard, linear, strict=True))
        logarithmic = node.span + sum(spans) > SPAN
        tables = list(node.logs if logarithmic else node.linear)
        for way, message, is_so in zip(node.ways, heard, linear, strict=True):
            if is_so == logarithmic:
                message = logarithm(message) if logarithmic else np.exp(message)
            tables.append(message.reshape(node.axes.laid(way.mask)))
        return _Heard(tables, logarithmic, node.scale)

    def _log_sum(self, cluster: int, heard: _Heard, kept: int, how: Contraction | None = None) -> Floats:
        """log Σ of ψ Π m over the axes that are not kept."""
        node = self.nodes[cluster]
        if not heard.logarithmic:
            return logarithm((how or node.to(kept))(heard.tables))
        return log_summed(_added(heard.tables, node.axes.shape), node.axes.of(node.whole & ~kept))

    def sweep(self, messages: Floats, damping: float) -> float:
        """One iteration, in place; returns the largest change of a message's probabilities before damping."""
        change = 0.0
        for forward in (True, False):
            numbers = range(len(self.nodes))
            for cluster in numbers if forward else reversed(numbers):
                stop_if_interrupted()
                for place, fresh in self._said(cluster, messages, forward):
                    before = messages[place]
                    if damping or not self.clusters.tree:  # else it is exact after one sweep
                        change = max(change, difference(fresh, before))
                    before[:] = fresh if not damping else mixed(fresh, before, damping)
        return change

    def _said(self, cluster: int, messages: Floats, forward: bool) -> list[tuple[slice, Floats]]:
        """What a cluster says to those behind it, or in front: where it goes, and the message."""
        node = self.nodes[cluster]
        chosen = [number for number, way in enumerate(node.ways) if (way.other > cluster) == forward]
        if not chosen and node.ways:
            return []
        heard = self._heard(cluster, messages)
        if not node.ways:
            if np.isneginf(self._log_sum(cluster, heard, 0)):  # a cluster of its own
                raise Impossible(self.clusters.scopes[cluster][0])
            return []
        whole = heard.logarithmic or node.apart is None
        sums = self._divided(cluster, heard, chosen) if whole else self._apart(cluster, heard, chosen)
        found = []
        for number, total in zip(chosen, sums, strict=True):
            message = scaled(total.ravel(), heard.logarithmic)
            if message is None:
                raise Impossible(self.clusters.scopes[cluster][0])
            found.append((node.ways[number].sends, message))
        return found

    def _apart(self, cluster: int, heard: _Heard, chosen: list[int]) -> list[Floats]:
        """Messages one by one, each without what was heard over its edge."""
        node = self.nodes[cluster]
        assert node.apart is not None
        found = []
        for number in chosen:
            skipped = len(node.logs) + number
            found.append(node.apart[number]([t for place, t in enumerate(heard.tables) if place != skipped]))
        return found

    def _divided(self, cluster: int, heard: _Heard, chosen: list[int]) -> list[Floats]:
        """Messages by way of the whole table: what was heard over an edge is divided out again."""
        node = self.nodes[cluster]
        joint = _added(heard.tables, node.axes.shape) if heard.logarithmic else node.table(heard.tables)
        found = []
        for number in chosen:
            rest = node.axes.of(node.whole & ~node.ways[number].mask)
            own = heard.tables[len(node.logs) + number].ravel()
            total = (log_summed(joint, rest) if heard.logarithmic else summed(joint, rest)).ravel()
            # Where nothing is heard of a state, nothing is believed of it either.
            if heard.logarithmic:
                silent = np.isneginf(own)
                found.append(np.where(silent, -np.inf, total - np.where(silent, 0.0, own)))
            else:
                found.append(np.divide(total, own, out=np.zeros_like(own), where=own > 0))
        return found

    def marginals(self, messages: Floats) -> dict[int, Floats]:
        """Of every undecided variable: from the smallest cluster that has it, on a tree from the smallest edge."""
        found: dict[int, Floats] = {}
        left: dict[int, list[int]] = {}
        edges = self._edges if self.clusters.tree else {}
        for v, cluster in self.home.items():
            if v in edges:
                found[v] = self._between(*edges[v], messages)
            else:
                left.setdefault(cluster, []).append(v)
        for cluster, variables in left.items():
            heard, scope = self._heard(cluster, messages), self.clusters.scopes[cluster]
            masks = [1 << scope.index(v) for v in variables]
            for v, log in zip(variables, self._log_sums(cluster, heard, masks), strict=True):
                if np.isneginf(log.max()):
                    raise Impossible(v)
                found[v] = _probabilities(log)
        return found

    @cached_property
    def _edges(self) -> dict[int, tuple[int, int, int]]:
        """For every variable that some edge shares, the smallest: its cluster, the number of its way, the axis."""
        found: dict[int, tuple[int, int, int]] = {}
        sizes: dict[int, int] = {}
        for cluster, node in enumerate(self.nodes):
            for number, way in enumerate(node.ways):
                size = way.takes.stop - way.takes.start
                for axis in node.axes.of(way.mask):
                    v = self.clusters.scopes[cluster][axis]
                    if size < sizes.get(v, 1 << 62):
                        sizes[v], found[v] = size, (cluster, number, axis)
        return found

    def _between(self, cluster: int, number: int, axis: int, messages: Floats) -> Floats:
        node = self.nodes[cluster]
        way = node.ways[number]
        both = _both(messages, way).reshape(node.axes.laid(way.mask))
        log = log_summed(both, node.axes.of(node.whole & ~(1 << axis)))
        if np.isneginf(log.max()):
            raise Impossible(self.clusters.scopes[cluster][axis])
        return _probabilities(log)

    def factors(self, cluster: int, wanted: Sequence[Scope], messages: Floats) -> list[Floats]:
        """The beliefs of some of a cluster's variables at a time, axes in the order in which they are wanted."""
        scope, found = self.clusters.scopes[cluster], []
        masks = [self._mask(cluster, kept) for kept in wanted]
        for kept, log in zip(wanted, self._log_sums(cluster, self._heard(cluster, messages), masks), strict=True):
            inside = [v for v in scope if v in kept]
            found.append(_probabilities(log).transpose([inside.index(v) for v in kept]))
        return found

    def _log_sums(self, cluster: int, heard: _Heard, masks: Sequence[int]) -> list[Floats]:
        """log Σ of ψ Π m to each of these sets of axes: by way of the whole table, where making it takes no more memory
        than its messages do.
        """
        node = self.nodes[cluster]
        size = node.axes.size(node.whole)
        if heard.logarithmic or len(masks) < 3 or size <= TINY or size > max(node.cost[1], MOST):
            return [self._log_sum(cluster, heard, mask) for mask in masks]
        joint = node.table(heard.tables)
        sums = all_summed(node.axes, joint, node.whole, masks)
        return [logarithm(sums[mask]).reshape([node.axes.shape[a] for a in node.axes.of(mask)]) for mask in masks]

    def log_z(self, messages: Floats) -> float:
        """The Bethe value of log Z on the clusters; exact on a tree."""
        total = self.problem.constant
        for cluster, node in enumerate(self.nodes):
            heard = self._heard(cluster, messages)
            total += heard.scale + float(self._log_sum(cluster, heard, 0))
            for way in node.ways:
                if way.other > cluster:
                    total -= float(log_summed(_both(messages, way), (0,)))
        return total


def _folded(axes: Axes, tables: list[tuple[int, Floats]], most: int) -> list[tuple[int, Floats]]:
    """The same log-tables, with those multiplied whose product is small: the smallest with its best partner."""
    if not tables:
        return [(0, np.zeros((1,) * len(axes.shape)))]
    left, done = sorted(tables, key=lambda each: axes.size(each[0])), []
    while left:
        mask, log = left.pop(0)
        best = min(range(len(left)), key=lambda place: axes.size(mask | left[place][0]), default=None)
        if best is None or axes.size(mask | left[best][0]) > most:
            done.append((mask, log))
            continue
        other, table = left.pop(best)
        left.append((mask | other, log + table))
        left.sort(key=lambda each: axes.size(each[0]))
    return done


def _added(logs: list[Floats], shape: Shape) -> Floats:
    """The log-table of all of them together."""
    joint = np.zeros(shape)
    with np.errstate(over="ignore"):  # the lowest numbers there are stand for what is forbidden
        for log in logs:
            joint += log
    return joint


def _both(messages: Floats, way: _Way) -> Floats:
    """The logarithm of what an edge's two messages say together."""
    one, other = (logarithm(m) if is_linear(m) else m for m in (messages[way.takes], messages[way.sends]))
    return one + other


def _probabilities(log: Floats) -> Floats:
    linear = np.exp(log - log.max())
    normalised: Floats = linear / linear.sum()
    return normalised
