"""Small Boltzmann machines and their truth by enumeration."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.model import DBM, RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm, State


def random_machine(
    seed: int,
    visible: int,
    hidden: int,
    second: int = 0,
    *,
    scale: float = 1.0,
    image_shape: tuple[int, int] | None = None,
) -> RBM:
    """Weights and biases N(0, scale²) in float64; with a second layer a DBM."""
    generator = torch.Generator().manual_seed(seed)
    model: RBM
    if second:
        model = DBM(visible, hidden, second, image_shape=image_shape, dtype=torch.float64)
    else:
        model = RBM(visible, hidden, image_shape=image_shape, dtype=torch.float64)
    for tensor in (model.weights, model.outer_bias, model.hidden_bias):
        tensor.normal_(generator=generator).mul_(scale)
    return model


def all_states(units: int) -> Tensor:
    """Every assignment of 0 and 1, (2^units, units), all zeros first."""
    return torch.tensor(list(itertools.product((0.0, 1.0), repeat=units)), dtype=torch.float64)


def enumerated(model: RBM, evidence: Evidence | None = None) -> tuple[float, Tensor]:
    """log Z and P(unit = 1) (units,) in the order of evidence, which is included."""
    states = all_states(model.units)
    visible, hidden, second = states.split([model.visible, model.hidden, model.second], 1)
    score = -model.energy(torch.cat([visible, second], 1), hidden)
    if evidence is not None:
        log = evidence.log_potentials
        if len(log) == model.visible:
            log = torch.nn.functional.pad(log, (0, 0, 0, model.units - model.visible))
        chosen = torch.where(states.bool()[..., None] == torch.tensor([False, True]), log, torch.zeros(()).double())
        score = score + chosen.sum((1, 2))
    log_z = torch.logsumexp(score, 0)
    return float(log_z), torch.exp(score - log_z) @ states


def unit_beliefs(algorithm: Algorithm, model: RBM, evidence: Evidence, state: State) -> Tensor:
    """P(unit = 1), (…, units), of visible and hidden units, in the order of evidence."""
    visible = algorithm.beliefs(model, evidence, state)[..., 1]
    return torch.cat([visible, algorithm.hidden_beliefs(model, evidence, state)], -1)
