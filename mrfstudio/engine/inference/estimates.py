"""Which numbers for log Z mean something, from the sizes of a graph's potentials alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import NO_LOG_PARTITION, LogPartition, State
from mrfstudio.engine.runtime.device import wide

UNSETTLED = 0.01
"""Residual above which messages with zeros say nothing about log Z: they can grow without end."""


def score_range(graph: FactorGraph, evidence: Evidence) -> tuple[float, float]:
    """Between which two numbers every estimate of log Z lies that comes from consistent beliefs.

    E[θ] lies between the sums of smallest and largest log-potentials, a Bethe entropy between Σ_i (1 - d_i) log k_i and
    Σ_i log k_i.
    """

    def make() -> tuple[float, float]:
        local = wide(graph.local_potentials(evidence).detach())
        low, high = graph.constant, graph.constant
        for block, potentials in zip(graph.packing.blocks, graph.packing.by_block(local), strict=True):
            high += float(torch.logsumexp(potentials, -2).sum())
            low += float(potentials.masked_fill(potentials.isneginf(), torch.inf).amin(-2).sum())
            low -= max(block.degree - 1, 0) * block.count * math.log(block.states)
        for group in graph.groups:
            tables = wide(group.tables.detach()).flatten(0, -2)
            high += float(tables.amax(0).sum())
            low += float(tables.masked_fill(tables.isneginf(), torch.inf).amin(0).sum())
        return low, high

    return evidence.derived(graph, "score range", make)


def meaningful(graph: FactorGraph, evidence: Evidence, state: State, found: LogPartition) -> LogPartition:
    """The estimate, or none where no consistent beliefs could have given it."""
    if found.value is None or not math.isfinite(found.value):
        return NO_LOG_PARTITION
    if graph.has_zeros and not float(state.residual) < UNSETTLED:
        return NO_LOG_PARTITION
    low, high = score_range(graph, evidence)
    slack = 1e3 * torch.finfo(graph.dtype).eps * (abs(low) + abs(high)) + 1e-6
    return found if low - slack <= found.value <= high + slack else NO_LOG_PARTITION


def magnitude_of(graph: FactorGraph, evidence: Evidence) -> float:
    """The largest finite log-potential, times how many of them a variable adds up."""

    def make() -> float:
        most = _largest(graph.local_potentials(evidence))
        degree = max((block.degree for block in graph.packing.blocks), default=0)
        return most + degree * max((_largest(group.tables) for group in graph.groups), default=0.0)

    return evidence.derived(graph, "magnitude", make)


def _largest(values: Tensor) -> float:
    """The largest finite |value| of any shape; 0 where there is none."""
    finite = values.detach().masked_fill(values.isneginf(), 0.0)
    return float(finite.abs().max()) if finite.numel() else 0.0
