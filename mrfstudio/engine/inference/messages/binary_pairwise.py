"""Belief propagation on binary pairwise graphs: one log-ratio for each message.

With z = m(1) - m(0) and the sender's cavity c as a log-ratio, tables φ scaled to a largest entry of 1,

    z' = log(φ_01 p + φ_11 q) - log(φ_00 p + φ_10 q),    p = exp(-max(c, 0)), q = exp(min(c, 0)),

which is exact at c = ±inf (hard evidence) and, because one of p and q is 1, never underflows while no table spans more
than the exponent range. The usual 2 atanh(tanh tanh) saturates in single precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, BeliefPropagationOnGraph, Messages
from mrfstudio.engine.inference.messages.small_binary import SMALL, SmallEdges, small_edges, small_step
from mrfstudio.engine.inference.residuals import SATURATED, largest_ratio_change
from mrfstudio.engine.runtime.powers import exponential, logarithm

WEAK = 20.0
"""Span of tables up to which one exponential does for both states of a sender."""


@dataclass(frozen=True, eq=False)
class LogRatios(State):
    """z (…, 2m): first the messages to the first variable of every edge, then those to the second."""

    ratios: Tensor


@dataclass(frozen=True, eq=False)
class Edges:
    """The graph's edges for this kernel; tables are indexed by the state of the *sender* first."""

    tables: Tensor  # (2, 2, 2m) log, [sender state, receiver state, message]
    senders: Tensor  # (2m,) place of the sender in the packed node order
    reverse_half: int  # m: the message in the other direction is m places away
    incoming: Tensor  # for each block in turn its received messages, (degree, count) flat
    blocks: tuple[tuple[int, int], ...]  # (count, degree) of each block
    node_entries: Tensor  # (n,) packed entry of state 0 of each node, in packed node order
    node_strides: Tensor  # (n,) distance to its state 1


@kernel(BeliefPropagation, FactorGraph, priority=1)
class BinaryPairwise(BeliefPropagationOnGraph):
    """Parallel BP on binary pairwise graphs without zeros in tables."""

    def covers(self, algorithm: BeliefPropagation, model: FactorGraph) -> bool:
        if algorithm.kernel == "generic" or algorithm.schedule != "parallel" or len(model.groups) != 1:
            return False
        if not (model.is_binary and model.is_pairwise) or model.has_zeros:
            return False
        return algorithm.temperature == 0 or span_of(model) / algorithm.temperature < 0.8 * exponent_range(model.dtype)

    def init(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence) -> LogRatios:  # type: ignore[override]
        local = model.local_potentials(evidence)
        return LogRatios(0, nothing_changed(local), local.new_zeros((*local.shape[:-1], 2 * model.factors)))

    def step(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: LogRatios
    ) -> LogRatios:
        edges = edges_of(model)
        z = state.ratios
        local = evidence.derived(model, "ratios", lambda: node_ratios(edges, model.local_potentials(evidence)))
        if _is_small(model, local, z, algorithm.temperature):
            proposal, residual = small_step(_small(model, algorithm.temperature), local, z, algorithm.temperature)
            ratios = torch.lerp(proposal, z, algorithm.damping) if algorithm.damping else proposal
            return LogRatios(state.iteration + 1, residual, ratios)
        totals = local + _incoming_sum(edges, z)
        half = edges.reverse_half
        # A message from s to t excludes what t said to s: the other half of z.
        cavities = totals.index_select(-1, edges.senders)
        cavities[..., :half].sub_(z[..., half:])
        cavities[..., half:].sub_(z[..., :half])
        proposal = _transfer(model, edges, cavities, algorithm.temperature)
        residual = largest_ratio_change(proposal, z, span_of(model) > -SATURATED)
        ratios = torch.lerp(proposal, z, algorithm.damping) if algorithm.damping else proposal
        return LogRatios(state.iteration + 1, residual, ratios)

    def beliefs(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: LogRatios
    ) -> Tensor:
        return super().beliefs(algorithm, model, evidence, self.as_messages(model, state))

    def factor_beliefs(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: LogRatios
    ) -> list[Tensor]:
        return super().factor_beliefs(algorithm, model, evidence, self.as_messages(model, state))

    def log_partition(  # type: ignore[override]
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: LogRatios
    ) -> LogPartition:
        return super().log_partition(algorithm, model, evidence, self.as_messages(model, state))

    def as_messages(self, model: FactorGraph, state: LogRatios) -> Messages:
        """The same messages as normalised log-probabilities in the graph's packing."""
        half = model.factors
        parts = []
        for z in (state.ratios[..., :half], state.ratios[..., half:]):
            parts += [torch.nn.functional.logsigmoid(-z), torch.nn.functional.logsigmoid(z)]
        return Messages(state.iteration, state.residual, torch.cat(parts, -1))


def _is_small(model: FactorGraph, local: Tensor, z: Tensor, temperature: float) -> bool:
    """Whether one set of messages z (2m,) of a small graph with weak tables is meant, without gradients."""
    if model.factors > SMALL or z.ndim != 1 or local.ndim != 1 or z.device.type != "cpu" or temperature == 0:
        return False
    if z.requires_grad or local.requires_grad or model.groups[0].tables.requires_grad:
        return False
    return span_of(model) / temperature < WEAK


def _small(model: FactorGraph, temperature: float) -> SmallEdges:
    def made() -> SmallEdges:
        edges = edges_of(model)
        return small_edges(linear_tables(edges.tables, temperature), edges.senders, span_of(model))

    return model.derived(("small linear", temperature), made)


def exponent_range(dtype: torch.dtype) -> float:
    return -math.log(torch.finfo(dtype).tiny)


def span_of(model: FactorGraph) -> float:
    def made() -> float:
        tables = model.groups[0].tables.detach()
        return float((tables.amax((0, 1)) - tables.amin((0, 1))).max())

    return model.derived("span", made)


def edges_of(model: FactorGraph) -> Edges:
    return model.derived("binary edges", lambda: _make_edges(model))


def _make_edges(model: FactorGraph) -> Edges:
    group, packing = model.groups[0], model.packing
    place = torch.empty(model.variables, dtype=torch.int64, device=model.device)
    order = torch.as_tensor(packing.order, device=model.device)
    place[order] = torch.arange(model.variables, device=model.device)
    senders = torch.cat((place[group.scopes[1]], place[group.scopes[0]]))
    tables = torch.cat((group.tables.transpose(0, 1), group.tables), -1).contiguous()
    received = []
    start = 0
    flat = packing.index("incoming", model.device)
    for block in packing.blocks:
        stop = start + block.degree * block.size
        # Entries of state 0 in blocks [axis 0: state 0, state 1 | axis 1: state 0, state 1], each `factors` long.
        first = flat[start:stop].view(block.degree, 2, block.count)[:, 0].reshape(-1)
        start = stop
        received.append(first % model.factors + (first // (2 * model.factors)) * model.factors)
    blocks = tuple((block.count, block.degree) for block in packing.blocks)
    base, stride = packing.index("base", model.device), packing.index("stride", model.device)
    order = order.to(model.device)
    return Edges(tables, senders, model.factors, torch.cat(received), blocks, base[order], stride[order])


def node_ratios(edges: Edges, local: Tensor) -> Tensor:
    """Packed log-potentials (…, 2n) → log-ratios (…, n) in packed node order."""
    return local.index_select(-1, edges.node_entries + edges.node_strides) - local.index_select(-1, edges.node_entries)


def _incoming_sum(edges: Edges, z: Tensor) -> Tensor:
    """Σ of the log-ratios z (…, directed edges) that each node receives, (…, nodes) in the order of `edges.blocks`."""
    received = z.index_select(-1, edges.incoming)
    parts, start = [], 0
    for count, degree in edges.blocks:
        stop = start + degree * count
        parts.append(received[..., start:stop].unflatten(-1, (degree, count)).sum(-2))
        start = stop
    return torch.cat(parts, -1)


def _transfer(model: FactorGraph, edges: Edges, cavities: Tensor, temperature: float) -> Tensor:
    """Log-ratios (…, directed edges) that edges send on from the senders' cavities (…, directed edges)."""
    tables = edges.tables
    if temperature == 0:
        # max(a, b + c) - max(a', b' + c); subtracting max(c, 0) from both sides keeps c = inf finite.
        down, up = -torch.relu(cavities), -torch.relu(-cavities)
        one = torch.maximum(tables[0, 1] + down, tables[1, 1] + up)
        return one - torch.maximum(tables[0, 0] + down, tables[1, 0] + up)
    linear = model.derived(("linear", temperature), lambda: linear_tables(tables, temperature))
    scaled = cavities if temperature == 1.0 else cavities / temperature
    if span_of(model) / temperature < WEAK:
        # Beyond ±60 the cavity decides alone to within e^-40, so one exponential does for both p and q.
        odds = exponential(scaled.clamp(-60, 60))
        one = torch.addcmul(linear[0, 1], linear[1, 1], odds)
        zero = torch.addcmul(linear[0, 0], linear[1, 0], odds)
    else:
        p, q = exponential(-scaled.clamp(min=0)), exponential(scaled.clamp(max=0))
        one = torch.addcmul(linear[0, 1] * p, linear[1, 1], q)
        zero = torch.addcmul(linear[0, 0] * p, linear[1, 0], q)
    ratio = logarithm(one / zero)
    return ratio if temperature == 1.0 else temperature * ratio


def linear_tables(tables: Tensor, temperature: float) -> Tensor:
    """exp(θ / T) of tables (2, 2, edges), the largest entry of each 1."""
    return torch.exp((tables - tables.detach().amax((0, 1), keepdim=True)) / temperature)
