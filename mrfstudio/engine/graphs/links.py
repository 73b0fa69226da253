"""The factors of a graph and their links by number, as a person points at them.

Factors of two variables are edges and come first, in the order of the graph's groups; larger factors, stars, follow.
A link joins a factor and one of its variables, and has two messages: to the variable, and from it. Links are numbered
factor by factor: edge e has 2e and 2e + 1, stars have those behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host


@dataclass(frozen=True, eq=False)
class Links:
    """edges (m, 2) int32; stars (k, 2) int32, (factor among the larger ones, variable); where (factors, 2) int64, the
    group of each factor and its place in it; messages (links,) int64, for each link its message's place in the order
    of `Packing.message_blocks`.
    """

    edges: np.ndarray
    stars: np.ndarray
    where: np.ndarray
    messages: np.ndarray

    @property
    def factors(self) -> int:
        return len(self.where)

    @property
    def larger(self) -> int:
        """How many factors have more than two variables."""
        return len(self.where) - len(self.edges)

    @cached_property
    def variables(self) -> np.ndarray:
        """The variable of each link, (links,)."""
        return np.concatenate([self.edges.ravel(), self.stars[:, 1]]).astype(np.int64)

    @cached_property
    def owners(self) -> np.ndarray:
        """The factor of each link, (links,)."""
        pairs = np.repeat(np.arange(len(self.edges)), 2)
        return np.concatenate([pairs, len(self.edges) + self.stars[:, 0]]).astype(np.int64)

    def axis(self, link: int) -> int:
        """Which variable of its factor a link leads to."""
        return link - int(np.searchsorted(self.owners, self.owners[link]))

    def of(self, factor: int) -> range:
        """The links of a factor, in the order of its variables."""
        low, high = np.searchsorted(self.owners, (factor, factor + 1))
        return range(int(low), int(high))

    def for_layouts(self, variables: int) -> tuple[np.ndarray, int]:
        """Who stands near whom, (n, 2) int64: edges, and each variable of a larger factor with a point for that factor,
        numbered from `variables` on; and how many such points there are.
        """
        spokes = self.stars.astype(np.int64)
        spokes[:, 0] += variables
        return np.concatenate([self.edges.astype(np.int64), spokes]), self.larger


def links_of(graph: FactorGraph) -> Links:
    """The factors and links of a graph, made once."""
    return graph.structural("links", lambda: _links(graph))


def _links(graph: FactorGraph) -> Links:
    edges, stars = [np.zeros((0, 2), np.int32)], [np.zeros((0, 2), np.int32)]
    pairs, larger = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    of_pairs, of_larger = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first = factor = 0
    for number, group in enumerate(graph.groups):
        scopes = to_host(group.scopes)
        where = np.stack([np.full(group.count, number), np.arange(group.count)], 1)
        messages = (first + np.arange(group.order * group.count).reshape(group.order, group.count)).T.ravel()
        first += group.order * group.count
        if group.order == 2:
            edges.append(scopes.T.astype(np.int32))
            pairs.append(where)
            of_pairs.append(messages)
        else:
            owner = np.repeat(np.arange(factor, factor + group.count), group.order)
            stars.append(np.stack([owner, scopes.T.ravel()], 1).astype(np.int32))
            larger.append(where)
            of_larger.append(messages)
            factor += group.count
    places, order = np.concatenate([*pairs, *larger]), np.concatenate([*of_pairs, *of_larger])
    return Links(np.concatenate(edges), np.concatenate(stars), places, order)


# Single factors -------------------------------------------------------------------------------------------------------


def scope_of(graph: FactorGraph, factor: int) -> tuple[int, ...]:
    """The variables of a factor. Raises `StudioError` where there is no such factor."""
    group, place = _place(graph, factor)
    return tuple(graph.groups[group].scopes[:, place].tolist())


def table_of(graph: FactorGraph, factor: int) -> np.ndarray:
    """The log-table of a factor, (k_1, …, k_r) float64."""
    group, place = _place(graph, factor)
    return to_host(graph.groups[group].tables[..., place].detach().cpu().double())


def entries_of(graph: FactorGraph, factor: int, axis: int) -> np.ndarray:
    """Where the message of a factor to its variable number `axis` lies among all message entries, (states,)."""
    group, place = _place(graph, factor)
    blocks = graph.structural("message blocks", lambda: {(b.group, b.axis): b for b in graph.packing.message_blocks})
    block = blocks[group, axis]
    return np.asarray(block.offset + place + np.arange(block.states) * block.count)


def neighbours_of(graph: FactorGraph, variable: int) -> list[tuple[int, int]]:
    """The factors of a variable, each with the variable's place in it."""
    links = links_of(graph)
    order, starts = graph.structural("links by variable", lambda: _by_variable(links, graph.variables))
    found = order[starts[variable] : starts[variable + 1]].tolist()
    return [(int(links.owners[link]), links.axis(link)) for link in found]


def _by_variable(links: Links, variables: int) -> tuple[np.ndarray, np.ndarray]:
    ends = links.variables
    return np.argsort(ends, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=variables))])


def _place(graph: FactorGraph, factor: int) -> tuple[int, int]:
    where = links_of(graph).where
    if not 0 <= factor < len(where):
        raise StudioError(f"There is no factor {factor}: expected 0 to {len(where) - 1}.")
    group, place = where[factor].tolist()
    return group, place
