"""Belief propagation on large binary pairwise graphs with few, weak neighbours: messages as odds, without a logarithm.

With r = m(1) / m(0) and the sender's cavity c as odds, the product of what others say to it,

    r' = (φ_01 + φ_11 c) / (φ_00 + φ_10 c).

No message goes beyond the span of its table, so where degrees and spans are small no product of odds leaves the range
of its precision, and sums, exponentials and logarithms of log-ratios (`binary_pairwise.py`) become products. All that
a node receives lies in one column, (degree, nodes): one gather a step brings messages there, another brings them back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
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
class Odds(State):
    """r (…, 2m): first the messages to the first variable of every edge, then those to the second."""

    odds: Tensor

    @property
    def ratios(self) -> Tensor:
        """The same as log-ratios, (…, 2m)."""
        return torch.log(self.odds)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Where messages lie in the columns (degree, nodes), in packed node order; short ones are filled up."""

    degree: int
    received: Tensor  # (degree · n,) the message in each place; 2m where there is none
    sent: Tensor  # (2m,) the place whose reply each message is
    tables: Tensor  # (2, 2, degree · n) log-table of the reply, [sender state, receiver state, place]


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

    def init(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence) -> Odds:  # type: ignore[override]
        local = model.local_potentials(evidence)
        return Odds(0, nothing_changed(local), local.new_ones((*local.shape[:-1], 2 * model.factors)))

    def step(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: Odds | LogRatios
    ) -> Odds | LogRatios:
        if isinstance(state, LogRatios):  # with messages that a person holds, which may say more than tables do
            return super().step(algorithm, model, evidence, state)
        columns = model.derived("binary columns", lambda: _make_columns(edges_of(model)))
        local = evidence.derived(model, "odds", lambda: _local_odds(model, columns, evidence))
        filled = torch.cat((state.odds, state.odds.new_ones((*state.odds.shape[:-1], 1))), -1)
        received = filled.index_select(-1, columns.received).unflatten(-1, (columns.degree, -1))
        totals = local * received.prod(-2)
        cavities = (totals.unsqueeze(-2) / received).flatten(-2)
        proposal = _transfer(model, columns, cavities, algorithm.temperature).index_select(-1, columns.sent)
        residual = _largest_change(proposal, state.odds)
        if kept := algorithm.damping:
            proposal = proposal.pow(1.0 - kept) * state.odds.pow(kept)
        return Odds(state.iteration + 1, residual, proposal)


def _fit(model: FactorGraph) -> bool:
    """Whether products of odds stay within reach, and columns of equal length are not mostly empty."""
    span, degree = span_of(model), max(block.degree for block in model.packing.blocks)
    # Local odds that are stopped at the end of the range must still outweigh all messages and decide alone.
    within = (2 * degree + 1) * span + _digits(model.dtype) <= _reach(model.dtype)
    return within and span <= -SATURATED and degree * model.variables <= PADDING * 2 * model.factors


def _reach(dtype: torch.dtype) -> float:
    """Logarithm up to which products of odds may go."""
    return 0.95 * exponent_range(dtype)


def _digits(dtype: torch.dtype) -> float:
    """Logarithm of odds beside which 1 is less than rounding."""
    return -math.log(torch.finfo(dtype).eps) + 1.0


def _make_columns(edges: Edges) -> _Columns:
    messages = 2 * edges.reverse_half
    degree = max(degree for _, degree in edges.blocks)
    parts, start = [], 0
    for count, own in edges.blocks:
        block = edges.incoming.new_full((degree, count), messages)
        block[:own] = edges.incoming[start : start + own * count].view(own, count)
        start += own * count
        parts.append(block)
    received = torch.cat(parts, -1).flatten()
    used = torch.nonzero(received < messages).flatten()
    replies = (received[used] + edges.reverse_half) % messages
    sent = torch.empty_like(edges.incoming).index_copy_(0, replies, used)
    tables = edges.tables.new_zeros((2, 2, len(received))).index_copy(-1, used, edges.tables.index_select(-1, replies))
    return _Columns(degree, received, sent, tables)


def _local_odds(model: FactorGraph, columns: _Columns, evidence: Evidence) -> Tensor:
    """Odds of local potentials, (…, n) in packed node order, stopped where messages can no longer contradict them."""
    most = _reach(model.dtype) - columns.degree * span_of(model)
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
    """The largest change of 1 / (1 + r), of odds (…, 2m), a scalar."""
    return (new + 1).reciprocal_().sub_((old + 1).reciprocal_()).abs_().amax()
