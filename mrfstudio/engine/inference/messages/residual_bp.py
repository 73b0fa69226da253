"""Residual belief propagation: what changed most is sent first, and what does not settle begins again.

The residual of a factor is the largest change of what it would say now [EMK06]. In one round every factor speaks whose
residual is the largest among all that share a variable with it; no two of them are neighbours, so a round equals
sending them one after the other. An iteration has a few rounds. Where messages swing all at once, this often settles.

What has not settled after `patience` iterations begins again with messages drawn at random and with more damping. The
messages that were nearest to a fixed point are the answer, and their residual is that of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import (
    BeliefPropagation,
    BeliefPropagationOnGraph,
    Messages,
    check_possible,
    damp,
)
from mrfstudio.engine.inference.messages.factor_messages import FactorMessages, totals_and_cavities, within_reach
from mrfstudio.engine.inference.residuals import changes
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.interruption import stop_if_interrupted

ROUNDS = 8
"""Rounds of one iteration."""
CALMER = 0.5
"""Part of what damping leaves of a fresh message that every further try leaves of it."""
CALMEST = 0.95

_BP, _ON_GRAPH = BeliefPropagation(kernel="generic"), BeliefPropagationOnGraph()


@ALGORITHMS.register
class ResidualPropagation(Algorithm):
    """Parameters of residual belief propagation."""

    name = "residual-bp"
    title = "Residual belief propagation"
    summary = "Sends what changed most first, and begins again with more damping where that does not settle."

    damping: float = number(0.0, "How much of the old message is kept in the first try.", low=0, high=1, high_open=True)
    patience: int = integer(100, "Iterations of one try.", low=1, logarithmic=True)
    restarts: int = integer(4, "How often to begin again, each time with more damping.", low=0, high=1000)
    seed: int = integer(0, "Draws the messages that a further try begins with.", low=0, advanced=True)

    def damping_of(self, number: int) -> float:
        """Each further try keeps more of the old message."""
        return self.damping if number == 0 else min(1 - (1 - self.damping) * CALMER**number, CALMEST)


@dataclass(frozen=True, eq=False)
class Tries(State):
    """Log-messages (2, …, messages): those of the try under way, and the answer, which were nearest to a fixed point so
    far and whose residual is that of the state. `since` is the iteration at which the first try began.
    """

    messages: Tensor
    since: int = 0

    @property
    def answer(self) -> Messages:
        return Messages(self.iteration, self.residual, self.messages[1])


@kernel(ResidualPropagation, FactorGraph)
class ResidualOnGraph(Kernel):
    """Any graph: the arithmetic is that of belief propagation."""

    def entries(self, model: FactorGraph, evidence: Evidence) -> int | None:
        return _ON_GRAPH.entries(model, evidence)

    def init(self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence) -> Tries:
        begun = _ON_GRAPH.init(_BP, model, evidence)
        return Tries(0, begun.residual, torch.stack([begun.messages, begun.messages]))

    def resume(self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries) -> Tries:
        """Messages stay; how near they were to a fixed point was said of other evidence."""
        answer = state.messages[1]
        return replace(
            state,
            residual=nothing_changed(answer),
            messages=torch.stack([answer, answer]),
            since=state.iteration,
        )

    def step(self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries) -> Tries:
        require_possible(model, evidence)
        local, messages = model.local_potentials(evidence), state.messages[0]
        tried, within = divmod(state.iteration - state.since, algorithm.patience)
        if 0 < tried <= algorithm.restarts and within == 0:
            messages = drawn(model, messages, algorithm.seed + tried)
        damping = algorithm.damping_of(min(tried, algorithm.restarts))
        for _ in range(ROUNDS):
            stop_if_interrupted()
            messages = _round(model, local, messages, damping)
        _, priorities = _proposed(model, local, messages)
        largest = priorities.max() if priorities.numel() else local.new_zeros(())
        nearer = ~(largest > state.residual)  # also where it is no number: the run must say so
        return replace(
            state,
            iteration=state.iteration + 1,
            residual=torch.where(nearer, largest, state.residual),
            messages=torch.stack([messages, torch.where(nearer, messages, state.messages[1])]),
        )

    def beliefs(self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries) -> Tensor:
        return _ON_GRAPH.beliefs(_BP, model, evidence, state.answer)

    def factor_beliefs(
        self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries
    ) -> list[Tensor]:
        return _ON_GRAPH.factor_beliefs(_BP, model, evidence, state.answer)

    def doubt(
        self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries, tolerance: float
    ) -> str | None:
        return _ON_GRAPH.doubt(_BP, model, evidence, state.answer, tolerance)

    def log_partition(
        self, algorithm: ResidualPropagation, model: FactorGraph, evidence: Evidence, state: Tries
    ) -> LogPartition:
        return _ON_GRAPH.log_partition(_BP, model, evidence, state.answer)


def _round(model: FactorGraph, local: Tensor, messages: Tensor, damping: float) -> Tensor:
    """Messages (…, messages) after every factor has spoken that changed more than its neighbours; local (…, size)."""
    proposal, priorities = _proposed(model, local, messages)
    if not priorities.numel():
        return messages
    heads, factors = _ends(model)
    # Ranks are different numbers, so that of two neighbours with the same residual one is the larger.
    ranks = priorities.argsort(dim=-1, stable=True).argsort(dim=-1)
    shape = (*ranks.shape[:-1], -1)
    spoken = ranks.index_select(-1, factors)
    top = ranks.new_zeros((*ranks.shape[:-1], model.variables))
    top = top.scatter_reduce(-1, heads.expand(shape), spoken, "amax")
    first = torch.ones_like(ranks).scatter_reduce(
        -1, factors.expand(shape), (spoken == top.index_select(-1, heads)).to(ranks.dtype), "amin"
    )
    chosen = ((first > 0) & (priorities > 0)).index_select(-1, _speakers(model))
    fresh = damp(damping, FactorMessages.of_graph(model), proposal, messages)
    return within_reach(model, torch.where(chosen, fresh, messages))


def _proposed(model: FactorGraph, local: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
    """What every factor would say, (…, messages), and by how much that differs from what it said, (…, factors).

    `local` is (…, size).
    """
    totals, cavities = totals_and_cavities(model, local, messages)
    if model.has_zeros:
        check_possible(model, totals)
    proposal = FactorMessages.of_graph(model).messages(cavities, 1.0)
    by_message = model.packing.by_message(changes(proposal, messages).detach())
    parts = [torch.stack([block.amax(-2) for block in blocks]).amax(0) for blocks in by_message]
    return proposal, torch.cat(parts, -1) if parts else local.new_zeros((*local.shape[:-1], 0))


def _ends(model: FactorGraph) -> tuple[Tensor, Tensor]:
    """For each message the variable that hears it and the factor that says it; factors are numbered group by group."""

    def make() -> tuple[Tensor, Tensor]:
        heads, factors, first = [], [], 0
        for group in model.groups:
            numbers = torch.arange(first, first + group.count, device=model.device)
            for axis in range(group.order):
                heads.append(group.scopes[axis])
                factors.append(numbers)
            first += group.count
        return torch.cat(heads), torch.cat(factors)

    return model.structural("ends of messages", make)


def _speakers(model: FactorGraph) -> Tensor:
    """(messages,) For each entry of a message the factor that says it."""

    def make() -> Tensor:
        parts, first = [], 0
        for group in model.groups:
            numbers = torch.arange(first, first + group.count, device=model.device)
            parts += [numbers.repeat(states) for states in group.shape]
            first += group.count
        return torch.cat(parts)

    return model.structural("speakers", make)


def drawn(model: FactorGraph, like: Tensor, seed: int) -> Tensor:
    """Log-messages at random, normalised, of the shape of others, (…, messages); every state is possible."""
    generator = torch.Generator(device=like.device).manual_seed(seed)
    noise = torch.empty_like(like).exponential_(generator=generator).clamp(min=1e-3).log()
    return FactorMessages.of_graph(model).normalise(noise)
