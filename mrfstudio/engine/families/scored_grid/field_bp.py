"""Sum-product on fields with scores: the kernel of `bp`, in log-probabilities, and differentiable."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.scored_grid.field import ScoreField, bethe, edge_logs, flat_messages, next_messages
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.algorithm import Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.residuals import largest_change


@dataclass(frozen=True, eq=False)
class FieldMessages(State):
    """(4, …, H, W, C), as `field.flat_messages` says."""

    messages: Tensor


@kernel(BeliefPropagation, ScoreField)
class FieldBeliefPropagation(Kernel):
    """Parallel updates; beliefs are (…, H, W, C)."""

    def covers(self, algorithm: BeliefPropagation, model: ScoreField) -> bool:
        return algorithm.schedule == "parallel" and algorithm.temperature == 1.0 and algorithm.kernel != "generic"

    def init(self, algorithm: BeliefPropagation, model: ScoreField, evidence: Evidence) -> FieldMessages:
        impossible = torch.isneginf(evidence.log_potentials).all(-1)
        if bool(impossible.any()):
            row, column = (int(n) for n in impossible.nonzero()[0][-2:])
            raise ContradictoryEvidence(f"(row {row}, column {column})")
        return FieldMessages(0, nothing_changed(model.node), flat_messages(model))

    def step(
        self, algorithm: BeliefPropagation, model: ScoreField, evidence: Evidence, state: FieldMessages
    ) -> FieldMessages:
        new = next_messages(model, model.node + evidence.log_potentials, state.messages)
        residual = largest_change(new.detach(), state.messages.detach())
        if algorithm.damping:
            new = torch.log_softmax(torch.lerp(new, state.messages, algorithm.damping), -1)
        return FieldMessages(state.iteration + 1, residual, new)

    def beliefs(
        self, algorithm: BeliefPropagation, model: ScoreField, evidence: Evidence, state: FieldMessages
    ) -> Tensor:
        return torch.softmax(model.node + evidence.log_potentials + state.messages.sum(0), -1)

    def factor_beliefs(
        self, algorithm: BeliefPropagation, model: ScoreField, evidence: Evidence, state: FieldMessages
    ) -> list[Tensor]:
        """Edges to the right (…, H, W - 1, C, C) and down (…, H - 1, W, C, C)."""
        logs = edge_logs(model, model.node + evidence.log_potentials, state.messages)
        return [torch.softmax(each.flatten(-2), -1).reshape(each.shape) for each in logs]

    def log_partition(
        self, algorithm: BeliefPropagation, model: ScoreField, evidence: Evidence, state: FieldMessages
    ) -> LogPartition:
        value = bethe(model, model.node + evidence.log_potentials, state.messages)
        return LogPartition(float(value) if value.numel() == 1 else None, "estimate" if value.numel() == 1 else None)
