"""Gaussian RBMs of pictures: draws look like pictures, and a picture that was not learned is called so."""

from __future__ import annotations

import torch

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.families.grbm.pixels import misfit
from mrfstudio.engine.families.pixels import pixels_of
from mrfstudio.engine.inference.samplers.gibbs import Gibbs

SHAPE = (6, 6)


def halves() -> GRBM:
    """Two units: one makes the left half bright, one the right."""
    model = GRBM(SHAPE, 2)
    model.weights.view(2, *SHAPE)[0, :, :3] = 40.0
    model.weights.view(2, *SHAPE)[1, :, 3:] = 40.0
    model.visible_bias.fill_(-1.0)
    model.hidden_bias.fill_(0.0)
    model.log_precision.fill_(3.0)  # deviation 0.22
    model.mean.fill_(0.5)
    model.deviation.fill_(0.25)
    return model


def test_a_draw_shows_what_the_hidden_units_mean() -> None:
    model, sampler = halves(), Gibbs(chains=2, burn_in=0)
    unknown = torch.zeros(SHAPE, dtype=torch.bool)
    unknown[2:4] = True
    grey = torch.full(SHAPE, 0.25)
    evidence = model.evidence_from_image(grey, unknown)
    state = sampler.init(model, evidence)
    for _ in range(5):
        state = sampler.step(model, evidence, state)
    shown = pixels_of(model).drawn(model, sampler, evidence, state)
    noisy = sampler.samples(model, evidence, state)
    assert torch.allclose(shown[:, ~unknown], grey[~unknown].expand(2, -1), atol=1e-6)
    assert float(shown[0, 2:4, :3].std()) < 1e-5  # one unit, one colour
    assert float(noisy[0, 2:4, :3].std()) > 0.01


def test_a_picture_unlike_the_learned_ones_is_called_so() -> None:
    model, look = halves(), pixels_of(halves())
    own = torch.full(SHAPE, 0.25)
    own[:, 3:] = 0.25 + 0.25 * 40 / float(model.precision[0])
    odd = torch.rand(SHAPE, generator=torch.Generator().manual_seed(0))
    hole, nothing, all_of_it = torch.zeros(SHAPE, dtype=torch.bool), *torch.tensor([False, True]).view(2, 1, 1)
    hole[2:4, 2:4] = True
    assert misfit(model, model.evidence_from_image(own, hole)) < 0.1
    assert look.unlike(model, model.evidence_from_image(own, hole)) is None
    assert "has not learned" in str(look.unlike(model, model.evidence_from_image(odd, hole)))
    for unknown in (nothing, all_of_it):  # nothing is asked, or nothing is known
        assert look.unlike(model, model.evidence_from_image(odd, unknown.expand(SHAPE))) is None
