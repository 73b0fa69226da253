"""Belief propagation: sum-product, max-product and every temperature between.

A message from a factor to a variable at temperature T > 0 is

    m(x_i) = T log Σ_{x_a \\ x_i} exp((θ_a(x_a) + Σ_{j≠i} c_j(x_j)) / T),

at T = 0 the sum becomes a maximum; c_j is the cavity, the variable's total without this factor's message. Messages are
log-probabilities, normalised at every step; beliefs are the softmax of the totals.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import require_possible
from mrfstudio.engine.inference.algorithm import (
    NO_LOG_PARTITION,
    Algorithm,
    Kernel,
    LogPartition,
    State,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.energy import bethe_log_partition
from mrfstudio.engine.inference.estimates import magnitude_of, meaningful
from mrfstudio.engine.inference.messages.factor_messages import (
    FactorMessages,
    runaway,
    totals_and_cavities,
    within_reach,
)
from mrfstudio.engine.inference.messages.flat import by_flat, fits_flat
from mrfstudio.engine.inference.messages.products import by_products, within_products
from mrfstudio.engine.inference.residuals import allowed_disagreement, disagreement, largest_change
from mrfstudio.engine.inference.schedules import factor_colors
from mrfstudio.engine.protocol.catalogue import choice, number
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class BeliefPropagation(Algorithm):
    """Parameters of BP. Damping is on log-messages: new = (1 - damping) · computed + damping · old."""

    name = "bp"
    title = "Belief propagation"
    summary = "Sum-product messages; exact on trees, usually good on loopy graphs. Temperature 0 is max-product."

    damping: float = number(
        0.0, "How much of the old message is kept; helps when messages oscillate.", low=0, high=1, high_open=True
    )
    temperature: float = number(1.0, "1 is sum-product (marginals), 0 is max-product (the most probable state).", low=0)
    schedule: str = choice(
        "parallel",
        ("parallel", "sequential"),
        "Parallel updates all messages at once; sequential goes through groups of factors that share no variable.",
    )
    start: str = choice(
        "auto",
        ("auto", "flat", "coarse"),
        "On cloned grids: coarse asks smaller copies of the canvas what lies inside of large figures, flat does not, "
        "auto does as the model was trained.",
        advanced=True,
    )
    kernel: str = choice(
        "auto",
        ("auto", "generic"),
        "Auto takes the fastest code for the graph; generic works on any graph.",
        advanced=True,
    )


@dataclass(frozen=True, eq=False)
class Messages(State):
    """Factor-to-variable messages as normalised log-probabilities, flat (…, messages) in the graph's packing."""

    messages: Tensor


@kernel(BeliefPropagation, FactorGraph)
class BeliefPropagationOnGraph(Kernel):
    """Any graph, any factors, zeros included."""

    def init(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence) -> Messages:
        require_possible(model, evidence)
        local = model.local_potentials(evidence)
        uniform = torch.cat(
            [
                local.new_zeros(b.states * b.count) - torch.log(local.new_tensor(b.states))
                for b in model.packing.message_blocks
            ]
            or [local.new_zeros(0)]
        )
        return Messages(0, nothing_changed(local), uniform.expand(*local.shape[:-1], -1).contiguous())

    def step(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: Messages) -> Messages:
        require_possible(model, evidence)
        part = FactorMessages.of_graph(model)
        if algorithm.schedule == "parallel" and algorithm.temperature == 1.0:
            if fits_flat(model, state.messages):
                found = by_flat(model, evidence, state.messages)
                if found is not None:
                    messages = damp(algorithm.damping, part, found[0], state.messages)
                    return Messages(state.iteration + 1, found[1], messages)
            if within_products(model):
                proposal, residual = by_products(model, evidence, state.messages)
                messages = damp(algorithm.damping, part, proposal, state.messages)
                return Messages(state.iteration + 1, residual, messages)
        local = model.local_potentials(evidence)
        if algorithm.schedule == "parallel":
            totals, cavities = totals_and_cavities(model, local, state.messages)
            if model.has_zeros:
                check_possible(model, totals)
            proposal = part.messages(cavities, algorithm.temperature)
            messages = damp(algorithm.damping, part, proposal, state.messages)
            residual = largest_change(proposal, state.messages, part.saturating)
            return Messages(state.iteration + 1, residual, within_reach(model, messages))
        messages, changes = state.messages, [local.new_zeros(())]
        for entries, part in factor_colors(model):
            totals, cavities = totals_and_cavities(model, local, messages)
            if model.has_zeros:
                check_possible(model, totals)
            proposal = part.messages(cavities.index_select(-1, entries), algorithm.temperature)
            old = messages.index_select(-1, entries)
            changes.append(largest_change(proposal, old, part.saturating))
            messages = messages.index_copy(-1, entries, damp(algorithm.damping, part, proposal, old))
        return Messages(state.iteration + 1, torch.stack(changes).max(), within_reach(model, messages))

    def beliefs(self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: Messages) -> Tensor:
        totals, _ = totals_and_cavities(model, model.local_potentials(evidence), state.messages)
        if model.has_zeros:
            check_possible(model, totals)
        return model.packing.softmax(totals)

    def factor_beliefs(
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: Messages
    ) -> list[Tensor]:
        _, cavities = totals_and_cavities(model, model.local_potentials(evidence), state.messages)
        return FactorMessages.of_graph(model).beliefs(cavities)

    def doubt(
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: State, tolerance: float
    ) -> str | None:
        off = runaway(state.messages) if isinstance(state, Messages) else None
        if off is not None or algorithm.temperature != 1.0:  # softmax of totals is no marginal then
            return off
        return inconsistent(algorithm, model, evidence, state, tolerance)

    def log_partition(
        self, algorithm: BeliefPropagation, model: FactorGraph, evidence: Evidence, state: Messages
    ) -> LogPartition:
        if algorithm.temperature != 1.0:
            return NO_LOG_PARTITION
        totals, cavities = totals_and_cavities(model, model.local_potentials(evidence), state.messages)
        value = float(bethe_log_partition(model, totals, cavities))
        return meaningful(model, evidence, state, LogPartition(value, "estimate"))


def inconsistent(
    algorithm: Algorithm, model: FactorGraph, evidence: Evidence, state: State, tolerance: float
) -> str | None:
    """A sentence where beliefs of factors and of variables disagree by more than rounding and tolerance can make."""
    packing = model.packing
    singles = packing.by_message(packing.spread(algorithm.beliefs(model, evidence, state)))
    gap = disagreement(singles, algorithm.factor_beliefs(model, evidence, state))
    if gap <= allowed_disagreement(tolerance, model.dtype, magnitude_of(model, evidence)):
        return None
    return f"Beliefs of factors and of their variables disagree by {gap:.2g}: this is no fixed point."


def damp(damping: float, part: FactorMessages, proposal: Tensor, old: Tensor) -> Tensor:
    """new = (1 - damping) · proposal + damping · old on log-messages (…, message size), normalised."""
    if damping == 0.0:
        return proposal
    mixed = torch.lerp(proposal, old, damping)
    # Mixing with -inf has no value: a state that the new message forbids is forbidden, one it allows again is allowed.
    return part.normalise(torch.where(proposal.isneginf() | old.isneginf(), proposal, mixed))


def check_possible(model: FactorGraph, totals: Tensor) -> None:
    """Raise `ContradictoryEvidence` where `totals` (…, packed size) leave a variable no state."""
    dead = model.packing.logsumexp(totals).isneginf().reshape(-1, model.variables).any(0)
    if bool(dead.any()):
        raise ContradictoryEvidence(model.labels[model.packing.order[int(dead.int().argmax())]])
