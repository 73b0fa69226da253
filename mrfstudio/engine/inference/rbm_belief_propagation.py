"""Belief propagation on restricted and deep Boltzmann machines: matrices of log-odds instead of a graph.

The temperature of the messages is the algorithm's times the model's learned one: at the algorithm's 1 a query-trained
machine answers as it was trained. The sequential schedule alternates half-steps, hidden to outer and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.inference.bipartite import (
    Query,
    hidden_beliefs,
    hidden_totals,
    next_messages,
    observed_change,
    outer_totals,
    pair_beliefs,
    prepare,
    visible_beliefs,
)
from mrfstudio.engine.inference.bipartite_energy import bethe_log_z
from mrfstudio.engine.inference.contract import NO_LOG_PARTITION, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.transfer import Transfer
from mrfstudio.engine.models.rbm import RBM


@dataclass(frozen=True, eq=False)
class Odds(State):
    """Messages as log-odds (B, U, H) between the outer units `unit` (B, U) and the hidden units.

    `said` is the part of their messages that observed units have sent: nothing before the first step, as on a factor
    graph, and with damping never quite all.
    """

    to_hidden: Tensor
    to_outer: Tensor
    unit: Tensor
    said: float


@kernel(BeliefPropagation, RBM)
class BipartiteBeliefPropagation(Kernel):
    """Observed visible units enter exactly; only unknown ones carry messages."""

    def covers(self, algorithm: BeliefPropagation, model: RBM) -> bool:
        return algorithm.kernel != "generic"

    def entries(self, model: RBM, evidence: Evidence) -> int | None:
        return 2 * prepare(model, evidence).unit.numel() * model.hidden

    def init(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence) -> Odds:
        query = prepare(model, evidence)
        zero = query.weights.new_zeros(query.unit.shape[0], query.unit.shape[1], model.hidden)
        return Odds(0, nothing_changed(zero), zero, zero, query.unit, 0.0)

    @torch.no_grad()
    def step(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Odds:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        temperature = algorithm.temperature * model.temperature.item()
        fast = scaled(model, evidence, query, temperature)
        hidden = hidden_totals(query, state.to_hidden, state.said)
        to_outer, change = next_messages(hidden[:, None], state.to_hidden, state.to_outer, query, temperature, fast)
        if algorithm.damping:
            to_outer.lerp_(state.to_outer, algorithm.damping)
        heard = state.to_outer if algorithm.schedule == "parallel" else to_outer
        outer = outer_totals(query, heard)[:, :, None]
        to_hidden, residual = next_messages(outer, heard, state.to_hidden, query, temperature, fast)
        residual = torch.maximum(change, residual)
        if state.said < 1:
            residual = torch.maximum(residual, observed_change(model, query, state.said))
        if algorithm.damping:
            to_hidden.lerp_(state.to_hidden, algorithm.damping)
        said = 1 - (1 - state.said) * algorithm.damping
        return Odds(state.iteration + 1, residual, to_hidden, to_outer, query.unit, said)

    def beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Tensor:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        return visible_beliefs(model, query, outer_totals(query, state.to_outer))

    def hidden_beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Tensor:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        hidden = hidden_totals(query, state.to_hidden, state.said)
        return hidden_beliefs(model, query, outer_totals(query, state.to_outer), hidden)

    def factor_beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> list[Tensor]:
        """Γ (…, 2, 2, O, H) as the only entry."""
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        hidden = hidden_totals(query, state.to_hidden, state.said)
        outer = outer_totals(query, state.to_outer)[:, :, None] - state.to_outer
        cavity = hidden[:, None] - state.to_hidden
        return [pair_beliefs(model, query, outer, cavity, torch.sigmoid(hidden))]

    def log_partition(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> LogPartition:
        if algorithm.temperature * model.temperature.item() != 1.0:
            return NO_LOG_PARTITION
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        return LogPartition(bethe_log_z(model, evidence, query, state.to_outer, state.to_hidden), "estimate")


@kernel(BeliefPropagation, RBM)
class GraphWithTemperature(Kernel):
    """The slow twin: the machine's factor graph at the product of both temperatures."""

    def covers(self, algorithm: BeliefPropagation, model: RBM) -> bool:
        return algorithm.kernel == "generic"

    def init(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence) -> Messages:
        graph, packed = model.as_graph(evidence)
        return _warmed(algorithm, model).init(graph, packed)  # type: ignore[return-value]

    def step(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Messages) -> Messages:
        graph, packed = model.as_graph(evidence)
        return _warmed(algorithm, model).step(graph, packed, state)  # type: ignore[return-value]

    def beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Messages) -> Tensor:
        graph, packed = model.as_graph(evidence)
        return model.from_graph(_warmed(algorithm, model).beliefs(graph, packed, state), evidence)

    def hidden_beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Messages) -> Tensor:
        graph, packed = model.as_graph(evidence)
        return model.hidden_from_graph(_warmed(algorithm, model).beliefs(graph, packed, state))

    def log_partition(
        self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Messages
    ) -> LogPartition:
        graph, packed = model.as_graph(evidence)
        return _warmed(algorithm, model).log_partition(graph, packed, state)


def _warmed(algorithm: BeliefPropagation, model: RBM) -> BeliefPropagation:
    return algorithm.replace(temperature=algorithm.temperature * model.temperature.item())


def scaled(model: RBM, evidence: Evidence, query: Query, temperature: float) -> Transfer | None:
    """The transfer function of W / T, made once for evidence and temperature; None at temperature 0."""
    if temperature == 0:
        return None
    version = model.weights._version
    return evidence.derived(model, f"transfer {temperature} {version}", lambda: Transfer(query.weights / temperature))


def fitted(model: RBM, query: Query, state: Odds) -> Odds:
    """The state for other unknown units than it had: their messages stay, those of new ones start at zero."""
    if state.unit.shape == query.unit.shape and torch.equal(state.unit, query.unit):
        return state
    to_hidden, to_outer = (fitted_messages(model, query, state.unit, m) for m in (state.to_hidden, state.to_outer))
    return Odds(state.iteration, state.residual, to_hidden, to_outer, query.unit, state.said)


def fitted_messages(model: RBM, query: Query, unit: Tensor, messages: Tensor) -> Tensor:
    """Messages (B, U, H) of the outer units `unit` as those of the query's units; new ones are zero."""
    whole = messages.new_zeros(len(messages), model.outer + 1, model.hidden)
    whole.scatter_(1, unit[:, :, None].expand_as(messages), messages)
    whole[:, -1] = 0  # where padding went
    return whole.gather(1, query.unit[:, :, None].expand(-1, -1, model.hidden))
