"""Larger grid models from smaller ones: potentials of tied models untied, clones split, unused clones put to use.

Small models learn faster, so that large ones best grow from them. And training leaves clones behind that explain
nothing: a copy of a clone that explains much is a better start for them than where they are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.symmetry import ELEMENTS

SPLIT_NOISE = 0.3
"""Standard deviation of what tells the parts of a split clone apart at first."""


def grown(model: GridMRF, weights: Tensor) -> Tensor | None:
    """Weights for `model` from those of a tied model like it, or of one with fewer clones of the first label.

    Shapes are those of the two models' `weights`.
    """
    untied = _untied(model, weights)
    return _split_from(model, weights) if untied is None else untied


def _untied(model: GridMRF, weights: Tensor) -> Tensor | None:
    """Potentials (matrices, S, S) of a tied model with the same clones, for a model without tying; else None."""
    if model.tying != "free" or model.clones[0] % ELEMENTS:
        return None
    tied = GridMRF(**{**model.hyperparameters(), "tying": "square"})
    if weights.shape != tied.weights.shape:
        return None
    tied.weights.copy_(weights)
    return tied.potentials


def _split_from(model: GridMRF, weights: Tensor) -> Tensor | None:
    """Weights of a model whose clones of the first label, each cut into equal parts, are this model's; else None.

    Shapes are those of the two models' `weights`.
    """
    if model.tying == "lines":
        return None  # each of its clones has a meaning of its own
    unit = _unit(model)
    for parts in range(2, model.clones[0] // unit + 1):
        if model.clones[0] % (parts * unit):
            continue
        clones = (model.clones[0] // parts, *model.clones[1:])
        small = GridMRF(**{**model.hyperparameters(), "clones": clones}, dtype=model.weights.dtype)
        if small.weights.shape == weights.shape:
            small.weights.copy_(weights)
            bases = clones[0] // unit  # base clones of the small model
            first = torch.arange(unit)[:, None] * bases + torch.arange(bases * parts)[None, :] // parts
            rest = torch.arange(clones[0], small.states)
            return copied(model, small.potentials, torch.cat([first.reshape(-1), rest]), SPLIT_NOISE)
    return None


def _unit(model: GridMRF) -> int:
    """How many clones stand and fall together: the turned and mirrored versions of one, where potentials are tied."""
    return ELEMENTS if model.tying == "square" else 1


def copied(model: GridMRF, potentials: Tensor, origin: Tensor, noise: float) -> Tensor:
    """Weights of `model` whose state s is a copy of state `origin[s]` (S,) of `potentials` (matrices, S', S').

    Copies of one state share its potentials, less what makes them together as probable as it was, and differ by a
    little noise: training then tells them apart.
    """
    copies = torch.bincount(origin, minlength=potentials.shape[1])[origin].to(potentials.dtype)
    lower = torch.log(copies) / model.connectivity
    whole = potentials[:, origin][:, :, origin] - lower[:, None] - lower[None, :]
    several = (copies > 1).to(potentials.dtype)
    amount = noise * torch.where(several[:, None] + several[None, :] > 1, 1.0, 0.3)
    amount = amount * torch.where(several[:, None] + several[None, :] > 0, 1.0, 0.0)
    copy = GridMRF(weights=torch.zeros_like(model.weights), **model.hyperparameters())
    drawn = GridMRF(weights=torch.zeros_like(model.weights), **model.hyperparameters())
    with torch.no_grad():
        drawn.weights.normal_(generator=torch.Generator().manual_seed(0))
    copy.set_potentials(whole + amount * drawn.potentials - amount.square() / 2)
    return copy.weights


def revive(model: GridMRF, use: Tensor, least: float, noise: float = SPLIT_NOISE) -> int:
    """Turn clones of the first label that explain too little into copies of those that explain most; how many.

    `use` (clones,) is the share of the first label's pixels that each clone explains; what has less than `least` of
    an even share counts as unused. In place.
    """
    unit, clones = _unit(model), model.clones[0]
    bases = clones // unit
    share = use.reshape(unit, bases).sum(0) / max(float(use.sum()), math.ulp(0.0))
    unused = torch.nonzero(share < least / bases).reshape(-1).tolist()
    origin = torch.arange(bases)
    load = share.clone()
    copies = torch.ones(bases)
    for base in sorted(unused, key=lambda index: float(share[index])):
        donor = int((load / copies).argmax())
        if donor == base or float(share[donor]) < least / bases:
            break
        origin[base] = donor
        copies[donor] += 1
    changed = int((origin != torch.arange(bases)).sum()) * unit
    if changed:
        first = torch.arange(unit)[:, None] * bases + origin[None, :]
        states = torch.cat([first.reshape(-1), torch.arange(clones, model.states)])
        with torch.no_grad():
            model.weights.copy_(copied(model, model.potentials.detach(), states, noise))
    return changed
