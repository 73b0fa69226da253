"""Matrix belief propagation on Boltzmann machines with units of 0 and 1: sum-, max- and mixed-product.

The updates of Algorithm 1 of [PI17], in logits and in a form that stays finite. With φ = hᵀAo +
aᵀh + dᵀo, cavities x as log-odds and f the transfer function of `transfer.py`,

    L = A/2 + f_{A/2}(x + A/2, T),      T = 1 sum-product, T = 0 max-product.

Mixed-product sums over hidden units and maximises over outer ones: hidden units send sums, outer units say A ô with
their present best state ô (0 or 1). Messages start at zero; between start and fixed point they differ from those of
`bp`, which splits the same energy into tables of spins.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.belief_propagation import fitted_messages
from mrfstudio.engine.families.rbm.bipartite import (
    BipartiteQuery,
    hidden_beliefs,
    pair_beliefs,
    prepare,
    visible_beliefs,
)
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, Model, State, kernel, kernels, nothing_changed
from mrfstudio.engine.inference.messages.transfer import Transfer, transfer
from mrfstudio.engine.inference.residuals import largest_ratio_change
from mrfstudio.engine.protocol.catalogue import choice, number
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class MatrixBP(Algorithm):
    """Parameters of matrix BP. One iteration updates the messages of both directions."""

    name = "matrix-bp"
    title = "Matrix belief propagation"
    summary = (
        "Messages of a Boltzmann machine as two matrices: sum-product, max-product, or the best visible units "
        "with hidden ones summed out."
    )

    product: str = choice(
        "sum",
        ("sum", "max", "mixed"),
        "Sum gives marginals, max the best joint state, mixed the best visible state with hidden units summed out.",
    )
    schedule: str = choice(
        "alternating",
        ("alternating", "parallel"),
        "Alternating sends from hidden units, then answers at once; parallel updates both from the old ones.",
    )
    damping: float = number(
        0.0, "How much of the old message is kept; helps when messages oscillate.", low=0, high=1, high_open=True
    )

    def supports(self, model: Model) -> str | None:
        if kernels(self, model):
            return None
        return f"matrix-bp works on Boltzmann machines, not on a {model.kind}: use bp."


@dataclass(frozen=True, eq=False)
class Matrices(State):
    """Messages L as log-odds (B, U, H) of units of 0 and 1; `unit` (B, U) as in `bipartite.BipartiteQuery`."""

    to_hidden: Tensor
    to_outer: Tensor
    unit: Tensor


@kernel(MatrixBP, RBM)
class MatrixBPOnMachine(Kernel):
    """Observed units are conditioned on, others carry messages."""

    def entries(self, model: RBM, evidence: Evidence) -> int | None:
        return 2 * prepare(model, evidence).unit.numel() * model.hidden

    def init(self, algorithm: MatrixBP, model: RBM, evidence: Evidence) -> Matrices:
        query = prepare(model, evidence)
        zero = query.weights.new_zeros(query.unit.shape[0], query.unit.shape[1], model.hidden)
        return Matrices(0, nothing_changed(zero), zero, zero, query.unit)

    @torch.no_grad()
    def step(self, algorithm: MatrixBP, model: RBM, evidence: Evidence, state: Matrices) -> Matrices:
        query = prepare(model, evidence)
        state = _fitted(model, query, state)
        hidden = _hidden(query, state.to_hidden)
        soft = 0.0 if algorithm.product == "max" else 1.0
        to_outer = _message(hidden[:, None] - state.to_hidden, query, soft)
        change = largest_ratio_change(to_outer, state.to_outer)
        to_outer = _damped(algorithm, to_outer, state.to_outer)
        heard = state.to_outer if algorithm.schedule == "parallel" else to_outer
        outer = _outer(query, heard)
        if algorithm.product == "mixed":
            to_hidden = 2 * query.weights * (outer > 0).to(outer.dtype)[:, :, None]
        else:
            to_hidden = _message(outer[:, :, None] - heard, query, soft)
        residual = torch.maximum(change, largest_ratio_change(to_hidden, state.to_hidden))
        to_hidden = _damped(algorithm, to_hidden, state.to_hidden)
        return Matrices(state.iteration + 1, residual, to_hidden, to_outer, query.unit)

    def beliefs(self, algorithm: MatrixBP, model: RBM, evidence: Evidence, state: Matrices) -> Tensor:
        query = prepare(model, evidence)
        state = _fitted(model, query, state)
        return visible_beliefs(model, query, _outer(query, state.to_outer))

    def hidden_beliefs(self, algorithm: MatrixBP, model: RBM, evidence: Evidence, state: Matrices) -> Tensor:
        query = prepare(model, evidence)
        state = _fitted(model, query, state)
        return hidden_beliefs(model, query, _outer(query, state.to_outer), _hidden(query, state.to_hidden))

    def factor_beliefs(self, algorithm: MatrixBP, model: RBM, evidence: Evidence, state: Matrices) -> list[Tensor]:
        """Γ (…, 2, 2, O, H) as the only entry: τ of every pair, from the cavities of both ends (Eq. 18)."""
        query = prepare(model, evidence)
        state = _fitted(model, query, state)
        hidden = _hidden(query, state.to_hidden)
        # The table A·h·o of 0 and 1 is that of ½ w s t with w added to both fields.
        outer = _outer(query, state.to_outer)[:, :, None] - state.to_outer + query.weights
        cavity = hidden[:, None] - state.to_hidden + query.weights
        return [pair_beliefs(model, query, outer, cavity, torch.sigmoid(hidden))]


def _message(x: Tensor, query: BipartiteQuery, temperature: float) -> Tensor:
    """A/2 + f_{A/2}(x + A/2, T) with A/2 = W, (B, U, H), of cavities x (B, U, H), which are used up."""
    shifted = x.add_(query.weights)
    found = Transfer(query.weights)(shifted) if temperature else transfer(shifted, query.weights, 0.0)
    return found.add_(query.weights)


def _damped(algorithm: MatrixBP, proposal: Tensor, old: Tensor) -> Tensor:
    """Both (B, U, H): the proposal with a part of the old messages."""
    return torch.lerp(proposal, old, algorithm.damping) if algorithm.damping else proposal


def _hidden(query: BipartiteQuery, to_hidden: Tensor) -> Tensor:
    """a + evidence + field of 0 and 1 + messages, (B, H): only pairs with unknown units lose W to the bias."""
    return query.hidden - query.weights.sum(1) + query.field + to_hidden.sum(1)


def _outer(query: BipartiteQuery, to_outer: Tensor) -> Tensor:
    """d + evidence + messages, (B, U)."""
    return query.outer - query.weights.sum(2) + to_outer.sum(2)


def _fitted(model: RBM, query: BipartiteQuery, state: Matrices) -> Matrices:
    if state.unit.shape == query.unit.shape and torch.equal(state.unit, query.unit):
        return state
    to_hidden, to_outer = (fitted_messages(model, query, state.unit, m) for m in (state.to_hidden, state.to_outer))
    return Matrices(state.iteration, state.residual, to_hidden, to_outer, query.unit)
