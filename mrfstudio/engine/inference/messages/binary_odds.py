"""Belief propagation on large binary pairwise graphs with few, weak neighbours: messages as odds, without a logarithm.

With r = m(1) / m(0) and the sender's cavity c as odds, the product of what others say to it,

    r' = (φ_01 + φ_11 c) / (φ_00 + φ_10 c).

No message goes beyond the span of its table, so where degrees and spans are small no product of odds leaves the range
of its precision, and sums, exponentials and logarithms of log-ratios (`binary_pairwise.py`) become products. All that
a node receives lies in one column, (degree, nodes), and so does what it answers: one gather a step is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.inference.messages.binary_pairwise import (
    BinaryPairwise,
    Edges,
    LogRatios,
    edges_of,
    exponent_range,
    linear_tables,
    node_ratios,
    span_of,
)
from mrfstudio.engine.inference.residuals import SATURATED

LARGE = 1000
"""Edges from which on it is worth it. The messages of smaller graphs, which people edit, stay log-ratios: those bear
any coupling, so that a run goes on when one is changed."""
PADDING = 1.25
"""How many times as many places as messages columns of equal length may have."""


@dataclass(frozen=True, eq=False)
class MessageOdds(State):
    """r (…, degree · n): what the nodes receive, (degree, n) in packed order; places that a short one lacks hold 1."""

    odds: Tensor


@dataclass(frozen=True, eq=False)
class _Columns:
    """Where messages lie in those columns."""

    degree: int
    places: Tensor  # (2m,) the place of each message
    answers: Tensor  # (degree · n,) the place whose answer comes to each place; its own where there is no message
    tables: Tensor  # (2, 2, degree · n) log-table of each answer, [sender state, receiver state, place]


@kernel(BeliefPropagation, FactorGraph, priority=2)
class BinaryOdds(BinaryPairwise):
    """Parallel BP on large binary pairwise graphs whose tables are weak and whose degrees are small and much alike."""

    def covers(self, algorithm: BeliefPropagation, model: FactorGraph) -> bool:
        if model.factors < LARGE or not super().covers(algorithm, model):
            return False
        span, t = span_of(model), algorithm.temperature
        if t > 0 and span / t > _reach(model.dtype) - _digits(model.dtype):
            return False
        return model.derived("fit for odds", lambda: _fit(model))

    def init(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence) -> MessageOdds:  # type: ignore[override]
        local, columns = model.local_potentials(evidence), _columns(model)
        ones = local.new_ones((*local.shape[:-1], len(columns.answers)))
        return MessageOdds(0, nothing_changed(local), ones)

    def step(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: MessageOdds | LogRatios
    ) -> MessageOdds | LogRatios:
        if isinstance(state, LogRatios):  # with messages that a person holds, which may say more than tables do
            return super().step(algorithm, model, evidence, state)
        columns = _columns(model)
        local = evidence.derived(model, "odds", lambda: _local_odds(model, columns, evidence))
        received = state.odds.unflatten(-1, (columns.degree, -1))
        totals = local * received.prod(-2)
        cavities = (totals.unsqueeze(-2) / received).flatten(-2)
        proposal = _transfer(model, columns, cavities, algorithm.temperature).index_select(-1, columns.answers)
        residual = _largest_change(proposal, state.odds)
        if kept := algorithm.damping:
            proposal = proposal.pow(1.0 - kept) * state.odds.pow(kept)
        return MessageOdds(state.iteration + 1, residual, proposal)

    def as_messages(self, model: FactorGraph, state: MessageOdds | LogRatios) -> Messages:
        return super().as_messages(model, LogRatios(state.iteration, state.residual, ratios_of(model, state)))


def ratios_of(model: FactorGraph, state: MessageOdds | LogRatios) -> Tensor:
    """Log-ratios (…, 2m): first the messages to the first variable of every edge, then those to the second."""
    if isinstance(state, LogRatios):
        return state.ratios
    return torch.log(state.odds.index_select(-1, _columns(model).places))


def _fit(model: FactorGraph) -> bool:
    """Whether products of odds stay within reach, and columns of equal length are not mostly empty."""
    degree = max(block.degree for block in model.packing.blocks)
    return span_of(model) <= _widest(model.dtype, degree) and degree * model.variables <= PADDING * 2 * model.factors


def _widest(dtype: torch.dtype, degree: int) -> float:
    """The largest span of tables: local odds that are stopped at the end of the range must still decide alone."""
    return min(-SATURATED, (_reach(dtype) - _digits(dtype)) / (2 * degree + 1))


def _reach(dtype: torch.dtype) -> float:
    """Logarithm up to which products of odds may go."""
    return 0.95 * exponent_range(dtype)


def _digits(dtype: torch.dtype) -> float:
    """Logarithm of odds beside which 1 is less than rounding."""
    return -math.log(torch.finfo(dtype).eps) + 1.0


def _columns(model: FactorGraph) -> _Columns:
    return model.derived("binary columns", lambda: _make_columns(edges_of(model)))


def _make_columns(edges: Edges) -> _Columns:
    messages = 2 * edges.reverse_half
    degree = max(degree for _, degree in edges.blocks)
    parts, start = [], 0
    for count, own in edges.blocks:
        block = edges.incoming.new_full((degree, count), messages)
        block[:own] = edges.incoming[start : start + own * count].view(own, count)
        start += own * count
        parts.append(block)
    received = torch.cat(parts, -1).flatten()  # the message in each place
    used = torch.nonzero(received < messages).flatten()
    places = torch.empty_like(edges.incoming).index_copy_(0, received[used], used)
    opposite = (received[used] + edges.reverse_half) % messages
    answers = torch.arange(len(received), device=received.device).index_copy_(0, used, places[opposite])
    tables = edges.tables.new_zeros((2, 2, len(received))).index_copy(-1, used, edges.tables.index_select(-1, opposite))
    return _Columns(degree, places, answers, tables)


def _local_odds(model: FactorGraph, columns: _Columns, evidence: Evidence) -> Tensor:
    """Odds of local potentials, (…, n) in packed node order, stopped where messages can no longer contradict them."""
    # By the widest span, not the graph's own: messages may be left from before a table was changed.
    most = _reach(model.dtype) - columns.degree * _widest(model.dtype, columns.degree)
    return node_ratios(edges_of(model), model.local_potentials(evidence)).clamp(-most, most).exp()


def _transfer(model: FactorGraph, columns: _Columns, cavities: Tensor, temperature: float) -> Tensor:
    """Odds (…, places) that go out from the senders' cavities (…, places)."""
    zero_zero, zero_one, one_zero, one_one = model.derived(
        ("linear columns", temperature),
        lambda: linear_tables(columns.tables, temperature or 1.0).flatten(0, 1).unbind(),
    )
    if temperature == 0:
        one = torch.maximum(zero_one, one_one * cavities)
        return one / torch.maximum(zero_zero, one_zero * cavities)
    if temperature != 1.0:
        most = math.exp(min(temperature, 1.0) * _reach(model.dtype))
        cavities = cavities.clamp(1 / most, most).pow(1 / temperature)
    ratio = torch.addcmul(zero_one, one_one, cavities) / torch.addcmul(zero_zero, one_zero, cavities)
    return ratio if temperature == 1.0 else ratio.pow(temperature)


@torch.no_grad()
def _largest_change(new: Tensor, old: Tensor) -> Tensor:
    """The largest change of 1 / (1 + r), of odds (…, places), a scalar."""
    return (new + 1).reciprocal_().sub_((old + 1).reciprocal_()).abs_().amax()
