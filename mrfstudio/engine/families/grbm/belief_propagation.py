"""Belief propagation on a GRBM: the kernel behind `bp` for Gaussian pixels and binary hidden units.

    state = bp.init(model, evidence); state = bp.step(model, evidence, state)
    bp.beliefs(model, evidence, state)          (…, height, width, 2): mean and variance of each pixel, grey levels
    bp.hidden_beliefs(model, evidence, state)   (…, hidden): p(h = 1)

Evidence is a `GaussianEvidence` (…, visible); `model.evidence_from_image` makes it. Observed pixels have their value
as mean and variance 0. The residual is the largest change of a message to a pixel, in units of what the pixel itself
weighs: of the information over √τ, of the precision over τ. Damping mixes both natural parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.messages import (
    Rows,
    bounded_beliefs,
    hidden_logits,
    make_rows,
    next_messages,
    pixel_beliefs,
    write_messages,
)
from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.inference.algorithm import Kernel, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.runtime.recycling import recycled


@dataclass(frozen=True, eq=False)
class GaussianMessages(State):
    """Messages from hidden units to pixels, (…, visible, hidden): information η and precision λ, 0 where observed."""

    information: Tensor
    precision: Tensor


@kernel(BeliefPropagation, GRBM)
class GrbmBeliefPropagation(Kernel):
    """Alternating half-steps on a batch of pictures with masks of their own; see `messages.py`."""

    def covers(self, algorithm: BeliefPropagation, model: GRBM) -> bool:
        return algorithm.temperature == 1.0 and algorithm.schedule == "parallel"

    def entries(self, model: GRBM, evidence: GaussianEvidence) -> int:
        return len(self._rows(model, evidence).places) * model.hidden

    def init(self, algorithm: BeliefPropagation, model: GRBM, evidence: GaussianEvidence) -> GaussianMessages:
        silent = model.weights.new_zeros((*evidence.observed.shape, model.hidden))
        return GaussianMessages(0, nothing_changed(silent), silent, silent)

    def step(
        self, algorithm: BeliefPropagation, model: GRBM, evidence: GaussianEvidence, state: GaussianMessages
    ) -> GaussianMessages:
        rows = self._rows(model, evidence)
        if torch.is_grad_enabled():
            eta, lam = _at(rows, state.information), _at(rows, state.precision)
            new_eta, new_lam = next_messages(rows, eta, lam)
            return _stepped(algorithm, rows, state, (eta, lam), (new_eta, new_lam))
        memory = recycled((7, *rows.weights.shape), rows.weights)
        (eta, lam, new_eta, new_lam), scratch = memory[:4], memory[4:]
        for messages, place in ((state.information, eta), (state.precision, lam)):
            torch.index_select(messages.reshape(-1, model.hidden), 0, rows.places, out=place)
        write_messages(rows, *pixel_beliefs(rows, eta, lam), eta, lam, new_eta, new_lam, scratch)
        return _stepped(algorithm, rows, state, (eta, lam), (new_eta, new_lam), scratch[0])

    def beliefs(
        self, algorithm: BeliefPropagation, model: GRBM, evidence: GaussianEvidence, state: GaussianMessages
    ) -> Tensor:
        rows = self._rows(model, evidence)
        sums = (messages.sum(-1).reshape(-1)[rows.places] for messages in (state.information, state.precision))
        information, precision, _ = bounded_beliefs(rows, *sums)
        shape = evidence.observed.shape
        mean = evidence.values.reshape(-1).index_copy(0, rows.places, information / precision).reshape(shape)
        variance = torch.zeros_like(mean).reshape(-1).index_copy(0, rows.places, 1 / precision).reshape(shape)
        return model.gaussian_beliefs(mean, variance)

    def hidden_beliefs(
        self, algorithm: BeliefPropagation, model: GRBM, evidence: GaussianEvidence, state: GaussianMessages
    ) -> Tensor:
        rows = self._rows(model, evidence)
        eta, lam = _at(rows, state.information), _at(rows, state.precision)
        logits = hidden_logits(rows, *pixel_beliefs(rows, eta, lam), eta, lam)
        return torch.sigmoid(logits).reshape(*evidence.observed.shape[:-1], model.hidden)

    def _rows(self, model: GRBM, evidence: GaussianEvidence) -> Rows:
        if model.weights.requires_grad and torch.is_grad_enabled():
            return make_rows(model, evidence)
        # A trainer changes the parameters in place.
        version = sum(tensor._version for tensor in model.tensors().values())
        return evidence.derived(model, f"rows {version}", lambda: make_rows(model, evidence))


def _at(rows: Rows, messages: Tensor) -> Tensor:
    """Messages (…, visible, hidden) at the rows, (rows, hidden)."""
    return messages.reshape(-1, messages.shape[-1]).index_select(0, rows.places)


def _stepped(
    algorithm: BeliefPropagation,
    rows: Rows,
    state: GaussianMessages,
    old: tuple[Tensor, Tensor],
    new: tuple[Tensor, Tensor],
    scratch: Tensor | None = None,
) -> GaussianMessages:
    """The next state, from old and new messages η and λ, (rows, hidden) each; `scratch` is another such."""
    residual = _largest_change(rows, old, new, scratch)
    if algorithm.damping:
        new = torch.lerp(new[0], old[0], algorithm.damping), torch.lerp(new[1], old[1], algorithm.damping)
    information, precision = (_put_back(rows, at_rows, state.information.shape) for at_rows in new)
    return GaussianMessages(state.iteration + 1, residual, information, precision)


def _put_back(rows: Rows, at_rows: Tensor, shape: torch.Size) -> Tensor:
    """Messages (rows, hidden) as (…, visible, hidden), 0 where there is no row."""
    whole = at_rows.new_zeros((shape[:-1].numel(), shape[-1]))
    return whole.index_copy_(0, rows.places, at_rows).reshape(shape)


@torch.no_grad()
def _largest_change(
    rows: Rows, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor], scratch: Tensor | None
) -> Tensor:
    """The residual, a scalar, of messages η and λ, (rows, hidden) each."""
    if not rows.weights.numel():
        return rows.weights.new_zeros(())
    eta, lam = (torch.sub(*pair, out=scratch).abs_().amax(1) for pair in zip(new, old, strict=True))
    return torch.maximum((eta / rows.precision.sqrt()).max(), (lam / rows.precision).max())
