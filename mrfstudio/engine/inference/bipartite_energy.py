"""The Bethe free energy of bipartite binary models, from the messages of `bipartite.py`."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.bipartite import Query, hidden_totals, outer_totals
from mrfstudio.engine.models.rbm import RBM


def bethe_log_z(model: RBM, evidence: Evidence, query: Query, to_outer: Tensor, to_hidden: Tensor) -> float:
    """log Z_Bethe, evidence included, of one item (or the sum over a batch); messages (B, U, H) of temperature 1.

    Σ_i log Z_i + Σ_pairs log E[θ / (m m')] with the expectation under the product of both beliefs. Observed units are
    conditioned on: what they weigh is constant, their pairs are the field. In float64, because large terms cancel.
    """
    to_outer, to_hidden = to_outer.double(), to_hidden.double()
    outer, hidden = _local(model, evidence, query)
    nodes = torch.logaddexp(outer[0], outer[1] + to_outer.sum(2)).sum()
    field = query.field.double() / 2
    nodes = nodes + torch.logaddexp(hidden[0] - field, hidden[1] + field + to_hidden.sum(1)).sum()
    weights = query.weights.double() / 2
    o = outer_totals(query, to_outer)[:, :, None].double()
    h = hidden_totals(query, to_hidden)[:, None].double()
    terms = [
        weights + logsigmoid(-o) + logsigmoid(-h),
        -weights + logsigmoid(-o) + logsigmoid(h) - to_hidden,
        -weights + logsigmoid(o) - to_outer + logsigmoid(-h),
        weights + logsigmoid(o) - to_outer + logsigmoid(h) - to_hidden,
    ]
    present = (query.unit < model.outer)[:, :, None]
    pairs = torch.where(present, torch.logsumexp(torch.stack(terms), 0), torch.zeros_like(terms[0]))
    return float(nodes + pairs.sum() + _constant(model, evidence, query))


def _local(model: RBM, evidence: Evidence, query: Query) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Log-potentials of states 0 and 1 of the unknown outer (B, U) and the hidden units (B, H); padding weighs 1."""
    log_outer, log_hidden = _sides(model, evidence)
    silent = torch.tensor([-torch.inf, 0.0], dtype=torch.float64)  # one state: its logarithm adds nothing
    outer = log_outer + _signed(model.outer_bias)
    padded = torch.cat([outer, silent.expand(len(outer), 1, 2)], 1)
    chosen = padded.gather(1, query.unit[:, :, None].expand(-1, -1, 2))
    hidden = log_hidden + _signed(model.hidden_bias)
    return (chosen[..., 0], chosen[..., 1]), (hidden[..., 0], hidden[..., 1])


def _sides(model: RBM, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Evidence of the outer (B, O, 2) and the hidden units (B, H, 2), in float64."""
    log = evidence.log_potentials.double()
    if log.shape[-2] != model.units:
        log = pad(log, (0, 0, 0, model.units - model.visible))
    log = log.reshape(-1, model.units, 2)
    visible, hidden, second = log.split([model.visible, model.hidden, model.second], 1)
    return torch.cat([visible, second], 1), hidden


def _signed(bias: Tensor) -> Tensor:
    """Half a bias against and for each state, (…, 2)."""
    half = bias.detach().double() / 2
    return torch.stack([-half, half], -1)


def _constant(model: RBM, evidence: Evidence, query: Query) -> Tensor:
    """What observed units weigh, and the constant of φ for every item."""
    outer = _sides(model, evidence)[0] + _signed(model.outer_bias)
    state = (query.spins > 0).long()[:, :, None]
    observed = outer.gather(2, state)[..., 0]
    biases = model.outer_bias.detach().double().sum() + model.hidden_bias.detach().double().sum()
    item = (biases - model.weights.detach().double().sum()) / 2
    return torch.where(query.spins != 0, observed, torch.zeros_like(observed)).sum() + len(query.unit) * item
