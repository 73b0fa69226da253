"""Densities of factor graphs with free or shared tables, and with hidden variables where there are some."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import rows_of
from mrfstudio.engine.families.graph.model import TiedGraph
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.exact.exact import Exact, exact_log_partition
from mrfstudio.engine.inference.many import answers
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import conditionals
from mrfstudio.engine.inference.schedules import variable_colors
from mrfstudio.engine.training.density import (
    Density,
    Inference,
    PartitionEstimate,
    Posterior,
    chunks,
    density,
    pseudo_bits,
)
from mrfstudio.engine.training.learner import BatchSource

EXACT_SCORES = 0.05
"""GB that the exact log-likelihood of a validation may take; above it validations would last longer than training."""


@density("factor-graph")
class GraphDensity(Density):
    """A `TiedGraph` with rows of states (B, visible).

    With hidden variables there is no score by a formula: `posterior` runs an algorithm with the visible ones clamped.
    """

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
        """Unnormalised log p (B,) of states (B, variables)."""
        return self.model.scores(states)

    def log_conditionals(self, states: Tensor) -> Tensor:
        """log p(x_i | all others) (B, variables) of states (B, variables)."""
        graph = self.model.graph()
        logits = conditionals(graph, graph.unary, states)
        totals = graph.packing.to_variable_order(graph.packing.logsumexp(logits))
        return logits.gather(1, graph.packing.entry_of(states)) - totals

    @torch.no_grad()
    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        """States (B, variables), every variable drawn again with uniform numbers (B, variables)."""
        graph = self.model.graph()
        for variables in variable_colors(graph):
            fresh = drawn(graph, conditionals(graph, graph.unary, states), uniform)
            states = states.clone()
            states[:, variables] = fresh[:, variables]
        return states

    @torch.no_grad()
    def redraw_site(self, states: Tensor, uniform: Tensor) -> Tensor:
        """States (B, variables), one variable of each drawn again with uniform numbers (B, 2): which, and its state."""
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

    def partition(self, inference: Inference) -> PartitionEstimate:
        with torch.no_grad():
            graph = self.model.graph()
        nothing, algorithm = graph.no_evidence(), inference.algorithm
        outcome = run(algorithm, graph, nothing, inference.limits)
        beliefs = algorithm.beliefs(graph, nothing, outcome.state)
        factors = algorithm.factor_beliefs(graph, nothing, outcome.state)
        marginals = torch.cat([beliefs, *(table.reshape(-1) for table in factors)]).detach()
        surrogate = (marginals * self._finite_entries()).sum()
        log_z = algorithm.log_partition(graph, nothing, outcome.state).value
        value = surrogate.detach() if log_z is None else surrogate.new_tensor(log_z)
        return PartitionEstimate(value, surrogate, float(outcome.converged))

    @classmethod
    def hides(cls, model: TiedGraph) -> bool:
        return bool(model.hidden)

    def posterior(self, inference: Inference) -> Posterior:
        """Marginals of all entries (B, entries), clamped."""
        with torch.no_grad():
            graph = self.model.graph()
        found = answers(inference.algorithm, graph, self.model.observed(self.visible), inference.limits)
        marginals = torch.cat([found.beliefs, *(table.flatten(1) for table in found.factors)], 1)
        log_z = found.log_z
        if bool(log_z.isnan().any()):  # an algorithm without log Z: the loss is then a difference of scores
            log_z = marginals @ self._finite_entries().detach()
        return Posterior((marginals,), log_z, found.converged)

    def expected(self, posterior: Posterior) -> Tensor:
        return posterior.marginals[0] @ self._finite_entries()

    def clamped(self, inference: Inference) -> PartitionEstimate:
        return self.summed(inference) if self.model.hidden else super().clamped(inference)

    def _finite_entries(self) -> Tensor:
        """Forbidden entries have no parameter, and -inf times a marginal of 0 has no value."""
        return torch.where(self.model.coefficient != 0, self.model.entries(), 0.0)

    @classmethod
    def refusal(cls, model: TiedGraph, algorithm: Algorithm) -> str | None:
        if algorithm.marginals_only:
            # pcd does not sum over hidden variables.
            other = "exact" if model.hidden else "the learner pcd, which needs none,"
            return f"{algorithm.name} gives no beliefs of factors: use {other} or bp."
        with torch.no_grad():
            return algorithm.supports(model.graph())

    @classmethod
    def measure(cls, model: TiedGraph, source: BatchSource) -> dict[str, float]:
        log_z = log_partition(model)
        if model.hidden:
            return {} if log_z is None else {"nll": log_z - clamped_log_partition(model, source)}
        pseudo = pseudo_bits(cls, model, source)
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


@torch.no_grad()
def clamped_log_partition(model: TiedGraph, source: BatchSource) -> float:
    """The mean over items of log Σ_h exp score(v, h), exact: an item is never harder than the whole graph."""
    exact = Inference(Exact(), Limits(iterations=1))
    return sum(float(GraphDensity(model, source[part]).posterior(exact).log_z.sum()) for part in chunks(source)) / len(
        source
    )


def drawn(graph: FactorGraph, logits: Tensor, uniform: Tensor) -> Tensor:
    """A state for each variable and row, (B, variables), from log-potentials (B, size) and one uniform number each."""
    in_order = torch.as_tensor(graph.packing.order, device=graph.device)
    uniform, parts, start = uniform[:, in_order], [], 0
    for block in graph.packing.by_block(logits):
        chances = torch.softmax(block, -2).cumsum(-2)
        count = block.shape[-1]
        own = uniform[:, None, start : start + count]
        # The last bound is 1 but for rounding; a draw above it means the last state.
        parts.append((chances[:, :-1] <= own).sum(1))
        start += count
    return graph.packing.to_variable_order(torch.cat(parts, 1))
