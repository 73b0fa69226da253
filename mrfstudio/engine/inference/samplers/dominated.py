"""States that lose to another state of their variable whatever the neighbours do (dead-end elimination).

    local_i(s') - local_i(s) + Σ_{a∋i} min over the rest of [θ_a(s', rest) - θ_a(s, rest)]  ≥  L   ⟹   p(x_i = s) ≤ e^-L

The minimum is over what is left of the other variables, so that one loser makes others. Samplers take it for certain:
no number of sweeps could say more about e^-L.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import support_of

NEGLIGIBLE = 16.0
"""L: e^-16 is a ten-millionth."""
MOST_ENTRIES = 5_000_000
"""Differences of table entries that are looked at in a round; larger graphs go without."""
MOST_ROUNDS = 20


@torch.no_grad()
def contenders(graph: FactorGraph, evidence: Evidence) -> Tensor:
    """(size,) Which states of variables are possible and not dominated."""
    alive = support_of(graph, evidence).alive
    if alive.ndim != 1 or sum(group.tables.numel() * sum(group.shape) for group in graph.groups) > MOST_ENTRIES:
        return alive
    for _ in range(MOST_ROUNDS):
        left = alive & ~_dominated(graph, graph.local_potentials(evidence), alive)
        if torch.equal(left, alive):
            break
        alive = left
    return alive


def _dominated(graph: FactorGraph, local: Tensor, alive: Tensor) -> Tensor:
    """(size,) Which of the states left lose to another by more than `NEGLIGIBLE`."""
    packing = graph.packing
    widest = max((block.states for block in packing.blocks), default=1)
    margins = local.new_full((widest, packing.size), -torch.inf)  # [s', entry of s]
    for block, own in zip(packing.blocks, packing.by_block(local.masked_fill(~alive, -torch.inf)), strict=True):
        gaps = own[:, None] - own[None]  # (s', s, count), NaN where both are gone
        stop = block.offset + block.size
        margins[: block.states, block.offset : stop] = gaps.nan_to_num(-torch.inf, posinf=torch.inf).flatten(1)
    told = packing.by_message(packing.spread(alive))
    for group, blocks in zip(graph.groups, told, strict=True):
        for axis in range(group.order):
            table = group.tables
            for other, states in enumerate(blocks):
                if other != axis:
                    shape = [1] * group.order
                    shape[other] = states.shape[0]
                    table = table.masked_fill(~states.reshape(*shape, group.count), torch.nan)
            rest = table.movedim(axis, 0).flatten(1, -2)  # (k, rest, n); NaN where the others are not
            gaps = rest[:, None] - rest[None]
            gaps = torch.where(rest.isneginf()[None] & ~rest.isneginf()[:, None], torch.inf, gaps)
            least = gaps.nan_to_num(torch.inf, neginf=-torch.inf).amin(2)  # (s', s, n); -inf against -inf says nothing
            scopes = group.scopes[axis]
            base, stride = (packing.index(name, graph.device)[scopes] for name in ("base", "stride"))
            for state in range(least.shape[1]):
                margins[: least.shape[0]].index_add_(1, base + state * stride, least[:, state])
    return alive & (margins.nan_to_num(-torch.inf) >= NEGLIGIBLE).any(0)
