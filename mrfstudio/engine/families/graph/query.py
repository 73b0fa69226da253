"""Query training of any graph: some variables are given, others asked for.

Belief propagation on the factor graph is unrolled by the same `step` that the window shows, and the cross-entropy of
its beliefs at the variables asked for is differentiated with respect to the tables, and so to the shared parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import rows_of
from mrfstudio.engine.families.graph.model import TiedGraph
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.training.density import chunks
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.training.learners.query import Query, iterations_now, query_objective
from mrfstudio.engine.training.queries import parse_queries, settled_targets

SMALLEST_BELIEF = 1e-30


@dataclass(frozen=True)
class Scores:
    """Sums over variables that were asked for."""

    targets: int = 0
    bits: float = 0.0
    right: int = 0

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.targets + other.targets, self.bits + other.bits, self.right + other.right)

    def means(self) -> dict[str, float]:
        count = max(self.targets, 1)
        return {"nce_bits": self.bits / count, "accuracy": self.right / count}


@query_objective("factor-graph")
class GraphObjective:
    """Loss and scores for rows of states (B, variables)."""

    def shape(self, model: TiedGraph) -> tuple[int, ...]:
        return query_shape(model)

    def start(self, learner: Query, model: TiedGraph, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {}

    def batch(
        self,
        learner: Query,
        model: TiedGraph,
        batch: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        context: BatchContext,
    ) -> BatchResult:
        states = model.states_of(rows_of(batch))
        unknown = parse_queries(learner.queries).draw_batch(query_shape(model), context).flatten(1)
        states, unknown, given = with_hidden(model, states, unknown)
        targets = max(1, int(unknown.sum()))
        iterations = iterations_now(learner, context)
        graph = model.graph(finite=True)
        answers = answered(graph, states, ~given, iterations, max(2, learner.readouts))
        read = answers[-learner.readouts :]
        nats = -torch.stack([log_truth(graph, beliefs, states)[unknown].sum() for beliefs in read]).mean()
        loss = nats / (math.log(2) * targets)
        loss.backward()
        scalars = {"iterations": float(iterations)}
        settled = settled_targets(answers, graph.packing.owners(states.device), unknown)
        if math.isfinite(settled):
            scalars["converged"] = settled
        return BatchResult(float(loss.detach()), float(targets), scalars, state)

    def validate(self, learner: Query, model: TiedGraph, source: BatchSource) -> dict[str, float]:
        return query_scores(
            model, source, learner.queries, learner.iterations, derive_seed("validation queries")
        ).means()


def query_shape(model: TiedGraph) -> tuple[int, ...]:
    """(height, width) of a grid, else (visible,)."""
    return getattr(model, "shape", None) or (len(model.visible),)


def with_hidden(model: TiedGraph, states: Tensor, unknown: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States, what is asked for and what is given, all (B, variables): hidden variables are neither."""
    if not model.hidden:
        return states, unknown, ~unknown
    places = torch.tensor(model.visible)
    whole = states.new_zeros(len(states), model.variables)
    no = torch.zeros(len(states), model.variables, dtype=torch.bool)
    return whole.index_copy(1, places, states), no.index_copy(1, places, unknown), no.index_copy(1, places, ~unknown)


def answered(graph: FactorGraph, states: Tensor, unknown: Tensor, iterations: int, readouts: int = 1) -> list[Tensor]:
    """Packed beliefs (B, size) after the last few iterations, given the states (B, variables) that are not unknown."""
    evidence = observed(graph, states, unknown)
    algorithm, beliefs = BeliefPropagation(), []
    state = algorithm.init(graph, evidence)
    for iteration in range(iterations):
        state = algorithm.step(graph, evidence, state)
        if iteration >= iterations - readouts:
            beliefs.append(algorithm.beliefs(graph, evidence, state))
    return beliefs


def observed(graph: FactorGraph, states: Tensor, unknown: Tensor) -> Evidence:
    """Evidence (B, size) that known variables have their states; finite, because gradients pass through it."""
    owner = graph.packing.owners(states.device)
    log = torch.where(unknown[:, owner], 0.0, graph.out_of_reach).to(graph.dtype)
    return Evidence(log.scatter(1, graph.packing.entry_of(states), 0.0))


def log_truth(graph: FactorGraph, beliefs: Tensor, states: Tensor) -> Tensor:
    """log of the belief in the true state of each variable, (B, variables)."""
    return beliefs.gather(1, graph.packing.entry_of(states)).clamp_min(SMALLEST_BELIEF).log()


@torch.no_grad()
def query_scores(model: TiedGraph, source: BatchSource, queries: str, iterations: int, seed: int) -> Scores:
    """Scores on queries that depend on the seed alone."""
    graph, asked = model.graph(finite=True), parse_queries(queries)
    unknown = asked.draw(len(source), query_shape(model), torch.Generator().manual_seed(seed)).flatten(1)
    total = Scores()
    for part in chunks(source):
        states, chosen, given = with_hidden(model, model.states_of(rows_of(source[part])), unknown[part])
        (beliefs,) = answered(graph, states, ~given, iterations)
        bits = -float(log_truth(graph, beliefs, states)[chosen].double().sum()) / math.log(2)
        right = int((graph.packing.argmax(beliefs) == states)[chosen].sum())
        total += Scores(int(chosen.sum()), bits, right)
    return total
