"""Blocked Gibbs sampling of a GRBM agrees with enumeration over the hidden states, whatever BP does."""

from __future__ import annotations

import math

import pytest
import torch

from mrfstudio.engine.families.grbm.gibbs import GrbmChains
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from tests.engine.helpers.grbm import SHAPE, enumerated, made, masks, picture

GIBBS = Gibbs(chains=400, burn_in=30, seed=3)


@pytest.mark.parametrize("unknown", masks(), ids=["some unknown", "all observed", "nothing observed"])
@pytest.mark.parametrize(("hidden", "scale", "strength"), [(1, 0.8, 1.0), (5, 0.5, 1.0), (4, 0.6, 0.5)])
def test_chains_agree_with_enumeration(hidden: int, scale: float, strength: float, unknown: torch.Tensor) -> None:
    model = made(hidden, scale)
    evidence = model.evidence_from_image(picture(), unknown, strength)
    state = run(GIBBS, model, evidence, Limits(iterations=230, tolerance=0.0)).state
    exact, exact_hidden = enumerated(model, evidence)
    beliefs = GIBBS.beliefs(model, evidence, state)
    error = 5 * float(state.residual) + 1e-9  # five standard errors of the worst one, in standard units
    torch.testing.assert_close(GIBBS.hidden_beliefs(model, evidence, state), exact_hidden, rtol=0, atol=error)
    torch.testing.assert_close(beliefs[..., 0], exact[..., 0], rtol=0, atol=error * float(model.deviation))
    torch.testing.assert_close(beliefs[..., 1], exact[..., 1], rtol=0.1, atol=1e-9)


def test_samples_are_pictures_with_the_observed_pixels_in_them() -> None:
    model = made(4, 0.5)
    evidence = model.evidence_from_image(picture(), masks()[0])
    state = run(GIBBS, model, evidence, Limits(iterations=200, tolerance=0.0)).state
    samples = GIBBS.samples(model, evidence, state)
    assert samples.shape == (400, *SHAPE)
    known = ~masks()[0]
    torch.testing.assert_close(samples[:, known], picture()[known].expand(400, -1))
    exact = enumerated(model, evidence)[0]
    torch.testing.assert_close(samples.mean(0), exact[..., 0], rtol=0, atol=5 * float(exact[..., 1].max() / 400) ** 0.5)


def test_clamped_units_stay_where_they_are() -> None:
    model = made(3)
    clamped = torch.tensor([math.inf, -math.inf, 0.0], dtype=torch.float64)
    evidence = model.evidence_from_image(picture(), masks()[0], hidden=clamped)
    state = run(GIBBS, model, evidence, Limits(iterations=40, tolerance=0.0)).state
    assert isinstance(state, GrbmChains)
    assert state.hidden[:, 0].all()
    assert not state.hidden[:, 1].any()
    assert GIBBS.hidden_beliefs(model, evidence, state)[:2].tolist() == [1.0, 0.0]


def test_the_same_seed_draws_the_same_and_new_evidence_counts_anew() -> None:
    model = made(3)
    evidence = model.evidence_from_image(picture(), masks()[0])
    first, second = (run(GIBBS, model, evidence, Limits(iterations=40, tolerance=0.0)).state for _ in range(2))
    assert isinstance(first, GrbmChains)
    assert isinstance(second, GrbmChains)
    assert torch.equal(first.pixels, second.pixels)
    resumed = GIBBS.resume(model, evidence, first)
    assert isinstance(resumed, GrbmChains)
    assert (first.counted, resumed.counted, resumed.iteration) == (10, 0, 0)
    assert torch.equal(resumed.pixels, first.pixels)
    assert torch.isfinite(GIBBS.beliefs(model, evidence, resumed)).all()


def test_a_batch_is_refused() -> None:
    model = made(2)
    with pytest.raises(Unsupported, match="one picture at a time"):
        GIBBS.init(model, model.evidence_from_image(picture(0, (2, *SHAPE))))
