"""Sum-product on contrast grids: the kernel of `bp`, beside the general one that works on their factor graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.scored_grid import messages as grid
from mrfstudio.engine.families.scored_grid.contrast_grid import ContrastGrid
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.inference.algorithm import Kernel, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


@dataclass(frozen=True, eq=False)
class ContrastMessages(State):
    """Two labels: ratios (2 edges, height, width); more: (2 edges, labels, height, width). See `messages`."""

    messages: Tensor


@kernel(BeliefPropagation, ContrastGrid)
class ContrastBeliefPropagation(Kernel):
    """Parallel updates; beliefs are (height, width, labels)."""

    def covers(self, algorithm: BeliefPropagation, model: ContrastGrid) -> bool:
        plain = algorithm.schedule == "parallel" and algorithm.temperature == 1.0 and not algorithm.damping
        return plain and algorithm.kernel != "generic"

    def init(self, algorithm: BeliefPropagation, model: ContrastGrid, evidence: Evidence) -> ContrastMessages:
        local = local_evidence(model, evidence)
        start = grid.ratio_start if model.labels == 2 else grid.label_start
        return ContrastMessages(0, nothing_changed(local), start(model.gains, local))

    def step(
        self, algorithm: BeliefPropagation, model: ContrastGrid, evidence: Evidence, state: ContrastMessages
    ) -> ContrastMessages:
        new = torch.empty_like(state.messages)
        advance = grid.ratio_step if model.labels == 2 else grid.label_step
        residual = advance(local_evidence(model, evidence), model.gains, state.messages, new)
        return ContrastMessages(state.iteration + 1, residual, new)

    def beliefs(
        self, algorithm: BeliefPropagation, model: ContrastGrid, evidence: Evidence, state: ContrastMessages
    ) -> Tensor:
        local = local_evidence(model, evidence)
        if model.labels > 2:
            return grid.label_total(local, state.messages).permute(1, 2, 0)
        total = grid.ratio_total(local, state.messages)
        return torch.stack([1 / (1 + total), total / (1 + total)], -1)


def local_evidence(model: ContrastGrid, evidence: Evidence) -> Tensor:
    """Evidence as the messages need it: a ratio (h, w) for two labels, else (labels, h, w)."""

    def make() -> Tensor:
        log = evidence.log_potentials.permute(2, 0, 1)
        impossible = torch.isneginf(log).all(0)
        if bool(impossible.any()):
            pixel = int(impossible.reshape(-1).int().argmax())
            raise ContradictoryEvidence(f"(row {pixel // model.width}, column {pixel % model.width})")
        return grid.ratio_local(log[1] - log[0]) if model.labels == 2 else grid.label_local(log).contiguous()

    return evidence.derived(model, "contrast-grid", make)
