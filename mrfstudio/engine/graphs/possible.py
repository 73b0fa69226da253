"""Which states are possible at all: zeros of tables and of evidence, followed from neighbour to neighbour."""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph


@torch.no_grad()
def possible_states(graph: FactorGraph, local: Tensor) -> Tensor:
    """Of local potentials (…, size) the entries (…, size) that no factor excludes, given what its others leave."""
    packing = graph.packing
    allowed = [~torch.isneginf(group.tables) for group in graph.groups]
    alive = ~torch.isneginf(local)
    while True:
        blocks = packing.by_message(packing.spread(alive))
        supported = []
        for table, axes in zip(allowed, blocks, strict=True):
            order = len(axes)
            joint = table
            for axis, states in enumerate(axes):
                shape = [1] * order
                shape[axis] = states.shape[-2]
                joint = joint & states.reshape(*states.shape[:-2], *shape, states.shape[-1])
            for axis in range(order):
                others = tuple(-order - 1 + each for each in range(order) if each != axis)
                supported.append((joint.amax(others) if others else joint).flatten(-2))
        excluded = packing.sum_incoming((~torch.cat(supported, -1)).to(local.dtype)) > 0
        fewer = alive & ~excluded
        if torch.equal(fewer, alive):
            return alive
        alive = fewer
