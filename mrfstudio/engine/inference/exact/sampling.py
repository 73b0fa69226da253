"""Exact samples of graphs that exact inference can handle: sum variables out one by one, then draw them back.

Summing out x_k leaves the table T_k(x_k, neighbours) = Σ of all log-tables that hold x_k. In the reverse order x_k is
drawn from softmax T_k(·, neighbours as drawn), for all samples at once: no chain, no burn-in, independent samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.elimination import elimination_bytes
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host

LARGEST = 2e9  # bytes of one table; beyond it sampling would take longer than anybody waits


@dataclass(frozen=True)
class _EliminatedVariable:
    """One variable, the neighbours it still had, and T (states of the variable, states of each neighbour)."""

    variable: int
    neighbours: tuple[int, ...]
    table: Tensor


def exact_samples(graph: FactorGraph, count: int, seed: int) -> tuple[np.ndarray, float]:
    """`count` independent assignments (count, variables), and log Z. The same seed gives the same samples."""
    if elimination_bytes(graph, LARGEST) > LARGEST:
        reason = Exact(memory=LARGEST / 1e9).supports(graph)
        raise StudioError(reason or "This graph is too large for exact samples: use gibbs.")
    steps, log_z = _eliminated(graph)
    generator = torch.Generator().manual_seed(seed)
    states = torch.zeros(count, graph.variables, dtype=torch.int64)
    for step in reversed(steps):
        # Every axis but the first is indexed, so that each sample picks one column of T.
        places: list[slice | Tensor] = [slice(None), *(states[:, other] for other in step.neighbours)]
        logits = step.table[tuple(places)].T if step.neighbours else step.table.expand(count, -1)
        chances = torch.softmax(logits, 1).cumsum(1)[:, :-1]
        uniform = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        states[:, step.variable] = (chances <= uniform).sum(1)
    return to_host(states), log_z


def _eliminated(graph: FactorGraph) -> tuple[list[_EliminatedVariable], float]:
    """The tables of all variables in the order they are summed out, the one with the smallest table first."""
    factors = _factors(graph)
    neighbours: dict[int, set[int]] = {v: set() for v in range(graph.variables)}
    for scope, _ in factors:
        for variable in scope:
            neighbours[variable].update(set(scope) - {variable})
    logs = np.log(graph.cardinalities)
    steps, log_z = [], graph.constant
    while neighbours:
        variable = min(neighbours, key=lambda v: (logs[v] + sum(logs[w] for w in neighbours[v]), v))
        around = tuple(sorted(neighbours.pop(variable)))
        mine = [factor for factor in factors if variable in factor[0]]
        factors = [factor for factor in factors if variable not in factor[0]]
        table = _sum((variable, *around), mine, graph)
        steps.append(_EliminatedVariable(variable, around, table))
        left = torch.logsumexp(table, 0)
        if around:
            factors.append((around, left))
        else:
            log_z += float(left)
        for other in around:
            neighbours[other] = (neighbours[other] | set(around)) - {variable, other}
    return steps, log_z


def _factors(graph: FactorGraph) -> list[tuple[tuple[int, ...], Tensor]]:
    vectors = graph.unpack(graph.unary)
    factors: list[tuple[tuple[int, ...], Tensor]]
    factors = [((v,), torch.from_numpy(np.ascontiguousarray(vector))) for v, vector in enumerate(vectors)]
    for group in graph.groups:
        scopes, tables = group.scopes.T.tolist(), group.tables.detach().cpu().double().unbind(-1)
        factors += [(tuple(scope), table) for scope, table in zip(scopes, tables, strict=True)]
    return factors


def _sum(scope: tuple[int, ...], factors: list[tuple[tuple[int, ...], Tensor]], graph: FactorGraph) -> Tensor:
    """The sum of log-tables over the variables of `scope`, (k_1, …, k_r), axes in its order."""
    total = torch.zeros([int(graph.cardinalities[v]) for v in scope], dtype=torch.float64)
    for own, table in factors:
        order = sorted(range(len(own)), key=lambda axis: scope.index(own[axis]))
        shape = [int(graph.cardinalities[v]) if v in own else 1 for v in scope]
        total = total + table.permute(order).reshape(shape)
    return total
