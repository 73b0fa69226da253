"""The messages of a state on a factor graph, whatever kernel made it, by edge and direction.

Edges are the factors of two variables, in the order of the graph's groups; their messages go to the first and to the
second variable. Factors of more variables are stars: one message for each of their variables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.inference.belief_propagation import Messages
from mrfstudio.engine.inference.binary_pairwise import LogRatios
from mrfstudio.engine.inference.contract import State
from mrfstudio.engine.models.factor_graph import FactorGraph


@dataclass(frozen=True, eq=False)
class Links:
    """edges (m, 2) int32 and stars (k, 2) int32, (factor among the larger ones, variable)."""

    edges: np.ndarray
    stars: np.ndarray

    def pairs(self) -> np.ndarray:
        """Who stands near whom, (n, 2) int64, for layouts: edges, and each variable of a star with the next."""
        same = self.stars[1:, 0] == self.stars[:-1, 0]
        neighbours = np.stack([self.stars[:-1, 1], self.stars[1:, 1]], 1)[same]
        return np.concatenate([self.edges, neighbours]).astype(np.int64)


def links_of(graph: FactorGraph) -> Links:
    """What there is to draw of a graph."""
    return graph.structural("links", lambda: _links(graph))


def _links(graph: FactorGraph) -> Links:
    edges, stars, count = [np.zeros((0, 2), np.int32)], [np.zeros((0, 2), np.int32)], 0
    for group in graph.groups:
        scopes = group.scopes.cpu().numpy()
        if group.order == 2:
            edges.append(scopes.T.astype(np.int32))
        else:
            number = np.repeat(np.arange(count, count + group.count), group.order)
            stars.append(np.stack([number, scopes.T.ravel()], 1).astype(np.int32))
            count += group.count
    return Links(np.concatenate(edges), np.concatenate(stars))


def probabilities(graph: FactorGraph, state: State) -> Tensor | None:
    """All messages as probabilities, flat in the graph's packing; None where an algorithm sends none."""
    if isinstance(state, LogRatios):
        half = graph.factors
        one = torch.sigmoid(state.ratios)
        return torch.cat([1 - one[:half], one[:half], 1 - one[half:], one[half:]])
    if isinstance(state, Messages) and state.messages.shape == (graph.packing.message_size,):
        return state.messages.exp()
    return None


def message_change(graph: FactorGraph, now: State, before: State | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest change of a probability of each message: by edge (m, 2) and by star (k,), float32."""
    if isinstance(now, LogRatios) and isinstance(before, LogRatios) and now.ratios.shape == before.ratios.shape:
        change = (torch.sigmoid(now.ratios) - torch.sigmoid(before.ratios)).abs()
        return change.view(2, -1).t().to(torch.float32).cpu().numpy().copy(), np.zeros(0, np.float32)
    new = probabilities(graph, now)
    old = None if before is None else probabilities(graph, before)
    if new is None or old is None or new.shape != old.shape:
        return None
    return by_link(graph, (new - old).abs())


def by_link(graph: FactorGraph, flat: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each message's entries: by edge (m, 2) and by star (k,), float32."""
    edges, stars = [np.zeros((0, 2), np.float32)], [np.zeros(0, np.float32)]
    for blocks in graph.packing.by_message(flat):
        largest = torch.stack([block.amax(0) for block in blocks], 1).to(torch.float32).cpu().numpy()
        if len(blocks) == 2:
            edges.append(largest)
        else:
            stars.append(largest.ravel())
    return np.concatenate(edges), np.concatenate(stars)


def edge_messages(graph: FactorGraph, state: State, edge: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The messages to the first and the second variable of an edge, (states,) float32 each; None without messages."""
    blocks, place = _blocks_of(graph, edge)
    if blocks is None:
        return None
    if isinstance(state, LogRatios):
        one = torch.sigmoid(state.ratios[[place, place + graph.factors]]).cpu().numpy()
        first, second = (np.array([1 - p, p], np.float32) for p in one)
        return first, second
    if not isinstance(state, Messages) or state.messages.shape != (graph.packing.message_size,):
        return None
    first, second = (
        state.messages[block.offset + place : block.stop : block.count].exp().to(torch.float32).cpu().numpy()
        for block in blocks
    )
    return first, second


def _blocks_of(graph: FactorGraph, edge: int) -> tuple[list | None, int]:
    """The two message blocks that an edge's messages lie in, and its place in them."""
    by_group: dict[int, list] = {}
    for block in graph.packing.message_blocks:
        by_group.setdefault(block.group, []).append(block)
    for blocks in by_group.values():
        if len(blocks) == 2:
            if 0 <= edge < blocks[0].count:
                return blocks, edge
            edge -= blocks[0].count
    return None, 0
