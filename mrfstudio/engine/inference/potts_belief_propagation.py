"""Sum-product on Potts grids, for photographs: no product of states by states, only sums over labels.

With a normalised cavity c the message over an edge of weight w is (1 + (e^w - 1) c(x)) / (labels + e^w - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.models.potts import PottsGrid

LEFT, RIGHT, UP, DOWN = range(4)


@dataclass(frozen=True, eq=False)
class PottsMessages(State):
    """Messages received from the left, right, upper and lower neighbour, (4, labels, height, width), summing to 1."""

    messages: Tensor


@kernel(BeliefPropagation, PottsGrid)
class PottsBeliefPropagation(Kernel):
    """Parallel updates in the linear domain; beliefs are (height, width, labels)."""

    def covers(self, algorithm: BeliefPropagation, model: PottsGrid) -> bool:
        return algorithm.schedule == "parallel" and algorithm.temperature == 1.0 and algorithm.kernel != "generic"

    def init(self, algorithm: BeliefPropagation, model: PottsGrid, evidence: Evidence) -> PottsMessages:
        local, _ = _local(model, evidence)
        start = torch.full((4, *local.shape), 1.0 / model.labels, dtype=local.dtype)
        return PottsMessages(0, nothing_changed(local), start)

    def step(
        self, algorithm: BeliefPropagation, model: PottsGrid, evidence: Evidence, state: PottsMessages
    ) -> PottsMessages:
        local, _ = _local(model, evidence)
        old = state.messages
        to_right, to_left, to_down, to_up = _cavities(local, old)
        proposal = torch.full_like(old, 1.0 / model.labels)  # what the outside of the picture says
        proposal[LEFT, :, :, 1:] = _message(to_right[:, :, :-1], model.across)
        proposal[RIGHT, :, :, :-1] = _message(to_left[:, :, 1:], model.across)
        proposal[UP, :, 1:] = _message(to_down[:, :-1], model.down)
        proposal[DOWN, :, :-1] = _message(to_up[:, 1:], model.down)
        residual = (proposal - old).abs().amax()
        messages = proposal
        if algorithm.damping:
            mixed = torch.exp(torch.lerp(proposal.log(), old.log(), algorithm.damping))
            messages = mixed / mixed.sum(1, keepdim=True)
        return PottsMessages(state.iteration + 1, residual, messages)

    def beliefs(
        self, algorithm: BeliefPropagation, model: PottsGrid, evidence: Evidence, state: PottsMessages
    ) -> Tensor:
        total = _local(model, evidence)[0] * state.messages.prod(0)
        return (total / total.sum(0, keepdim=True)).permute(1, 2, 0)

    def log_partition(
        self, algorithm: BeliefPropagation, model: PottsGrid, evidence: Evidence, state: PottsMessages
    ) -> LogPartition:
        """Bethe: Σ_e log Z_e + Σ_i (1 - d_i) log Z_i."""
        local, peak = _local(model, evidence)
        degree = torch.zeros_like(local[0])
        degree[:, 1:] += 1
        degree[:, :-1] += 1
        degree[1:] += 1
        degree[:-1] += 1
        received = state.messages.double().log()
        inside = [degree.new_ones(degree.shape) for _ in range(4)]
        inside[LEFT][:, 0] = inside[RIGHT][:, -1] = inside[UP][0] = inside[DOWN][-1] = 0
        # Messages from outside the picture are no messages: take their constant out again.
        received = received * torch.stack(inside).unsqueeze(1)
        logs = local.double().log() + received.sum(0)
        nodes = ((1 - degree) * torch.logsumexp(logs, 0)).sum()
        edges = _edge_sum(
            logs[:, :, :-1] - received[RIGHT, :, :, :-1], logs[:, :, 1:] - received[LEFT, :, :, 1:], model.across
        )
        edges = edges + _edge_sum(logs[:, :-1] - received[DOWN, :, :-1], logs[:, 1:] - received[UP, :, 1:], model.down)
        # `local` was divided by its peak once for each node, and log Z holds each node's potential exactly once.
        return LogPartition(float(nodes + edges + peak.double().sum()), "estimate")


def _local(model: PottsGrid, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """exp(evidence) with a largest value of 1 at every pixel, (labels, height, width), and the logarithm taken out."""

    def make() -> tuple[Tensor, Tensor]:
        log = evidence.log_potentials.permute(2, 0, 1)
        peak = log.amax(0)
        if bool(torch.isneginf(peak).any()):
            pixel = int(torch.isneginf(peak).reshape(-1).int().argmax())
            raise ContradictoryEvidence(f"(row {pixel // model.width}, column {pixel % model.width})")
        return torch.exp(log - peak).contiguous(), peak

    return evidence.derived(model, "potts", make)


def _cavities(local: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What each pixel tells its right, left, lower and upper neighbour; products, so that nothing is divided by 0."""
    vertical = m[UP] * m[DOWN] * local
    horizontal = m[LEFT] * m[RIGHT] * local
    return vertical * m[LEFT], vertical * m[RIGHT], horizontal * m[UP], horizontal * m[DOWN]


def _message(cavity: Tensor, weights: Tensor) -> Tensor:
    gain = torch.expm1(weights)
    share = gain / (cavity.sum(0) * (cavity.shape[0] + gain))
    return cavity * share + 1.0 / (cavity.shape[0] + gain)


def _edge_sum(first: Tensor, second: Tensor, weights: Tensor) -> Tensor:
    """Σ_e log Σ_{x,y} c_i(x) c_j(y) (1 + (e^w - 1) [x = y]), from log-cavities (labels, …)."""
    apart = torch.logsumexp(first, 0) + torch.logsumexp(second, 0)
    same = torch.logsumexp(first + second, 0)
    return torch.logaddexp(apart, same + torch.log(torch.expm1(weights.double()))).sum()
