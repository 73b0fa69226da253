"""The start of a GRBM from principal components: what it reconstructs, and that it knows something before training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.components import component_start
from mrfstudio.engine.families.grbm.model import GrbmPlan
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.training.learner import TensorSource, TrainingData


def waves(count: int, noise: float = 0.05) -> Tensor:
    """Pixels (count, 12) that two components explain but for noise."""
    generator = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 6.28, 12, dtype=torch.float64)
    amounts = torch.randn(count, 2, generator=generator, dtype=torch.float64)
    clean = amounts @ torch.stack([x.sin(), 0.5 * (2 * x).cos()])
    return 0.3 + clean + noise * torch.randn(clean.shape, generator=generator, dtype=torch.float64)


def test_hidden_units_follow_each_component_along_a_staircase() -> None:
    pixels = waves(500)
    start = component_start(pixels, 40)
    on = torch.sigmoid(start.hidden_bias + pixels @ start.weights.t())
    again = start.visible_bias + on @ start.weights / start.precision
    inside = (on.sum(1) > 4) & (on.sum(1) < 36)  # beyond two deviations the staircase ends
    assert (again - pixels)[inside].square().mean() < 0.02 * pixels.var()
    assert start.weights.shape == (40, 12)
    assert torch.linalg.matrix_rank(start.weights, rtol=1e-6) == 5


@pytest.mark.parametrize("variance", ["learned", "unit"])
def test_it_fills_in_before_any_training(variance: str) -> None:
    grey = (0.5 + 0.1 * waves(300)).float().clamp(0, 1).reshape(-1, 3, 4)
    plan = GrbmPlan(hidden=20, start="components", start_noise=0.0, variance=variance)
    model = plan.build_for(TrainingData(TensorSource(images=grey)), 0)
    if variance == "unit":
        assert not bool(model.log_precision.detach().any())
    unknown = torch.zeros(3, 4, dtype=torch.bool)
    unknown[0], unknown[2, 2:] = True, True
    bp, error, independent = BeliefPropagation(), 0.0, 0.0
    with torch.no_grad():
        for picture in grey[:40]:
            given = model.evidence_from_image(picture, unknown)
            state = run(bp, model, given, Limits(iterations=20, tolerance=0.0)).state
            found = bp.beliefs(model, given, state)[..., 0]
            error += float((found - picture)[unknown].square().sum())
            independent += float((grey.mean(0) - picture)[unknown].square().sum())
    assert error < 0.5 * independent


def test_one_unit_and_equal_pictures_do_no_harm() -> None:
    start = component_start(torch.full((5, 6), 0.4), 1)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in vars(start).values())
