"""A small Gaussian machine, and its truth by enumeration of the hidden states."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.graphs.evidence import GaussianEvidence

SHAPE = (2, 3)


def made(
    hidden: int, scale: float = 1.0, seed: int = 0, variance: str = "learned", shape: tuple[int, int] = SHAPE
) -> GRBM:
    generator = torch.Generator().manual_seed(seed)
    model = GRBM(shape, hidden, variance=variance, dtype=torch.float64)
    for name in ("weights", "visible_bias", "hidden_bias"):
        tensor = getattr(model, name)
        tensor.copy_(scale * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    if variance == "learned":
        model.log_precision.copy_(torch.randn(model.visible, generator=generator, dtype=torch.float64))
    model.mean.fill_(0.4)
    model.deviation.fill_(0.2)
    return model


def picture(seed: int = 1, shape: tuple[int, ...] = SHAPE) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def enumerated(model: GRBM, evidence: GaussianEvidence) -> tuple[Tensor, Tensor]:
    """Exact beliefs (height, width, 2) and p(h = 1) (hidden,) of one picture, as a mixture over all hidden states."""
    h = torch.tensor(list(itertools.product((0.0, 1.0), repeat=model.hidden)), dtype=torch.float64)
    known, tau = evidence.observed, model.precision
    t = tau + evidence.precision
    n = tau * model.visible_bias + evidence.information + h @ model.weights
    free = ~known
    log = h @ model.hidden_bias + (h @ model.weights * evidence.values)[:, known].sum(1)
    log = log + (n.square() / (2 * t))[:, free].sum(1)
    if evidence.hidden is not None:
        bound = torch.where(evidence.hidden.isinf(), 1e6 * evidence.hidden.sign(), evidence.hidden)
        log = log + h @ bound
    p = torch.softmax(log, 0)[:, None]
    mean = (p * n / t).sum(0)
    variance = (p * (1 / t + (n / t).square())).sum(0) - mean.square()
    mean = torch.where(known, evidence.values, mean)
    return model.gaussian_beliefs(mean, torch.where(known, 0.0, variance)), (p * h).sum(0)


def masks() -> list[Tensor]:
    some = torch.tensor([[True, False, True], [False, True, False]])
    return [some, torch.zeros(SHAPE, dtype=torch.bool), torch.ones(SHAPE, dtype=torch.bool)]
