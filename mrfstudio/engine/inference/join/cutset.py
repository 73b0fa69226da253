"""Conditioning on a cut-set: a few variables are held at every joint state in turn, and the rest is small.

    p(x) = Σ_c w_c p(x | c) / Σ_c w_c,        w_c = Z with the cut-set held at c

Exact once every joint state of the cut-set was seen, in the memory of one of them. On the way the sum of the weights is
a lower bound of Z. An iteration is one joint state, solved by a join tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import (
    NO_LOG_PARTITION,
    LogPartition,
    State,
    Unsupported,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.join.clusters import whole_buckets
from mrfstudio.engine.inference.join.join_tree import laid_factors
from mrfstudio.engine.inference.join.orders import Order
from mrfstudio.engine.inference.join.propagation import (
    Eliminating,
    TableKernel,
    contradictions,
    order_of,
    problem_of,
)
from mrfstudio.engine.inference.join.reduction import Impossible, Reduced
from mrfstudio.engine.inference.join.solved import JunctionTree, SolvedTree
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class CutSet(Eliminating):
    """Parameters of conditioning."""

    name = "cut-set"
    title = "Cut-set conditioning"
    summary = "Exact, one joint state of a few variables after the other: what is left of the graph has small tables."

    bits: float = number(16.0, "Tables of what is left have at most 2 to this many entries.", low=2.0, high=34.0)
    assignments: int = integer(1000, "Most joint states of the variables that are held.", low=1, logarithmic=True)


@dataclass(frozen=True)
class HeldVariables:
    """Variables that are held, how many states each has, and the order of the others with its largest table."""

    variables: tuple[int, ...]
    sizes: tuple[int, ...]
    rest: Order

    @property
    def assignments(self) -> int:
        return math.prod(self.sizes)

    def held(self, problem: Reduced, number: int) -> Reduced:
        """The problem with the cut-set at one of its joint states."""
        states = np.unravel_index(number, self.sizes) if self.sizes else ()
        kept = {v: np.array([int(state)]) for v, state in zip(self.variables, states, strict=True)}
        return problem.shrunk(kept, {}, {})

    def tree(self, problem: Reduced, number: int) -> JunctionTree:
        """Its join tree."""
        held = self.held(problem, number)
        return JunctionTree(held, whole_buckets(held, self.rest))


def cut_of(problem: Reduced, order: Order, bits: float, most: float) -> HeldVariables | None:
    """Variables without which no table along an order has more than 2^bits entries: those first that are in most of
    the tables that do, for each of their own bits. None where they have more than `most` joint states.
    """
    cut: list[int] = []
    left = list(order.variables)
    while True:
        scopes = tables_along(problem, left, set(cut))
        widths = [problem.width(scope) for scope in scopes]
        if max(widths, default=0.0) <= bits:
            rest = Order(tuple(left), max(widths, default=0.0), sum(2.0 ** min(width, 1000.0) for width in widths))
            return HeldVariables(tuple(cut), tuple(problem.sizes[v] for v in cut), rest)
        top = max(widths)
        gains: dict[int, float] = {}
        for scope, width in zip(scopes, widths, strict=True):
            if width > bits:
                for v in scope:
                    gains[v] = gains.get(v, 0.0) + 2.0 ** (width - top)
        chosen = max(gains, key=lambda v: (gains[v] / problem.bits[v], -v))
        cut.append(chosen)
        left.remove(chosen)
        if math.prod(problem.sizes[v] for v in cut) > most:
            return None


def tables_along(problem: Reduced, order: Sequence[int], gone: Set[int] = frozenset()) -> list[set[int]]:
    """The variables of every table along an order, without those that are gone."""
    place = {v: at for at, v in enumerate(order)}
    buckets: list[set[int]] = [{v} for v in order]
    for scope in problem.factors:
        left = [v for v in scope if v not in gone]
        if left:
            buckets[min(place[v] for v in left)].update(left)
    for v, bucket in zip(order, buckets, strict=True):
        rest = bucket - {v}
        if rest:
            buckets[min(place[x] for x in rest)].update(rest)
    return buckets


def chosen_cut(algorithm: CutSet, model: FactorGraph, evidence: Evidence) -> HeldVariables | None:
    """The cut-set of a graph and its evidence; None where too many states would have to be seen."""

    def make() -> HeldVariables | None:
        order = order_of(model, evidence, algorithm.seed, algorithm.effort)
        return cut_of(problem_of(model, evidence), order, algorithm.bits, algorithm.assignments)

    key = f"cut {algorithm.bits} {algorithm.assignments} {algorithm.seed} {algorithm.effort}"
    return evidence.derived(model, key, make)


@dataclass(frozen=True, eq=False)
class Conditioned(State):
    """After `iteration` joint states: log of the sum of their weights, then the weighted mean of packed marginals and
    of the factors' tables, flat, (1 + size + entries,). Empty before one of them was possible.
    """

    messages: Tensor


@kernel(CutSet, FactorGraph)
class CutSetOnGraph(TableKernel):
    """A join tree for each joint state."""

    on_cpu = "exact"

    def init(self, algorithm: CutSet, model: FactorGraph, evidence: Evidence) -> Conditioned:
        nothing = torch.zeros(0, dtype=torch.float64, device="cpu")
        return Conditioned(0, nothing_changed(nothing), nothing)

    def resume(self, algorithm: CutSet, model: FactorGraph, evidence: Evidence, state: Conditioned) -> Conditioned:
        return self.init(algorithm, model, evidence)

    def step(self, algorithm: CutSet, model: FactorGraph, evidence: Evidence, state: Conditioned) -> Conditioned:
        cut = chosen_cut(algorithm, model, evidence)
        if cut is None:
            raise Unsupported(
                f"More than {algorithm.assignments} joint states of held variables are needed before tables have at "
                f"most 2^{algorithm.bits:g} entries: allow larger tables, or use auto."
            )
        if state.iteration >= cut.assignments:
            return replace(state, iteration=state.iteration + 1)
        found = state.messages
        one = _solved(model, problem_of(model, evidence), cut, state.iteration)
        if one is not None:
            found = one if not len(found) else _mean(found, one)
        done = state.iteration + 1 >= cut.assignments
        if done and not len(found):
            with contradictions(model):
                raise Impossible(cut.variables[0] if cut.variables else next(iter(cut.rest.variables), 0))
        residual = torch.tensor(0.0 if done else 1.0, device="cpu")
        return Conditioned(state.iteration + 1, residual, found)

    def beliefs(self, algorithm: CutSet, model: FactorGraph, evidence: Evidence, state: Conditioned) -> Tensor:
        if not len(state.messages):
            return model.packing.softmax(model.local_potentials(evidence))
        return state.messages[1 : 1 + model.packing.size].to(model.unary)

    def factor_beliefs(
        self, algorithm: CutSet, model: FactorGraph, evidence: Evidence, state: Conditioned
    ) -> list[Tensor]:
        if not len(state.messages):
            return [torch.softmax(g.tables.flatten(0, -2), 0).reshape(g.tables.shape) for g in model.groups]
        found, at = [], 1 + model.packing.size
        for group in model.groups:
            size = group.tables.numel()
            found.append(state.messages[at : at + size].reshape(group.tables.shape).to(model.unary))
            at += size
        return found

    def log_partition(
        self, algorithm: CutSet, model: FactorGraph, evidence: Evidence, state: Conditioned
    ) -> LogPartition:
        if not len(state.messages):
            return NO_LOG_PARTITION
        exact = float(state.residual) == 0.0
        return LogPartition(float(state.messages[0]), "exact" if exact else "lower_bound")


def _solved(model: FactorGraph, problem: Reduced, cut: HeldVariables, number: int) -> Tensor | None:
    """What one joint state of a cut-set says, as `Conditioned.messages`; None where it is impossible."""
    try:
        tree = cut.tree(problem, number)
        if math.isinf(tree.problem.constant):
            return None
        found = SolvedTree(tree, factors=True, threads=torch.get_num_threads())
    except Impossible:
        return None
    singles = model.pack(tree.problem.expanded(found.marginals)).double().cpu()
    factors = [torch.as_tensor(table, device="cpu").flatten() for table in laid_factors(found, model)]
    return torch.cat([torch.tensor([found.log_z], dtype=torch.float64, device="cpu"), singles, *factors])


def _mean(one: Tensor, other: Tensor) -> Tensor:
    """The mean of two such answers (1 + size + entries,), by their weights."""
    total = torch.logaddexp(one[0], other[0])
    both = one * torch.exp(one[0] - total) + other * torch.exp(other[0] - total)
    both[0] = total
    return both
