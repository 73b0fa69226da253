"""Belief propagation on restricted and deep Boltzmann machines: matrices of log-odds instead of a graph.

The temperature of the messages is the algorithm's times the model's learned one: at the algorithm's 1 a query-trained
machine answers as it was trained. The sequential schedule alternates half-steps, hidden to outer and back. Where the
product of both is 1 and no weight is large, messages are kept as ratios (`ratio_step.py`). The Bethe free energy of the
same messages is below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from mrfstudio.engine.families.rbm.bipartite import (
    BipartiteQuery,
    hidden_beliefs,
    hidden_totals,
    next_messages,
    observed_change,
    outer_totals,
    pair_beliefs,
    prepare,
    visible_beliefs,
)
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.ratio_step import log_sum, next_ratios, within_ratios
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import NO_LOG_PARTITION, Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.inference.messages.transfer import Transfer
from mrfstudio.engine.runtime.threads import fitting_threads


@dataclass(frozen=True, eq=False)
class Odds(State):
    """Messages (B, U, H) between the outer units `unit` (B, U) and the hidden units: log-odds, or `ratios` e^f of them.

    `said` is the part of their messages that observed units have sent: nothing before the first step, as on a factor
    graph, and with damping never quite all.
    """

    remembered: ClassVar[tuple[str, ...]] = ("ratios",)  # files without it hold log-odds, as the first state does
    to_hidden: Tensor
    to_outer: Tensor
    unit: Tensor
    said: float
    ratios: bool = False

    def as_ratios(self) -> Odds:
        if self.ratios:
            return self
        return replace(self, to_hidden=self.to_hidden.exp(), to_outer=self.to_outer.exp(), ratios=True)

    def as_logs(self) -> Odds:
        if not self.ratios:
            return self
        return replace(self, to_hidden=self.to_hidden.log(), to_outer=self.to_outer.log(), ratios=False)


@kernel(BeliefPropagation, RBM)
class BipartiteBeliefPropagation(Kernel):
    """Observed visible units enter exactly; only unknown ones carry messages."""

    def covers(self, algorithm: BeliefPropagation, model: RBM) -> bool:
        return algorithm.kernel != "generic"

    def init(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence) -> Odds:
        query = prepare(model, evidence)
        zero = query.weights.new_zeros(query.unit.shape[0], query.unit.shape[1], model.hidden)
        return Odds(0, nothing_changed(zero), zero, zero, query.unit, 0.0)

    @torch.no_grad()
    def step(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Odds:
        threads = torch.get_num_threads()
        with fitting_threads(0):  # blocks are shared out, and each operation is small
            return self._step(algorithm, model, evidence, state, threads)

    def _step(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds, threads: int) -> Odds:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        temperature = algorithm.temperature * model.temperature_now
        fast = scaled(model, evidence, query, temperature)
        said = 1 - (1 - state.said) * algorithm.damping
        if within_ratios(query, temperature):
            assert fast is not None
            to_hidden, to_outer, residual = _by_ratios(algorithm, query, fast, state.as_ratios(), threads)
            return Odds(
                state.iteration + 1,
                _heard_too(model, query, state, residual),
                to_hidden,
                to_outer,
                query.unit,
                said,
                True,
            )
        state = state.as_logs()
        hidden = hidden_totals(query, state.to_hidden, state.said)[:, None]
        to_outer, change = next_messages(hidden, state.to_hidden, state.to_outer, query, temperature, fast, threads)
        if algorithm.damping:
            to_outer.lerp_(state.to_outer, algorithm.damping)
        heard = state.to_outer if algorithm.schedule == "parallel" else to_outer
        outer = outer_totals(query, heard)[:, :, None]
        to_hidden, residual = next_messages(outer, heard, state.to_hidden, query, temperature, fast, threads)
        residual = _heard_too(model, query, state, torch.maximum(change, residual))
        if algorithm.damping:
            to_hidden.lerp_(state.to_hidden, algorithm.damping)
        return Odds(state.iteration + 1, residual, to_hidden, to_outer, query.unit, said)

    def beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Tensor:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        return visible_beliefs(model, query, _outer(query, state))

    def hidden_beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> Tensor:
        query = prepare(model, evidence)
        state = fitted(model, query, state)
        return hidden_beliefs(model, query, _outer(query, state), _hidden(query, state))

    def factor_beliefs(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> list[Tensor]:
        """Γ (…, 2, 2, O, H) as the only entry."""
        query = prepare(model, evidence)
        state = fitted(model, query, state).as_logs()
        hidden = hidden_totals(query, state.to_hidden, state.said)
        outer = outer_totals(query, state.to_outer)[:, :, None] - state.to_outer
        cavity = hidden[:, None] - state.to_hidden
        return [pair_beliefs(model, query, outer, cavity, torch.sigmoid(hidden))]

    def log_partition(self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Odds) -> LogPartition:
        if algorithm.temperature * model.temperature_now != 1.0:
            return NO_LOG_PARTITION
        query = prepare(model, evidence)
        state = fitted(model, query, state).as_logs()
        return LogPartition(bethe_log_z(model, evidence, query, state.to_outer, state.to_hidden), "estimate")


def _by_ratios(
    algorithm: BeliefPropagation, query: BipartiteQuery, fast: Transfer, state: Odds, threads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Ratios to hidden and to outer units (B, U, H) after one more iteration, and their largest change."""
    hidden = _hidden(query, state)[:, None]
    to_outer, change = next_ratios(hidden, state.to_hidden, state.to_outer, query, fast, threads)
    to_outer = _damped(algorithm.damping, to_outer, state.to_outer)
    heard = state.to_outer if algorithm.schedule == "parallel" else to_outer
    outer = (query.outer + log_sum(query, heard, 2))[:, :, None]
    to_hidden, residual = next_ratios(outer, heard, state.to_hidden, query, fast, threads)
    return _damped(algorithm.damping, to_hidden, state.to_hidden), to_outer, torch.maximum(change, residual)


def _damped(damping: float, ratios: Tensor, old: Tensor) -> Tensor:
    """Ratios (B, U, H) whose logarithms keep a part of the old ones."""
    return ratios.pow_(1 - damping).mul_(old.pow(damping)) if damping else ratios


def _heard_too(model: RBM, query: BipartiteQuery, state: Odds, residual: Tensor) -> Tensor:
    """The residual, a scalar, with what observed units say while they have said only a part of it."""
    return residual if state.said >= 1 else torch.maximum(residual, observed_change(model, query, state.said))


def _hidden(query: BipartiteQuery, state: Odds) -> Tensor:
    """Log-odds (B, H) of the hidden units."""
    if not state.ratios:
        return hidden_totals(query, state.to_hidden, state.said)
    return query.hidden + state.said * query.field + log_sum(query, state.to_hidden, 1)


def _outer(query: BipartiteQuery, state: Odds) -> Tensor:
    """Log-odds (B, U) of the unknown outer units."""
    if not state.ratios:
        return outer_totals(query, state.to_outer)
    return query.outer + log_sum(query, state.to_outer, 2)


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

    def doubt(
        self, algorithm: BeliefPropagation, model: RBM, evidence: Evidence, state: Messages, tolerance: float
    ) -> str | None:
        graph, packed = model.as_graph(evidence)
        return _warmed(algorithm, model).doubt(graph, packed, state, tolerance)


def _warmed(algorithm: BeliefPropagation, model: RBM) -> BeliefPropagation:
    return algorithm.replace(temperature=algorithm.temperature * model.temperature_now)


def scaled(model: RBM, evidence: Evidence, query: BipartiteQuery, temperature: float) -> Transfer | None:
    """The transfer function of W / T, made once for evidence and temperature; None at temperature 0."""
    if temperature == 0:
        return None
    version = model.weights._version
    return evidence.derived(model, f"transfer {temperature} {version}", lambda: Transfer(query.weights / temperature))


def fitted(model: RBM, query: BipartiteQuery, state: Odds) -> Odds:
    """The state for other unknown units than it had: their messages stay, those of new ones start at zero."""
    if state.unit.shape == query.unit.shape and torch.equal(state.unit, query.unit):
        return state
    state = state.as_logs()  # where silence is 0
    to_hidden, to_outer = (fitted_messages(model, query, state.unit, m) for m in (state.to_hidden, state.to_outer))
    return Odds(state.iteration, state.residual, to_hidden, to_outer, query.unit, state.said)


def fitted_messages(model: RBM, query: BipartiteQuery, unit: Tensor, messages: Tensor) -> Tensor:
    """Messages (B, U, H) of the outer units `unit` as those of the query's units; new ones are zero."""
    whole = messages.new_zeros(len(messages), model.outer + 1, model.hidden)
    whole.scatter_(1, unit[:, :, None].expand_as(messages), messages)
    whole[:, -1] = 0  # where padding went
    return whole.gather(1, query.unit[:, :, None].expand(-1, -1, model.hidden))


# The Bethe free energy ------------------------------------------------------------------------------------------------


def bethe_log_z(model: RBM, evidence: Evidence, query: BipartiteQuery, to_outer: Tensor, to_hidden: Tensor) -> float:
    """log Z_Bethe, evidence included, of one item (or the sum over a batch); messages (B, U, H) of temperature 1.

    Σ_i log Z_i + Σ_pairs log E[θ / (m m')] with the expectation under the product of both beliefs. Observed units are
    conditioned on: what they weigh is constant, their pairs are the field. In float64, because large terms cancel.
    """
    to_outer, to_hidden = to_outer.double(), to_hidden.double()
    outer, hidden = _local(model, evidence, query)
    nodes = torch.logaddexp(outer[0], outer[1] + to_outer.sum(2)).sum()
    field = query.field.double() / 2
    nodes = nodes + torch.logaddexp(hidden[0] - field, hidden[1] + field + to_hidden.sum(1)).sum()
    weights = query.weights.double() / 2
    o = outer_totals(query, to_outer)[:, :, None].double()
    h = hidden_totals(query, to_hidden)[:, None].double()
    terms = [
        weights + logsigmoid(-o) + logsigmoid(-h),
        -weights + logsigmoid(-o) + logsigmoid(h) - to_hidden,
        -weights + logsigmoid(o) - to_outer + logsigmoid(-h),
        weights + logsigmoid(o) - to_outer + logsigmoid(h) - to_hidden,
    ]
    present = (query.unit < model.outer)[:, :, None]
    pairs = torch.where(present, torch.logsumexp(torch.stack(terms), 0), torch.zeros_like(terms[0]))
    return float(nodes + pairs.sum() + _constant(model, evidence, query))


def _local(
    model: RBM, evidence: Evidence, query: BipartiteQuery
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Log-potentials of states 0 and 1 of the unknown outer (B, U) and the hidden units (B, H); padding weighs 1."""
    log_outer, log_hidden = _sides(model, evidence)
    # One state: its logarithm adds nothing.
    silent = torch.tensor([-torch.inf, 0.0], dtype=torch.float64, device=model.weights.device)
    outer = log_outer + _signed(model.outer_bias)
    padded = torch.cat([outer, silent.expand(len(outer), 1, 2)], 1)
    chosen = padded.gather(1, query.unit[:, :, None].expand(-1, -1, 2))
    hidden = log_hidden + _signed(model.hidden_bias)
    return (chosen[..., 0], chosen[..., 1]), (hidden[..., 0], hidden[..., 1])


def _sides(model: RBM, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Evidence of the outer (B, O, 2) and the hidden units (B, H, 2), in float64."""
    log = evidence.log_potentials.double()
    if log.shape[-2] != model.units:
        log = pad(log, (0, 0, 0, model.units - model.visible))
    log = log.reshape(-1, model.units, 2)
    visible, hidden, second = log.split([model.visible, model.hidden, model.second], 1)
    return torch.cat([visible, second], 1), hidden


def _signed(bias: Tensor) -> Tensor:
    """Half a bias against and for each state, (…, 2)."""
    half = bias.detach().double() / 2
    return torch.stack([-half, half], -1)


def _constant(model: RBM, evidence: Evidence, query: BipartiteQuery) -> Tensor:
    """What observed units weigh, and the constant of φ for every item."""
    outer = _sides(model, evidence)[0] + _signed(model.outer_bias)
    state = (query.spins > 0).long()[:, :, None]
    observed = outer.gather(2, state)[..., 0]
    biases = model.outer_bias.detach().double().sum() + model.hidden_bias.detach().double().sum()
    item = (biases - model.weights.detach().double().sum()) / 2
    return torch.where(query.spins != 0, observed, torch.zeros_like(observed)).sum() + len(query.unit) * item
