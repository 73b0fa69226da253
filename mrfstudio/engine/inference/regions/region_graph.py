"""Region graphs by the cluster variation method ([Liu20], section 4.3.2).

Root regions are cycles, factors that lie in none of them, and variables that no factor names. They are closed under
intersection, factors go into every region that holds their variables, and a region's parents are the smallest ones
that contain it (cover relations). Then every variable and every factor is counted exactly once (Eq. 4.13): the regions
around any set of variables are closed under intersection, so one smallest of them settles the sum. The layers of
Eq. 4.15 alone do not have that property.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx
import numpy as np

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.regions.cycles import cycle_basis
from mrfstudio.engine.protocol.errors import StudioError

MOST_REGIONS = 50_000
"""Closing large overlapping regions under intersection can make far more of them than anybody can use."""


class RegionError(StudioError):
    """A region graph that cannot be built, in one sentence."""


@dataclass(frozen=True, eq=False)
class RegionGraph:
    """Regions with their variables (ascending), factors and parents.

    `factors` are numbers over all groups of the factor graph, in the order of `FactorGraph.groups`; `edges` (m, 2) are
    (parent, child); parents come before children.
    """

    regions: tuple[tuple[int, ...], ...]
    factors: tuple[tuple[int, ...], ...]
    edges: np.ndarray

    @cached_property
    def parents(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.regions]
        for parent, child in self.edges.tolist():
            found[child].append(parent)
        return found

    @cached_property
    def levels(self) -> np.ndarray:
        """(regions,): 0 for roots, else one more than the deepest parent."""
        level = np.zeros(len(self.regions), dtype=np.int64)
        for child, above in enumerate(self.parents):
            level[child] = 1 + max((level[p] for p in above), default=-1)
        return level

    @cached_property
    def ancestors(self) -> list[frozenset[int]]:
        found: list[frozenset[int]] = []
        for above in self.parents:
            found.append(frozenset(above).union(*(found[p] for p in above)))
        return found

    @cached_property
    def descendants(self) -> list[frozenset[int]]:
        """Of each region, itself included: D̂(R)."""
        found: list[set[int]] = [{r} for r in range(len(self.regions))]
        for child, above in enumerate(self.ancestors):
            for region in above:
                found[region].add(child)
        return [frozenset(f) for f in found]

    @cached_property
    def counting(self) -> np.ndarray:
        """Counting numbers c_R = 1 - Σ over ancestors (Eq. 4.14), (regions,)."""
        numbers = np.zeros(len(self.regions), dtype=np.int64)
        for region, above in enumerate(self.ancestors):
            numbers[region] = 1 - sum(numbers[a] for a in above)
        return numbers

    @property
    def roots(self) -> np.ndarray:
        """Numbers of the regions without parents."""
        return np.flatnonzero(self.levels == 0)


def factor_scopes(graph: FactorGraph) -> list[tuple[int, ...]]:
    """Variables of every factor, over all groups in turn."""
    return [tuple(scope) for group in graph.groups for scope in group.scopes.T.tolist()]


def bethe_regions(graph: FactorGraph) -> RegionGraph:
    """Each factor and, below, each variable: c = 1 and 1 - degree (Eq. 4.7). Its free energy is Bethe's."""
    scopes = factor_scopes(graph)
    named = {variable for scope in scopes for variable in scope}
    lonely = [variable for variable in range(graph.variables) if variable not in named]
    regions = [tuple(sorted(scope)) for scope in scopes] + [(v,) for v in lonely + sorted(named)]
    factors = [(number,) for number in range(len(scopes))] + [()] * graph.variables
    place = {v: len(scopes) + len(lonely) + i for i, v in enumerate(sorted(named))}
    edges = [(number, place[variable]) for number, scope in enumerate(regions[: len(scopes)]) for variable in scope]
    return RegionGraph(tuple(regions), tuple(factors), _edge_array(edges))


def cycle_regions(graph: FactorGraph, *, outer_face: bool = False, largest: int = 1 << 16) -> RegionGraph:
    """The cluster variation method on a tree-robust cycle basis. A cycle whose table would have more than `largest`
    entries is left out: its edges then are regions of their own, as in Bethe's approximation.
    """
    scopes = factor_scopes(graph)
    pairs = {tuple(sorted(pair)) for scope in scopes for pair in combinations(scope, 2)}
    cards = graph.cardinalities.astype(np.float64)
    cycles = [
        frozenset(cycle)
        for cycle in cycle_basis(pairs, outer_face=outer_face)  # type: ignore[arg-type]
        if float(np.prod(cards[list(cycle)])) <= largest
    ]
    candidates = [*cycles, *map(frozenset, scopes), *(frozenset([v]) for v in range(graph.variables))]
    return cluster_variation(_maximal(candidates), scopes)


def shared_regions(graph: FactorGraph, shared: int, *, largest: int = 1 << 16) -> RegionGraph:
    """The cluster variation method on factors that all hold the same few variables: given those, Bethe's energy of the
    others. Shared are in each connected part the variables with most neighbours, the first of equal ones; as many as
    leave no table above `largest` entries. On a complete graph with one shared node these are the regions of cycles.
    """
    scopes = factor_scopes(graph)
    cards = graph.cardinalities.astype(np.float64)
    linked = nx.Graph()
    linked.add_nodes_from(range(graph.variables))
    linked.add_edges_from(pair for scope in scopes for pair in combinations(scope, 2))
    centre: dict[int, frozenset[int]] = {}
    for part in nx.connected_components(linked):
        own = [frozenset(scope) for scope in scopes if scope and scope[0] in part]
        chosen = sorted(part, key=lambda variable: (-linked.degree[variable], variable))[:shared]
        while chosen and any(float(np.prod(cards[list(scope.union(chosen))])) > largest for scope in own):
            chosen.pop()
        centre |= dict.fromkeys(part, frozenset(chosen))
    roots = [frozenset(scope) | centre[scope[0]] for scope in scopes if scope]
    return cluster_variation(_maximal([*roots, *(frozenset([v]) for v in range(graph.variables))]), scopes)


def cluster_variation(roots: Iterable[frozenset[int]], scopes: Sequence[tuple[int, ...]]) -> RegionGraph:
    """Close under intersection, induce factors, connect by cover relations."""
    closed = _closure(roots)
    ordered = sorted(closed, key=lambda region: (-len(region), tuple(sorted(region))))
    holders: dict[int, set[int]] = {}
    for number, region in enumerate(ordered):
        for variable in region:
            holders.setdefault(variable, set()).add(number)
    above = [set.intersection(*(holders[v] for v in region)) - {number} for number, region in enumerate(ordered)]
    edges = [
        (parent, child)
        for child, ancestors in enumerate(above)
        for parent in sorted(ancestors)
        if not any(parent in above[other] for other in ancestors)
    ]
    factors: list[list[int]] = [[] for _ in ordered]
    for number, scope in enumerate(scopes):
        for holder in sorted(set.intersection(*(holders[v] for v in scope))):
            factors[holder].append(number)
    return RegionGraph(
        tuple(tuple(sorted(region)) for region in ordered), tuple(tuple(f) for f in factors), _edge_array(edges)
    )


def _maximal(candidates: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Without duplicates and subsets of others, in the given order."""
    kept: list[frozenset[int]] = []
    holders: dict[int, set[int]] = {}
    for region in sorted(dict.fromkeys(candidates), key=len, reverse=True):
        if set.intersection(*(holders.get(v, set()) for v in region)):
            continue
        for variable in region:
            holders.setdefault(variable, set()).add(len(kept))
        kept.append(region)
    return kept


def _closure(roots: Iterable[frozenset[int]]) -> set[frozenset[int]]:
    known = set(roots)
    holders: dict[int, list[frozenset[int]]] = {}
    for region in known:
        for variable in region:
            holders.setdefault(variable, []).append(region)
    fresh = set(known)
    while fresh:
        made = {
            region & other
            for region in fresh
            for other in {other for variable in region for other in holders[variable]}
        } - known
        for region in made:
            for variable in region:
                holders[variable].append(region)
        known |= made
        fresh = made
        if len(known) > MOST_REGIONS:
            raise RegionError(
                f"The cycles of this graph overlap in more than {MOST_REGIONS} regions: expected a sparser graph; "
                f"use bp, or bethe-net."
            )
    return known


def _edge_array(edges: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(edges, dtype=np.int64).reshape(-1, 2)
