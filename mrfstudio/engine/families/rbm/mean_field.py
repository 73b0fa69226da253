"""Mean field on Boltzmann machines: one layer after the other, as matrices.

    q_o = σ(c_O + evidence + Wᵀ(2 q_h - 1)),    q_h = σ(c_H + evidence + W(2 q_o - 1))

Units of one layer share no factor, so that this is the coordinate ascent of `mean_field.py` with two colours.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.mean_field import MeanField


@dataclass(frozen=True, eq=False)
class Layers(State):
    """q(1) of the outer units (…, O) and of the hidden ones (…, H)."""

    outer: Tensor
    hidden: Tensor


@kernel(MeanField, RBM)
class MeanFieldOnMachine(Kernel):
    """Any batch of evidence, hard or soft."""

    def entries(self, model: RBM, evidence: Evidence) -> int | None:
        return model.weights.numel()

    def init(self, algorithm: MeanField, model: RBM, evidence: Evidence) -> Layers:
        outer, hidden = model.log_odds(evidence)
        outer, hidden = torch.sigmoid(outer + model.outer_bias), torch.sigmoid(hidden + model.hidden_bias)
        return Layers(0, nothing_changed(outer), outer.detach(), hidden.detach())

    @torch.no_grad()
    def step(self, algorithm: MeanField, model: RBM, evidence: Evidence, state: Layers) -> Layers:
        for_outer, for_hidden = model.log_odds(evidence)
        outer = torch.sigmoid(for_outer + model.outer_logits(state.hidden))
        outer = torch.lerp(outer, state.outer, algorithm.damping)
        hidden = torch.sigmoid(for_hidden + model.hidden_logits(outer))
        hidden = torch.lerp(hidden, state.hidden, algorithm.damping)
        change = torch.maximum((outer - state.outer).abs().max(), (hidden - state.hidden).abs().max())
        return Layers(state.iteration + 1, change / (1 - algorithm.damping), outer, hidden)

    def beliefs(self, algorithm: MeanField, model: RBM, evidence: Evidence, state: Layers) -> Tensor:
        one = model.shown(state.outer[..., : model.visible])
        return torch.stack([1 - one, one], -1)

    def hidden_beliefs(self, algorithm: MeanField, model: RBM, evidence: Evidence, state: Layers) -> Tensor:
        return torch.cat([state.hidden, state.outer[..., model.visible :]], -1)

    def factor_beliefs(self, algorithm: MeanField, model: RBM, evidence: Evidence, state: Layers) -> list[Tensor]:
        """The product of both ends, (…, 2, 2, O, H)."""
        outer = torch.stack([1 - state.outer, state.outer], -2)
        hidden = torch.stack([1 - state.hidden, state.hidden], -2)
        return [outer[..., :, None, :, None] * hidden[..., None, :, None, :]]

    def log_partition(self, algorithm: MeanField, model: RBM, evidence: Evidence, state: Layers) -> LogPartition:
        """-F of one item, or the sum over a batch: E_q[φ + evidence] + H(q), in float64 because large terms cancel."""
        with torch.no_grad():
            expected = -model.energy(state.outer, state.hidden).double().sum()
            outer, hidden = state.outer.double(), state.hidden.double()
            log = evidence.log_potentials.double()
            if log.shape[-2] != model.units:
                log = torch.nn.functional.pad(log, (0, 0, 0, model.units - model.visible))
            visible, second = outer.split([model.visible, model.second], -1)
            one = torch.cat([visible, hidden, second], -1)
            chances = torch.stack([1 - one, one], -1)
            said = torch.where(chances > 0, chances * log.clamp_min(torch.finfo(log.dtype).min), 0.0).sum()
            entropy = torch.special.entr(chances).sum()
        return LogPartition(float(expected + said + entropy), "lower_bound")
