"""Exact inference: log Z by tensor contraction, marginals as its gradient.

opt_einsum finds the order of pairwise contractions; after each one the result is divided by its largest entry and the
logarithm kept aside, because a 20×20 grid underflows otherwise. ∂ log Z / ∂ local_i(x_i) is the marginal of x_i, and
∂ log Z / ∂ θ_a(x_a) the marginal of a factor's variables.
"""

from __future__ import annotations

import heapq
import string
from dataclasses import dataclass

import numpy as np
import opt_einsum
import torch
from torch import Tensor

from mrfstudio.engine.catalogue import number
from mrfstudio.engine.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.contract import (
    Algorithm,
    Kernel,
    LogPartition,
    Model,
    State,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.memory import available_bytes, in_words
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.registry import ALGORITHMS

HOPELESS = 1e13  # bytes; no better order of contractions will save a graph beyond this
MOST_AXES = 48  # einsum has 52 letters and torch tensors 64 axes


@ALGORITHMS.register
class Exact(Algorithm):
    """Parameters of exact inference."""

    name = "exact"
    title = "Exact inference"
    summary = (
        "Sums over all assignments by tensor contraction: the judge of every other algorithm, where it fits in memory."
    )
    single_step = True

    memory: float = number(
        0.0, "Largest memory to use; 0 means three quarters of what is free.", low=0, unit="GB", advanced=True
    )

    def supports(self, model: Model) -> str | None:
        reason = super().supports(model)
        if reason is not None or not isinstance(model, FactorGraph):
            return reason
        limit = int(self.memory * 1e9) if self.memory else int(0.75 * available_bytes())
        # Elimination answers "far too large" in a moment where a contraction path of such a graph takes seconds.
        needed = model.structural("elimination", lambda: elimination_bytes(model, HOPELESS))
        if needed <= HOPELESS:
            plan = _plan(model)
            if plan.bytes <= limit and plan.widest <= MOST_AXES:
                return None
            needed = plan.bytes
        size = f"about {in_words(needed)} of memory" if needed < 1e18 else "more memory than any machine has"
        return (
            f"Exact inference on this graph would need {size}, and {in_words(limit)} may be used: "
            f"use bp, or gibbs for an estimate with a standard error."
        )


@dataclass(frozen=True, eq=False)
class Solution(State):
    """Empty before the step; after it, log Z, packed marginals (size,) and factor marginals (k_1, …, k_r, n)."""

    log_z: Tensor | None = None
    marginals: Tensor | None = None
    factor_marginals: tuple[Tensor, ...] = ()


@kernel(Exact, FactorGraph)
class ExactOnGraph(Kernel):
    """Contraction of the whole graph."""

    def init(self, algorithm: Exact, model: FactorGraph, evidence: Evidence) -> Solution:
        return Solution(0, nothing_changed(model.local_potentials(evidence)))

    def step(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> Solution:
        with torch.enable_grad():
            local = model.local_potentials(evidence).detach().clone().requires_grad_()
            tables = [group.tables.detach().clone().requires_grad_() for group in model.groups]
            log_z = _log_partition(model, local, tables)
            if bool(torch.isneginf(log_z.detach())):
                raise ContradictoryEvidence(_somewhere_impossible(model, evidence))
            gradients = torch.autograd.grad(log_z, [local, *tables])
        marginals, *factors = gradients
        return Solution(
            state.iteration + 1,
            log_z.detach().new_zeros(()),
            log_z.detach() + model.constant,
            marginals,
            tuple(factors),
        )

    def beliefs(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> Tensor:
        if state.marginals is None:
            return model.packing.softmax(model.local_potentials(evidence))
        return state.marginals

    def factor_beliefs(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> list[Tensor]:
        return list(state.factor_marginals)

    def log_partition(self, algorithm: Exact, model: FactorGraph, evidence: Evidence, state: Solution) -> LogPartition:
        return LogPartition(None if state.log_z is None else float(state.log_z), "exact")


@dataclass(frozen=True)
class _Plan:
    """Pairwise contractions: which two operands, and the variables that are left of them."""

    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    scopes: tuple[tuple[int, ...], ...]
    bytes: float
    widest: int


@torch.no_grad()
def exact_log_partition(model: FactorGraph) -> float:
    """log Z alone, without the marginals: a third of the memory. The caller has asked `Exact.supports`."""
    return model.constant + float(_log_partition(model, model.unary, [group.tables for group in model.groups]))


def _plan(model: FactorGraph) -> _Plan:
    return model.structural("contraction plan", lambda: _make_plan(model))


def _make_plan(model: FactorGraph) -> _Plan:
    scopes: list[tuple[int, ...]] = [(v,) for v in range(model.variables)]
    for group in model.groups:
        scopes += [tuple(members) for members in group.scopes.T.tolist()]
    sizes = {v: int(k) for v, k in enumerate(model.cardinalities)}
    remaining = [frozenset(scope) for scope in scopes]
    if len(scopes) > 1:
        path = opt_einsum.paths.greedy(list(remaining), frozenset(), sizes)
    else:
        path = [(0,)] if scopes else []
    # How many operands still hold a variable: it is summed out when the last two of them meet.
    holders = np.bincount([v for scope in scopes for v in scope], minlength=model.variables)
    steps = []
    entries, widest = float(sum(_entries(scope, sizes) for scope in scopes)), 0
    for chosen in path:
        picked = [remaining[i] for i in chosen]
        for i in sorted(chosen, reverse=True):
            remaining.pop(i)
        joined = frozenset().union(*picked)
        for operand in picked:
            for variable in operand:
                holders[variable] -= 1
        kept = tuple(sorted(v for v in joined if holders[v] > 0))
        for variable in kept:
            holders[variable] += 1
        remaining.append(frozenset(kept))
        steps.append((tuple(chosen), kept))
        entries += _entries(kept, sizes)
        widest = max(widest, len(joined))
    itemsize = torch.finfo(model.dtype).bits // 8
    # Autograd keeps every intermediate and makes a gradient of the same size for the largest ones.
    return _Plan(tuple(steps), tuple(scopes), 3.0 * entries * itemsize, widest)


def contraction_size(model: FactorGraph) -> tuple[int, float]:
    """How many tables exact inference would contract, and about how many bytes it needs."""
    plan = _plan(model)
    return len(plan.scopes), plan.bytes


def elimination_bytes(model: FactorGraph, give_up: float) -> float:
    """Bytes of the largest table when variables are summed out one by one, the cheapest first.

    Returns early with a value above `give_up` once that is passed.
    """
    neighbours: list[set[int]] = [{v} for v in range(model.variables)]
    for group in model.groups:
        for members in group.scopes.T.tolist():
            for variable in members:
                neighbours[variable].update(members)
    logs = np.log2(model.cardinalities.astype(np.float64))
    itemsize = torch.finfo(model.dtype).bits // 8

    def cost(variable: int) -> float:
        return float(sum(logs[v] for v in neighbours[variable]))

    heap = [(cost(v), v) for v in range(model.variables)]
    heapq.heapify(heap)
    done = [False] * model.variables
    largest = 0.0
    while heap:
        size, variable = heapq.heappop(heap)
        if done[variable] or size != cost(variable):
            continue  # an entry from before a neighbour was eliminated
        largest = max(largest, itemsize * 2.0 ** min(size, 1000.0))
        if largest > give_up:
            return largest
        done[variable] = True
        clique = neighbours[variable] - {variable}
        for other in clique:
            neighbours[other] |= clique
            neighbours[other].discard(variable)
            heapq.heappush(heap, (cost(other), other))
    return largest


def _entries(scope: tuple[int, ...], sizes: dict[int, int]) -> float:
    product = 1.0
    for variable in scope:
        product *= sizes[variable]
    return product


def _log_partition(model: FactorGraph, local: Tensor, tables: list[Tensor]) -> Tensor:
    plan = _plan(model)
    scales = [local.new_zeros(())]
    operands = []
    vectors = [vector for block in model.packing.by_block(local) for vector in block.unbind(-1)]
    place = {int(v): i for i, v in enumerate(model.packing.order)}
    log_operands = [vectors[place[v]] for v in range(model.variables)]
    for table in tables:
        log_operands += list(table.unbind(-1))
    for tensor in log_operands:
        peak = tensor.detach().amax().clamp(min=torch.finfo(tensor.dtype).min)
        operands.append(torch.exp(tensor - peak))
        scales.append(peak)
    scopes = list(plan.scopes)
    for chosen, kept in plan.steps:
        picked = [(operands[i], scopes[i]) for i in chosen]
        for i in sorted(chosen, reverse=True):
            operands.pop(i)
            scopes.pop(i)
        result = _einsum(picked, kept)
        peak = result.detach().amax()
        if float(peak) == 0.0:
            return local.new_tensor(-torch.inf)
        operands.append(result / peak)
        scopes.append(kept)
        scales.append(torch.log(peak))
    total = torch.stack(scales).sum()
    for tensor in operands:
        total = total + torch.log(tensor)
    return total


def _einsum(picked: list[tuple[Tensor, tuple[int, ...]]], kept: tuple[int, ...]) -> Tensor:
    variables = sorted({v for _, scope in picked for v in scope})
    letter = {v: string.ascii_letters[i] for i, v in enumerate(variables)}
    spelled = ["".join(letter[v] for v in scope) for _, scope in picked]
    equation = ",".join(spelled) + "->" + "".join(letter[v] for v in kept)
    return torch.einsum(equation, *[tensor for tensor, _ in picked])


def _somewhere_impossible(model: FactorGraph, evidence: Evidence) -> object:
    """The first node with evidence or a forbidden state, to have something to name."""
    blocked = torch.isneginf(model.local_potentials(evidence))
    owner = model.packing.owners(model.device)
    candidates = owner[blocked] if bool(blocked.any()) else model.groups[0].scopes[0]
    return model.labels[int(candidates.min())]
