"""Sequential schedules without a loop over nodes: colours.

Factors of one colour share no variable and variables of one colour share no factor, so that a whole colour is updated
in one tensor operation and the result equals updating its members one after the other.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages
from mrfstudio.engine.runtime.device import to_host


def factor_colors(graph: FactorGraph) -> list[tuple[Tensor, FactorMessages]]:
    """For each colour the message entries of its factors, and their message arithmetic."""
    return graph.derived("factor colours", lambda: _factor_colors(graph))


def variable_colors(graph: FactorGraph) -> list[Tensor]:
    """For each colour its variable numbers."""
    return graph.structural("variable colours", lambda: _variable_colors(graph))


def color_masks(graph: FactorGraph) -> list[Tensor]:
    """For each colour, which packed entries belong to its variables."""

    def make() -> list[Tensor]:
        masks = []
        owner = graph.packing.owners(graph.device)
        for variables in variable_colors(graph):
            chosen = torch.zeros(graph.variables, dtype=torch.bool, device=graph.device)
            chosen[variables] = True
            masks.append(chosen[owner])
        return masks

    return graph.structural("colour masks", make)


def _factor_colors(graph: FactorGraph) -> list[tuple[Tensor, FactorMessages]]:
    scopes = [to_host(group.scopes) for group in graph.groups]
    colors, count = _greedy_factor_colors(graph.variables, scopes)
    first = {(block.group, block.axis): block for block in graph.packing.message_blocks}
    result = []
    for color in range(count):
        tables, entries = [], []
        for number, group in enumerate(graph.groups):
            members = np.flatnonzero(colors[number] == color)
            if not len(members):
                continue
            tables.append(group.tables.index_select(-1, torch.as_tensor(members, device=graph.device)))
            for axis in range(group.order):
                block = first[number, axis]
                entry = block.offset + np.arange(block.states)[:, None] * block.count + members[None, :]
                entries.append(entry.reshape(-1))
        flat = torch.as_tensor(np.concatenate(entries), device=graph.device)
        result.append((flat, FactorMessages(tables)))
    return result


def _greedy_factor_colors(variables: int, scopes: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    used: list[set[int]] = [set() for _ in range(variables)]
    colors, count = [], 0
    for scope in scopes:
        chosen = np.zeros(scope.shape[1], dtype=np.int64)
        for number, members in enumerate(scope.T.tolist()):
            taken = set().union(*(used[v] for v in members))
            color = next(c for c in range(len(taken) + 1) if c not in taken)
            for variable in members:
                used[variable].add(color)
            chosen[number] = color
            count = max(count, color + 1)
        colors.append(chosen)
    return colors, count


def _variable_colors(graph: FactorGraph) -> list[Tensor]:
    neighbours: list[set[int]] = [set() for _ in range(graph.variables)]
    for group in graph.groups:
        for members in group.scopes.T.tolist():
            for variable in members:
                neighbours[variable].update(members)
    colors = np.full(graph.variables, -1, dtype=np.int64)
    for variable in range(graph.variables):
        taken = {int(colors[other]) for other in neighbours[variable] if other != variable}
        colors[variable] = next(c for c in range(len(taken) + 1) if c not in taken)
    count = int(colors.max()) + 1 if graph.variables else 0
    return [torch.as_tensor(np.flatnonzero(colors == color), device=graph.device) for color in range(count)]
