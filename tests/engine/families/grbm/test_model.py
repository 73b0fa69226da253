"""The GRBM and its Gaussian messages: enumeration over hidden states, closed forms, limits, files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.model import GRBM, GrbmError, GrbmPlan
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from tests.engine.helpers.grbm import SHAPE, enumerated, made, masks, picture

BP = BeliefPropagation()


def settled(
    model: GRBM, evidence: GaussianEvidence, iterations: int = 200, **parameters: float
) -> tuple[Tensor, Tensor]:
    bp = BP.replace(**parameters)
    outcome = run(bp, model, evidence, Limits(iterations=iterations, tolerance=1e-13))
    return bp.beliefs(model, evidence, outcome.state), bp.hidden_beliefs(model, evidence, outcome.state)


@pytest.mark.parametrize("variance", ["unit", "learned"])
@pytest.mark.parametrize("unknown", masks(), ids=["some unknown", "all observed", "nothing observed"])
def test_one_hidden_unit_is_exact(variance: str, unknown: Tensor) -> None:
    for seed in range(5):
        model = made(1, 0.7, seed, variance)
        model.floor = 1e-9  # the floor is for many units; one unit needs none
        evidence = model.evidence_from_image(picture(seed), unknown)
        beliefs, hidden = settled(model, evidence)
        exact, exact_hidden = enumerated(model, evidence)
        torch.testing.assert_close(beliefs, exact, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(hidden, exact_hidden, rtol=1e-9, atol=1e-12)


def test_one_unknown_pixel_with_many_hidden_units_keeps_the_exact_mean_of_what_it_observes() -> None:
    model = made(4)
    evidence = model.evidence_from_image(picture(), torch.zeros(SHAPE, dtype=torch.bool))
    beliefs, hidden = settled(model, evidence)
    torch.testing.assert_close(beliefs[..., 0], picture())
    assert not beliefs[..., 1].any()
    logits = model.hidden_bias + model.weights @ model.standardise(picture())
    torch.testing.assert_close(hidden, torch.sigmoid(logits))


def test_clamped_hidden_units_leave_the_closed_form_gaussian() -> None:
    model = made(5)
    on = torch.tensor([1, 0, 1, 1, 0], dtype=torch.float64)
    clamped = torch.where(on > 0, math.inf, -math.inf).to(torch.float64)
    unknown = masks()[0]
    evidence = model.evidence_from_image(picture(), unknown, hidden=clamped)
    beliefs, hidden = settled(model, evidence)
    assert torch.equal(hidden, on)
    given = model.to_grey(model.visible_bias + on @ model.weights / model.precision)
    variance = (model.deviation.square() / model.precision).reshape(SHAPE)
    torch.testing.assert_close(beliefs[..., 0][unknown], given[unknown])
    torch.testing.assert_close(beliefs[..., 1][unknown], variance[unknown])


def test_weak_couplings_are_nearly_exact() -> None:
    model = made(5, 0.25)
    evidence = model.evidence_from_image(picture(), masks()[0])
    beliefs, hidden = settled(model, evidence)
    exact, exact_hidden = enumerated(model, evidence)
    torch.testing.assert_close(beliefs, exact, rtol=2e-3, atol=2e-4)
    torch.testing.assert_close(hidden, exact_hidden, rtol=0, atol=2e-3)


def test_soft_evidence_lies_between_none_and_exact() -> None:
    model = made(1, 0.8)
    model.floor = 1e-9
    for strength in (0.2, 0.5, 0.9):
        evidence = model.evidence_from_image(picture(), None, strength)
        precision = model.precision * strength / (1 - strength)
        torch.testing.assert_close(evidence.precision, precision)
        torch.testing.assert_close(settled(model, evidence)[0], enumerated(model, evidence)[0])
    nearly, exactly = (settled(model, model.evidence_from_image(picture(), None, s))[0] for s in (1 - 1e-9, 1.0))
    torch.testing.assert_close(nearly, exactly, rtol=0, atol=1e-5)
    nothing = model.evidence_from_image(picture(), None, 0.0)
    torch.testing.assert_close(settled(model, nothing)[0], enumerated(model, nothing)[0])


def test_a_batch_gives_what_each_picture_gives_alone() -> None:
    model, pictures = made(4), picture(3, (3, *SHAPE))
    unknown = torch.stack(masks())
    state = BP.init(model, together := model.evidence_from_image(pictures, unknown))
    alone = [model.evidence_from_image(grey, mask) for grey, mask in zip(pictures, unknown, strict=True)]
    states = [BP.init(model, one) for one in alone]
    for _ in range(4):
        state = BP.step(model, together, state)
        states = [BP.step(model, one, its) for one, its in zip(alone, states, strict=True)]
        each = [BP.beliefs(model, one, its) for one, its in zip(alone, states, strict=True)]
        torch.testing.assert_close(BP.beliefs(model, together, state), torch.stack(each))
        hidden = [BP.hidden_beliefs(model, one, its) for one, its in zip(alone, states, strict=True)]
        torch.testing.assert_close(BP.hidden_beliefs(model, together, state), torch.stack(hidden))


def test_damping_changes_the_way_but_not_the_fixed_point() -> None:
    model = made(4, 0.5)
    evidence = model.evidence_from_image(picture(), masks()[0])
    plain, damped = settled(model, evidence), settled(model, evidence, 400, damping=0.6)
    torch.testing.assert_close(plain[0], damped[0])


def test_units_that_share_directions_settle_where_damped_messages_do() -> None:
    """Nine directions of twelve pixels, twenty units each, take more than half of the pixels' precision.

    Messages that are not carried along with the mean run off there, undamped.
    """
    generator = torch.Generator().manual_seed(1)
    directions, _ = torch.linalg.qr(torch.randn(12, 12, generator=generator, dtype=torch.float64))
    model = GRBM((3, 4), 9 * 20, dtype=torch.float64)
    model.weights.copy_(0.4 * directions[:9].repeat_interleave(20, 0))
    own = 0.3 * torch.randn(12, generator=generator, dtype=torch.float64)
    model.visible_bias.copy_(own - 0.5 * model.weights.sum(0))
    evidence = model.evidence_from_image(torch.zeros(3, 4), torch.ones(3, 4, dtype=torch.bool))
    plain, damped = settled(model, evidence), settled(model, evidence, 2000, damping=0.7)
    assert float((1 / plain[0][..., 1]).mean()) < 0.5  # of a precision of 1
    torch.testing.assert_close(plain[0], damped[0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [30.0, 1e3, 1e6])
def test_extreme_weights_give_finite_beliefs_and_positive_variances(dtype: torch.dtype, scale: float) -> None:
    model = made(30, scale, shape=(4, 5)).to(dtype)
    grey = picture(2, (4, 5)).to(dtype)
    for unknown in (torch.ones(4, 5, dtype=torch.bool), torch.rand(4, 5) < 0.5):
        for damping in (0.0, 0.5):
            beliefs, hidden = settled(model, model.evidence_from_image(grey, unknown), 60, damping=damping)
            assert torch.isfinite(beliefs).all()
            assert torch.isfinite(hidden).all()
            assert (beliefs[..., 1][unknown] > 0).all()


def test_the_state_goes_on_when_the_mask_changes() -> None:
    model = made(4, 0.5)
    first, then = (model.evidence_from_image(picture(), mask) for mask in masks()[::2])
    state = BP.init(model, first)
    for _ in range(3):
        state = BP.step(model, first, state)
    for _ in range(200):
        state = BP.step(model, then, state)
    torch.testing.assert_close(BP.beliefs(model, then, state), settled(model, then)[0])


def test_bits_are_those_of_the_gaussian_in_standard_units() -> None:
    model = made(2)
    beliefs = torch.tensor([[[0.4, 0.04], [0.4, 0.0], [0.6, 0.04]]] * 2, dtype=torch.float64)
    grey = torch.full(SHAPE, 0.4, dtype=torch.float64)
    least = 0.5 * math.log2(2 * math.pi)  # variance 0.2² is 1 in standard units
    expected = torch.tensor([least, 0.0, least + 0.5 / math.log(2)], dtype=torch.float64)
    torch.testing.assert_close(model.bits(beliefs, grey), expected.expand(2, 3))


def test_a_file_gives_the_model_back(tmp_path: Path) -> None:
    model = made(4)
    path = save_model(
        tmp_path / "m.safetensors", model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()}
    )
    again = open_model(path, "grbm")
    assert again.hyperparameters() == model.hyperparameters()
    torch.testing.assert_close(again.weights, model.weights.float())
    torch.testing.assert_close(
        again.receptive_fields(), (0.2 * model.weights / model.precision).reshape(4, *SHAPE).float()
    )


def test_a_new_model_starts_from_the_pixels_own_mean_and_variance() -> None:
    images = torch.randint(0, 256, (40, *SHAPE), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    model = GrbmPlan(hidden=3).build_for(TrainingData(TensorSource(images=images)), seed=0)
    pixels = model.standardise(images / 255)
    assert float(pixels.mean()) == pytest.approx(0, abs=1e-6)
    assert float(pixels.std(correction=0)) == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(1 / model.precision.detach(), pixels.var(0, correction=0) / 2 + 1e-4)
    assert {n for n, t in model.tensors().items() if t.requires_grad} == {
        "weights", "visible_bias", "hidden_bias", "log_precision"
    }  # fmt: skip
    unit = GrbmPlan(hidden=3, variance="unit").build_for(TrainingData(TensorSource(images=images)), seed=0)
    assert not unit.log_precision.requires_grad
    assert not unit.log_precision.any()


def test_a_larger_model_starts_from_a_smaller_one() -> None:
    small, large = made(4, 0.5), made(6, 0.02, seed=1)
    evidence = small.evidence_from_image(picture(), masks()[0])
    large.load_tensors(small.tensors())
    assert torch.equal(large.weights[:4], small.weights)
    before, after = settled(small, evidence)[0], settled(large, evidence)[0]
    torch.testing.assert_close(after, before, rtol=0, atol=5e-3)
    with pytest.raises(GrbmError, match="expected shape"):
        small.load_tensors(large.tensors())


def test_what_does_not_fit_is_refused_in_a_sentence() -> None:
    model = made(2)
    with pytest.raises(GrbmError, match="takes 3×2 pixels"):
        model.evidence_from_image(torch.zeros(3, 2))
    with pytest.raises(GrbmError, match="not finite"):
        model.evidence_from_image(torch.full(SHAPE, math.nan))
    with pytest.raises(GrbmError, match="numbers from 0 to 1"):
        model.evidence_from_image(torch.zeros(SHAPE), None, 1.5)
    with pytest.raises(GrbmError, match="expected shape"):
        model.load_tensors({"weights": torch.zeros(3, 3)})
    with pytest.raises(GrbmError, match="no grey pictures"):
        GrbmPlan().build_for(TrainingData(TensorSource(x=torch.zeros(4, 6))), seed=0)
    with pytest.raises(Unsupported, match="trw has no way to work on a grbm: use bp"):
        ALGORITHMS["trw"]().init(model, model.evidence_from_image(picture()))
    with pytest.raises(Unsupported, match="only with other parameters"):
        BP.replace(temperature=0.0).init(model, model.evidence_from_image(picture()))
