"""A chain of one length as a factor graph, for every algorithm that works on graphs; many sequences at once.

A column is a variable with K states. An undirected chain has a pairwise factor for each two columns that are at most L
apart; a directed one a factor of order L + 1 for each column that has L before it, and smaller ones at the beginning.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.chain.model import Chain
from mrfstudio.engine.families.chain.recursion import window
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.runtime.device import to_host

Part = tuple[Tensor, list[tuple[int, ...]]]
"""A log-table (K, …, K) and the scopes of all factors that have it, earliest column first."""


def parts_of(chain: Chain, length: int) -> tuple[Tensor, list[Part]]:
    """The score of the first column (K,), and the factors of order two and more; gradients flow through the tables."""
    order, states = chain.order, chain.states
    if not chain.directed:
        pairs = chain.pairs()
        apart: list[Part] = [
            (pairs[distance - 1], [(late - distance, late) for late in range(distance, length)])
            for distance in range(1, order + 1)
        ]
        return pairs.new_zeros(states), [part for part in apart if part[1]]
    scores = chain.transitions()
    tables = [window(scores, step).reshape((states,) * (min(step, order) + 1)) for step in range(order + 1)]
    found: list[Part] = [(tables[step], [tuple(range(step + 1))]) for step in range(1, min(order, length))]
    if length > order:
        found.append((tables[order], [tuple(range(last - order, last + 1)) for last in range(order, length)]))
    return tables[0], found


def lattice(chain: Chain, length: int) -> FactorGraph:
    """The graph over columns 0 … length - 1; its unary vector is (length · K,), states of one column side by side."""
    first, parts = parts_of(chain, length)
    states = chain.states
    groups: dict[int, list[Part]] = {}
    for table, scopes in parts:
        groups.setdefault(table.ndim, []).append((table, scopes))
    made, position = [], 0
    for order, members in groups.items():
        tables = torch.cat([table.reshape(-1, 1).expand(-1, len(scopes)) for table, scopes in members], 1).reshape(
            *(states,) * order, -1
        )
        scopes = [scope for _, own in members for scope in own]
        columns = torch.tensor(scopes, device=tables.device).T.contiguous()
        places = torch.arange(position, position + columns.shape[1], device=tables.device)
        made.append(FactorGroup(tables.detach(), columns, places))
        position += columns.shape[1]
    unary = [to_host(first) if column == 0 else np.zeros(states) for column in range(length)]
    return FactorGraph(np.full(length, states), made, unary, device=first.device)


def packed(graph: FactorGraph, columns: Tensor) -> Tensor:
    """(B, T, K) → the graph's packing (B, size)."""
    return columns.flatten(1)[:, _places(graph, columns.shape[-1])]


def unpacked(graph: FactorGraph, flat: Tensor, states: int) -> Tensor:
    """(B, size) → (B, T, K)."""
    found = torch.empty_like(flat)
    found[:, _places(graph, states)] = flat
    return found.reshape(len(flat), -1, states)


def _places(graph: FactorGraph, states: int) -> Tensor:
    """For each packed entry, where it lies in (T, K)."""
    whole = np.arange(graph.variables * states, dtype=np.float64)
    return graph.pack(list(whole.reshape(-1, states))).long()


def expected_scores(chain: Chain, length: int, factors: list[Tensor], first: Tensor) -> Tensor:
    """E[Σ_t W] (B,) under beliefs of factors, a (B, K, …, K, n) for each group, and of the first column (B, K)."""
    start, parts = parts_of(chain, length)
    total = first @ torch.where(start.isneginf(), 0.0, start)
    used: dict[int, int] = {}
    orders = list(dict.fromkeys(table.ndim for table, _ in parts))
    for table, scopes in parts:
        begin = used.get(table.ndim, 0)
        used[table.ndim] = begin + len(scopes)
        beliefs = factors[orders.index(table.ndim)][..., begin : begin + len(scopes)].sum(-1)
        total = total + beliefs.flatten(1) @ torch.where(table.isneginf(), 0.0, table).flatten()
    return total
