"""Densities of fully visible factor graphs: Ising models, and any graph with free or shared tables."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.data.rows import rows_of
from mrfstudio.engine.inference.contract import Algorithm
from mrfstudio.engine.inference.exact import Exact, exact_log_partition
from mrfstudio.engine.inference.gibbs import Gibbs, conditionals
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.inference.schedules import variable_colors
from mrfstudio.engine.learning.contract import BatchSource
from mrfstudio.engine.learning.density import Density, Inference, Partition, chunks, density, pseudo_bits
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.tied_graph import TiedGraph

EXACT_SCORES = 0.05
"""GB that the exact log-likelihood of a validation may take; above it validations would last longer than training."""


@density("ising", "factor-graph")
class GraphDensity(Density):
    """A `TiedGraph` with rows of states (B, variables)."""

    single_sites = True

    def __init__(self, model: TiedGraph, batch: Any) -> None:
        self.model = model
        self.visible = model.states_of(rows_of(batch))
        self.draws = model.variables

    def part(self, rows: slice) -> GraphDensity:
        part = copy(self)
        part.visible = self.visible[rows]
        return part

    def score(self, states: Tensor) -> Tensor:
        return self.model.scores(states)

    def log_conditionals(self, states: Tensor) -> Tensor:
        graph = self.model.graph()
        logits = conditionals(graph, graph.unary, states)
        totals = graph.packing.to_variable_order(graph.packing.logsumexp(logits))
        return logits.gather(1, graph.packing.entry_of(states)) - totals

    @torch.no_grad()
    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        graph = self.model.graph()
        for variables in variable_colors(graph):
            fresh = drawn(graph, conditionals(graph, graph.unary, states), uniform)
            states = states.clone()
            states[:, variables] = fresh[:, variables]
        return states

    @torch.no_grad()
    def redraw_site(self, states: Tensor, uniform: Tensor) -> Tensor:
        graph = self.model.graph()
        site = (uniform[:, :1] * graph.variables).long().clamp_max(graph.variables - 1)
        fresh = drawn(graph, conditionals(graph, graph.unary, states), uniform[:, 1:].expand(-1, graph.variables))
        return states.scatter(1, site, fresh.gather(1, site))

    @torch.no_grad()
    def alone(self) -> Tensor:
        graph = self.model.graph()
        return graph.packing.argmax(graph.unary).expand_as(self.visible)

    def joint(self) -> FactorGraph:
        return self.model.graph()

    def partition(self, inference: Inference) -> Partition:
        with torch.no_grad():
            graph = self.model.graph()
        nothing, algorithm = graph.no_evidence(), inference.algorithm
        outcome = run(algorithm, graph, nothing, inference.limits)
        beliefs = algorithm.beliefs(graph, nothing, outcome.state)
        factors = algorithm.factor_beliefs(graph, nothing, outcome.state)
        marginals = torch.cat([beliefs, *(table.reshape(-1) for table in factors)]).detach()
        # Forbidden entries have no parameter, and -inf times a marginal of 0 has no value.
        entries = torch.where(self.model.coefficient != 0, self.model.entries(), 0.0)
        surrogate = (marginals * entries).sum()
        log_z = algorithm.log_partition(graph, nothing, outcome.state).value
        value = surrogate.detach() if log_z is None else surrogate.new_tensor(log_z)
        return Partition(value, surrogate, float(outcome.converged))

    @classmethod
    def refusal(cls, model: TiedGraph, algorithm: Algorithm) -> str | None:
        if isinstance(algorithm, Gibbs):
            return "gibbs gives no beliefs of factors: use the learner pcd, which learns from chains, or bp."
        with torch.no_grad():
            return algorithm.supports(model.graph())

    @classmethod
    def measure(cls, model: TiedGraph, source: BatchSource) -> dict[str, float]:
        pseudo = pseudo_bits(cls, model, source)
        log_z = log_partition(model)
        if log_z is None:
            return {"pseudo_bits": pseudo}
        with torch.no_grad():
            total = sum(float(model.scores(cls(model, source[part]).visible).sum()) for part in chunks(source))
        return {"nll": log_z - total / len(source), "pseudo_bits": pseudo}


@torch.no_grad()
def log_partition(model: TiedGraph, gigabytes: float = EXACT_SCORES) -> float | None:
    """log Z by exact inference, or None where that would take more memory than this, or where nothing is possible."""
    graph = model.graph()
    if Exact(memory=gigabytes).supports(graph) is not None:
        return None
    found = exact_log_partition(graph)
    return found if math.isfinite(found) else None


def drawn(graph: FactorGraph, logits: Tensor, uniform: Tensor) -> Tensor:
    """A state for each variable and row, (B, variables), from log-potentials (B, size) and one uniform number each."""
    in_order = torch.from_numpy(graph.packing.order)
    uniform, parts, start = uniform[:, in_order], [], 0
    for block in graph.packing.by_block(logits):
        chances = torch.softmax(block, -2).cumsum(-2)
        count = block.shape[-1]
        own = uniform[:, None, start : start + count]
        # The last bound is 1 but for rounding; a draw above it means the last state.
        parts.append((chances[:, :-1] <= own).sum(1))
        start += count
    return graph.packing.to_variable_order(torch.cat(parts, 1))
