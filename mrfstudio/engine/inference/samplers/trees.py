"""Sampling whole trees at once, and what is exact about them [BD07].

Given all other variables, those of a forest are drawn together: what the leaves say goes up to the roots, then states
are drawn on the way down. The same two passes give the marginals of the forest's variables given the rest, and their
mean over sweeps is an estimate with less noise than visits have (Rao and Blackwell). Every variable is in some forest;
a factor has two variables in it at most. All trees and all chains go up and down together, a depth at a time.

What is impossible costs `IMPOSSIBLE` instead of infinitely much: a chain in an impossible state leaves it by the way
that breaks the fewest factors, and is not counted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

IMPOSSIBLE = -1e7
"""What a forbidden entry of a factor costs; a forbidden state of a variable costs ten times that."""


@dataclass(frozen=True)
class _Links:
    """Edges of a forest that are factors of one group, with the parent on one axis and the child on another."""

    group: int
    factors: Tensor
    axes: tuple[int, int]
    numbers: Tensor


@dataclass(frozen=True, eq=False)
class Forest:
    """Variables that are drawn together: `members` (n,); for each edge the places of its ends among them, `parents` and
    `children` (edges,); edges by the depth of the child; roots; which message entries come from no edge, (messages,).
    """

    members: Tensor
    parents: Tensor
    children: Tensor
    depths: tuple[Tensor, ...]
    roots: Tensor
    outside: Tensor
    edges: tuple[_Links, ...]


def forests(model: FactorGraph) -> list[Forest]:
    """Forests that have every variable between them."""
    return model.structural("forests", lambda: list(_forests(model)))


def _forests(model: FactorGraph) -> Iterator[Forest]:
    factors = [
        (number, place, tuple(scope))
        for number, group in enumerate(model.groups)
        for place, scope in enumerate(group.scopes.t().tolist())
    ]
    of: list[list[int]] = [[] for _ in range(model.variables)]
    for number, (_, _, scope) in enumerate(factors):
        for v in scope:
            of[v].append(number)
    left = set(range(model.variables))
    while left:
        order = sorted(left) + [v for v in range(model.variables) if v not in left]
        members, links = _grown(order, of, [scope for _, _, scope in factors])
        left -= set(members)
        yield _rooted(model, members, [(*factors[number], a, b) for number, a, b in links])


def _grown(
    order: list[int], of: list[list[int]], scopes: list[tuple[int, ...]]
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Variables, in this order, as long as they close no loop; and (factor, member, member) for every link."""
    root: dict[int, int] = {}
    links: list[tuple[int, int, int]] = []

    def found(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for v in order:
        near = [(number, [x for x in scopes[number] if x in root]) for number in of[v]]
        inside = [(number, members) for number, members in near if members]
        ends = [found(members[0]) for _, members in inside]
        if any(len(members) > 1 for _, members in inside) or len(ends) != len(set(ends)):
            continue
        root[v] = v
        for (number, members), end in zip(inside, ends, strict=True):
            root[end] = v
            links.append((number, members[0], v))
    return list(root), links


def _rooted(model: FactorGraph, members: list[int], links: list[tuple[int, int, tuple[int, ...], int, int]]) -> Forest:
    """Members with their links (group, factor of it, scope, member, member), directed away from the roots."""
    place = {v: number for number, v in enumerate(members)}
    near: list[list[tuple[int, int]]] = [[] for _ in members]
    for number, (_, _, _, a, b) in enumerate(links):
        near[place[a]].append((place[b], number))
        near[place[b]].append((place[a], number))
    depth = [-1] * len(members)
    parents, children = [0] * len(links), [0] * len(links)
    roots = []
    for start in range(len(members)):
        if depth[start] >= 0:
            continue
        depth[start] = 0
        roots.append(start)
        waiting = [start]
        while waiting:
            at = waiting.pop()
            for other, number in near[at]:
                if depth[other] < 0:
                    depth[other] = depth[at] + 1
                    parents[number], children[number] = at, other
                    waiting.append(other)
    outside = np.ones(model.packing.message_size, bool)
    blocks = {(block.group, block.axis): block for block in model.packing.message_blocks}
    kinds: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for number, (group, factor, scope, _, _) in enumerate(links):
        axes = tuple(scope.index(members[end]) for end in (parents[number], children[number]))
        kinds.setdefault((group, axes[0], axes[1]), []).append((factor, number))
        for axis in axes:
            block = blocks[group, axis]
            outside[block.offset + factor : block.stop : block.count] = False

    def tensor(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=model.device)

    levels: dict[int, list[int]] = {}
    for number, child in enumerate(children):
        levels.setdefault(depth[child], []).append(number)
    edges = tuple(
        _Links(group, tensor([factor for factor, _ in of]), (a, b), tensor([number for _, number in of]))
        for (group, a, b), of in kinds.items()
    )
    return Forest(
        tensor(members),
        tensor(parents),
        tensor(children),
        tuple(tensor(levels[each]) for each in sorted(levels)),
        tensor(roots),
        torch.as_tensor(outside, device=model.device),
        edges,
    )


def swept_trees(model: FactorGraph, local: Tensor, chains: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Chains (chains, variables) after every forest was drawn once, and marginals (chains, size) given the rest.

    `local` is packed, (size,).
    """
    tables = _bounded_tables(model)
    seen = local.new_zeros((len(chains), model.packing.size))
    for forest in forests(model):
        stop_if_interrupted()
        chains, seen = _drawn(model, local, chains, tables, forest, seen, generator)
    return chains, seen


def _drawn(
    model: FactorGraph,
    local: Tensor,
    chains: Tensor,
    tables: list[Tensor],
    forest: Forest,
    seen: Tensor,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """One forest: `local` (size,), `chains` (chains, variables), `tables` (k_1, …, k_r, n), `seen` (chains, size)."""
    packing, count = model.packing, len(chains)
    states = torch.as_tensor(model.cardinalities, device=chains.device)[forest.members]
    most = int(states.max())
    numbers = torch.arange(most, device=chains.device)
    real = numbers < states[:, None]  # (n, most)
    at = packing.index("base", local.device)[forest.members, None]
    at = at + torch.where(real, numbers, 0) * packing.index("stride", local.device)[forest.members, None]
    field = local.clamp(min=10 * IMPOSSIBLE)
    if model.groups:
        field = field + packing.sum_incoming(said_by_factors(model, chains, tables) * forest.outside)
    up = field.expand(count, -1)[:, at.flatten()].unflatten(-1, at.shape).masked_fill(~real, -torch.inf)
    pairs = _pairs(model, chains, tables, forest, most)
    for edges in reversed(forest.depths):  # (chains, edges, parent, child)
        said = torch.logsumexp(pairs[:, edges] + up[:, forest.children[edges], None, :], -1)
        up = up.index_add(1, forest.parents[edges], said)
    up = up.masked_fill(~real, -torch.inf)
    noise = torch.empty_like(up).exponential_(generator=generator).log_().neg_()
    drawn = (up + noise).argmax(-1)  # right for roots
    beliefs = torch.softmax(up, -1)
    for edges in forest.depths:
        child, parent = forest.children[edges], forest.parents[edges]
        given = torch.softmax(pairs[:, edges] + up[:, child, None, :], -1)
        beliefs = beliefs.index_copy(1, child, (beliefs[:, parent, :, None] * given).sum(-2))
        chosen = drawn[:, parent, None, None].expand(-1, -1, 1, most)
        row = given.gather(2, chosen).squeeze(2).log()
        drawn = drawn.index_copy(1, child, (row + noise[:, child]).argmax(-1))
    chains = chains.index_copy(1, forest.members, drawn)
    seen = seen.index_copy(1, at[real], beliefs[:, real])
    return chains, seen


def _pairs(model: FactorGraph, chains: Tensor, tables: list[Tensor], forest: Forest, most: int) -> Tensor:
    """What the factor of each edge says of parent and child, with its other variables as they are in each of the chains
    (chains, variables): (chains, edges, most, most). `tables` are (k_1, …, k_r, n). Rows of states that a parent has
    not say nothing; it is never in them.
    """
    found = tables[0].new_zeros((len(chains), len(forest.parents), most, most)) if tables else chains.new_zeros(0)
    for kind in forest.edges:
        table = tables[kind.group].contiguous()
        scopes, strides = model.groups[kind.group].scopes[:, kind.factors], table.stride()
        rest = kind.factors + sum(
            chains[:, scopes[axis]] * strides[axis] for axis in range(len(scopes)) if axis not in kind.axes
        )
        above, below = (torch.arange(table.shape[axis], device=table.device) * strides[axis] for axis in kind.axes)
        if rest.ndim == 1:
            rest = rest.expand(len(chains), -1)
        said = table.reshape(-1)[rest[:, :, None, None] + above[:, None] + below]
        found[:, kind.numbers, : len(above), : len(below)] = said
    return found


def _bounded_tables(model: FactorGraph) -> list[Tensor]:
    """Tables (k_1, …, k_r, n) whose zeros are numbers."""
    return model.derived("bounded tables", lambda: [group.tables.clamp(min=IMPOSSIBLE) for group in model.groups])


def said_by_factors(model: FactorGraph, chains: Tensor, tables: list[Tensor]) -> Tensor:
    """What each factor's table says about each of its variables given the others, (chains, messages)."""
    parts = []
    for group, table in zip(model.groups, tables, strict=True):
        table = table.contiguous()
        flat, strides = table.reshape(-1), table.stride()
        each = torch.arange(group.count, device=flat.device)
        states = [chains[:, group.scopes[axis]] for axis in range(group.order)]
        whole = each + sum(state * strides[axis] for axis, state in enumerate(states))  # (chains, n)
        for axis, states_of_axis in enumerate(states):
            rest = whole - states_of_axis * strides[axis]
            own = torch.arange(group.shape[axis], device=flat.device) * strides[axis]
            parts.append(flat[rest[:, None, :] + own[None, :, None]].flatten(1))
    return torch.cat(parts, 1)
