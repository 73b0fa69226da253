"""Join-graph propagation [DKM02]: belief propagation between clusters of variables.

    m_{a→b}(s) ∝ Σ_{x_a \\ s} ψ_a(x_a) Π_{c ≠ b} m_{c→a},        b_a(x_a) ∝ ψ_a(x_a) Π_c m_{c→a}
    log Z ≈ Σ_a log Σ ψ_a Π_c m_{c→a} - Σ_{(a,b)} log Σ_s m_{a→b} m_{b→a}

ψ_a is the product of the factors in a cluster; s is what an edge shares. An iteration goes through all clusters in the
order of elimination and back. On a join tree the first one is exact; larger clusters mean fewer loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.join.budget import Begun
from mrfstudio.engine.inference.join.clusters import mini_buckets
from mrfstudio.engine.inference.join.layout import Layout
from mrfstudio.engine.inference.join.orders import Order, best_order
from mrfstudio.engine.inference.join.probing import probed
from mrfstudio.engine.inference.join.reduction import Floats, Impossible, Reduced, Scope, reduced
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import ALGORITHMS

SETTLED = 1e-9
"""A residual below which a damped join tree has its answer."""


class Eliminating(Algorithm):
    """Parameters of what works along an elimination order."""

    seed: int = integer(0, "Draws ties of the elimination order.", low=0, advanced=True)
    effort: float = number(
        1.0,
        "How long to look for a better elimination order, in times of the usual.",
        low=0.1,
        high=100.0,
        advanced=True,
    )


@ALGORITHMS.register
class JoinGraph(Eliminating):
    """Parameters of join-graph propagation."""

    name = "join-graph"
    title = "Join-graph propagation"
    summary = "Messages between clusters of variables: exact where clusters may be large enough, better than BP below."

    bits: float = number(12.0, "Tables of clusters have at most 2 to this many entries.", low=2.0, high=34.0)
    damping: float = number(0.0, "How much of the old message is kept.", low=0.0, high=1.0, high_open=True)


@dataclass(frozen=True, eq=False)
class ClusterMessages(State):
    """All messages one after the other, for each edge both directions: linear, or logarithmic where that is needed."""

    messages: Tensor


def problem_of(graph: FactorGraph, evidence: Evidence) -> Reduced:
    """The reduced graph, made once for a graph and its evidence."""

    def make() -> Reduced:
        with contradictions(graph):
            return probed(reduced(graph, evidence))

    return evidence.derived(graph, "reduced", make)


def order_of(
    graph: FactorGraph,
    evidence: Evidence,
    seed: int,
    effort: float = 1.0,
    enough: Callable[[], bool] = lambda: False,
) -> Order:
    """The elimination order of that; the search for it ends where it is `enough`."""
    return evidence.derived(
        graph, f"order {seed} {effort}", lambda: best_order(problem_of(graph, evidence), seed, effort, enough)
    )


def known(graph: FactorGraph, evidence: Evidence, begun: Begun, seed: int, effort: float) -> None:
    """Keep what was found out already for `problem_of` and `order_of`."""
    evidence.derived(graph, "reduced", lambda: begun.problem)
    evidence.derived(graph, f"order {seed} {effort}", lambda: begun.order)


@contextmanager
def contradictions(graph: FactorGraph) -> Iterator[None]:
    """Say of which node nothing is left."""
    try:
        yield
    except Impossible as problem:
        raise ContradictoryEvidence(graph.labels[problem.variable]) from None


def layout_of(graph: FactorGraph, evidence: Evidence, chosen: JoinGraph) -> Layout:
    """Clusters of at most 2^bits entries with their tables."""

    def make() -> Layout:
        problem = problem_of(graph, evidence)
        clusters = mini_buckets(problem, order_of(graph, evidence, chosen.seed, chosen.effort), chosen.bits)
        if not clusters.tree:  # a tree finds out by itself, also what a search would leave undecided
            require_possible(graph, evidence)
        with contradictions(graph):
            return Layout(problem, clusters)

    return evidence.derived(graph, f"clusters {chosen.bits} {chosen.seed} {chosen.effort}", make)


class TableKernel(Kernel):
    """A CPU kernel: tables of many shapes, one after the other, in numpy."""

    on_cpu = "exact"

    def entries(self, model: FactorGraph, evidence: Evidence) -> int | None:
        return None


@kernel(JoinGraph, FactorGraph)
class JoinGraphOnGraph(TableKernel):
    """Clusters that fit into a size."""

    def init(self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence) -> ClusterMessages:
        messages = torch.as_tensor(layout_of(model, evidence, algorithm).silent(), device="cpu")
        return ClusterMessages(0, nothing_changed(messages), messages)

    def resume(
        self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence, state: ClusterMessages
    ) -> ClusterMessages:
        """Other evidence folds into other clusters, whose messages begin anew."""
        return replace(self.init(algorithm, model, evidence), iteration=state.iteration)

    def step(
        self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence, state: ClusterMessages
    ) -> ClusterMessages:
        layout = layout_of(model, evidence, algorithm)
        # Nothing was said yet: no second copy of what may be gigabytes.
        messages = state.messages.numpy().copy() if len(state.messages) else layout.silent()
        with contradictions(model):
            change = layout.sweep(messages, algorithm.damping)
        residual = torch.tensor(change, device="cpu")
        return ClusterMessages(state.iteration + 1, residual, torch.as_tensor(messages, device="cpu"))

    def beliefs(self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence, state: ClusterMessages) -> Tensor:
        layout = layout_of(model, evidence, algorithm)
        with contradictions(model):
            found = layout.marginals(_fitting(layout, state))
        return model.pack(layout.problem.expanded(found)).to(model.unary)

    def factor_beliefs(
        self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence, state: ClusterMessages
    ) -> list[Tensor]:
        layout = layout_of(model, evidence, algorithm)
        messages = _fitting(layout, state)
        return [group_beliefs(layout, messages, group).to(model.unary) for group in model.groups]

    def log_partition(
        self, algorithm: JoinGraph, model: FactorGraph, evidence: Evidence, state: ClusterMessages
    ) -> LogPartition:
        layout = layout_of(model, evidence, algorithm)
        settled = not algorithm.damping or float(state.residual) < SETTLED
        exact = layout.clusters.tree and state.iteration > 0 and settled
        return LogPartition(layout.log_z(_fitting(layout, state)), "exact" if exact else "estimate")


def _fitting(layout: Layout, state: ClusterMessages) -> Floats:
    """A state's messages, or such that say nothing where evidence has changed since and clusters are others now."""
    messages: Floats = state.messages.numpy()
    return messages if len(messages) == layout.size else layout.silent()


def group_beliefs(layout: Layout, messages: Floats, group: FactorGroup) -> Tensor:
    """Beliefs (k_1, …, k_r, n) of a group's factors, from a cluster that holds each."""
    problem, held = layout.problem, {}
    for cluster, factors in enumerate(layout.clusters.factors):
        held.update(dict.fromkeys(factors, cluster))
    singles: dict[int, Floats] | None = None
    found = np.zeros((*group.shape, group.count))
    left: dict[int, list[tuple[int, Scope, Scope]]] = {}
    for place, scope in enumerate(group.scopes.t().tolist()):
        free = problem.leaders(scope)
        if len(free) > 1:
            left.setdefault(held[tuple(sorted(free))], []).append((place, free, tuple(scope)))
        else:
            if free and singles is None:
                singles = layout.marginals(messages)
            table = singles[free[0]] if free and singles is not None else np.ones(())
            found[..., place] = problem.laid_out(table, free, tuple(scope))
    for cluster, members in left.items():
        tables = layout.factors(cluster, [free for _, free, _ in members], messages)
        for (place, free, scope), table in zip(members, tables, strict=True):
            found[..., place] = problem.laid_out(table, free, scope)
    return torch.as_tensor(found, device="cpu")
