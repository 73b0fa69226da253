"""Query training of the GRBM: the hand-written backward pass, the loss, a short run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.first_order import first_order_beliefs
from mrfstudio.engine.families.grbm.messages import Rows, bounded_beliefs, make_rows, next_messages, pixel_beliefs
from mrfstudio.engine.families.grbm.model import GRBM, GrbmPlan
from mrfstudio.engine.families.grbm.query import gaussian_bits, scores
from mrfstudio.engine.families.grbm.unrolled import unrolled_beliefs
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.training.command import assemble, training_plan
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.learners.query import Query
from mrfstudio.engine.training.trainer import Trainer

NAMES = ("weights", "visible_bias", "hidden_bias", "log_precision")


def random_model(
    shape: tuple[int, int], hidden: int, scale: float, dtype: torch.dtype = torch.float64, seed: int = 0
) -> GRBM:
    generator = torch.Generator().manual_seed(seed)
    model = GRBM(shape, hidden, dtype=dtype)
    for name, width in zip(NAMES, (scale, 1.0, 1.0, 0.3), strict=True):
        tensor = getattr(model, name)
        tensor.copy_(width * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model.trained()


def random_query(shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(shape, generator=generator, dtype=dtype), torch.rand(shape, generator=generator) < 0.6


def by_stepping(rows: Rows, iterations: int, readouts: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    eta = lam = torch.zeros_like(rows.weights)
    found = []
    for _ in range(iterations):
        eta, lam = next_messages(rows, eta, lam)
        found.append(pixel_beliefs(rows, eta, lam))
    chosen = [found[k - 1] for k in readouts]
    return torch.stack([n for n, _ in chosen]), torch.stack([p for _, p in chosen])


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("floor", [0.1, 0.99])
def test_the_backward_pass_is_that_of_the_steps(images: int, floor: float) -> None:
    """With the high floor some precisions lie on it, so both branches are taken."""
    model = random_model((3, 4), 5, 0.6)
    model.floor = floor
    grey, unknown = random_query((images, 3, 4))
    evidence = model.evidence_from_image(grey, unknown)
    gradients = []
    for unroll in (unrolled_beliefs, by_stepping):
        rows = make_rows(model, evidence)
        information, precision = unroll(rows, 6, (4, 6))
        weight = torch.linspace(1, 2, precision.numel(), dtype=torch.float64).reshape(precision.shape)
        loss = (weight * (information / precision + precision.log())).sum()
        gradients.append(torch.autograd.grad(loss, [getattr(model, name) for name in NAMES]))
    assert bool((precision <= rows.least * (1 + 1e-9)).any()) == (floor == 0.99)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_gradcheck_of_the_loss_in_64_bits(scale: float) -> None:
    """With strong weights means are clipped to what the units can reach: those bounds move with the parameters."""
    model = random_model((2, 3), 3, scale)
    grey, unknown = random_query((2, 2, 3))
    evidence = model.evidence_from_image(grey, unknown)

    def loss(*values: Tensor) -> Tensor:
        other = GRBM((2, 3), 3, dtype=torch.float64)
        for name, value in zip(NAMES, values, strict=True):
            setattr(other, name, value)
        rows = make_rows(other, evidence)
        truth = model.standardise(grey).reshape(-1)[rows.places]
        return gaussian_bits(*unrolled_beliefs(rows, 5, (3, 5)), truth).sum()

    values = [getattr(model, name).detach().clone().requires_grad_() for name in NAMES]
    assert torch.autograd.gradcheck(loss, values)
    rows = make_rows(model, evidence)
    silent = torch.zeros_like(rows.weights)
    clipped, (eta, lam) = False, next_messages(rows, silent, silent)
    for _ in range(5):
        clipped |= bool((bounded_beliefs(rows, eta.sum(1), lam.sum(1))[2] != 0).any())
        eta, lam = next_messages(rows, eta, lam)
    assert clipped == (scale == 3.0)


def test_in_32_bits_at_full_size_the_gradient_keeps_its_direction() -> None:
    """Small cases in 64 bits hide what rounding does over many iterations."""
    grey, unknown = random_query((28, 20))
    found = []
    for dtype in (torch.float32, torch.float64):
        model = random_model((28, 20), 40, 0.15, dtype)
        rows = make_rows(model, model.evidence_from_image(grey.to(dtype), unknown))
        truth = model.standardise(grey)[rows.places]
        gaussian_bits(*unrolled_beliefs(rows, 20, (20,)), truth).sum().backward()
        found.append(torch.cat([getattr(model, name).grad.double().flatten() for name in NAMES]))
    assert float(torch.cosine_similarity(*found, dim=0)) > 0.9999


def test_the_unrolled_answer_is_the_one_the_window_shows() -> None:
    model = random_model((4, 5), 6, 0.4)
    grey, unknown = random_query((4, 5))
    bp, evidence = BeliefPropagation(), model.evidence_from_image(grey, unknown)
    with torch.no_grad():
        state = bp.init(model, evidence)
        for _ in range(7):
            state = bp.step(model, evidence, state)
        bits = model.bits(bp.beliefs(model, evidence, state), grey)[unknown]
        squares = (bp.beliefs(model, evidence, state)[..., 0] - grey)[unknown].square()
    found = scores(model, grey, unknown, 7)
    assert found.targets == int(unknown.sum())
    assert found.means()["nce_bits"] == pytest.approx(float(bits.mean()))
    assert found.means()["mse"] == pytest.approx(float(squares.mean()))


def test_first_order_messages_are_those_of_small_weights() -> None:
    """Halving the weights makes the difference to the full messages about eight times smaller: it is of third order."""
    grey, unknown = random_query((3, 4, 5))
    errors = []
    for scale in (0.1, 0.05):
        model = random_model((4, 5), 12, scale)
        evidence = model.evidence_from_image(grey, unknown)
        with torch.no_grad():
            rows = make_rows(model, evidence)
            exact, exact_precision = unrolled_beliefs(rows, 20, (20,))
            found, precision = first_order_beliefs(model, evidence, 20, (20,))
            difference = exact / exact_precision - (found / precision).reshape(1, -1)[:, rows.places]
        errors.append(float(difference.abs().max()))
        assert errors[-1] < 0.05 * scale
    assert errors[1] < errors[0] / 5


def test_first_order_training_lowers_the_loss_of_the_full_messages() -> None:
    data = TrainingData(TensorSource(images=faces_of_two_kinds(64)), TensorSource(images=faces_of_two_kinds(16)))
    model = GrbmPlan(hidden=4).build_for(data, seed=0)
    learner = Query(
        iterations=5, first_iterations=5, jitter=0, readouts=2, epochs=30, learning_rate=0.05, batch_size=8, warm_up=0,
        validate_every=0, first_order=1.0,
    )  # fmt: skip
    before = learner.validate(model, data.validation)["nce_bits"]
    trainer = Trainer(model, learner, data, seed=0)
    for _ in trainer.run():
        pass
    assert trainer.outcome is not None
    assert trainer.outcome.scores["nce_bits"] < before - 0.8


def faces_of_two_kinds(count: int) -> Tensor:
    """Pictures that are bright on the left or on the right, with a little noise: one hidden unit can say which."""
    generator = torch.Generator().manual_seed(2)
    side = torch.rand(count, 1, 1, generator=generator) < 0.5
    bright = torch.where(side, torch.tensor([1.0, 1, 0, 0]), torch.tensor([0.0, 0, 1, 1])).expand(count, 4, 4)
    noise = 0.05 * torch.randn(count, 4, 4, generator=generator)
    return ((0.25 + 0.5 * bright + noise).clamp(0, 1) * 255).round().to(torch.uint8)


@pytest.mark.parametrize("variance", ["unit", "learned"])
def test_training_finds_the_one_thing_there_is_to_know(variance: str) -> None:
    data = TrainingData(TensorSource(images=faces_of_two_kinds(64)), TensorSource(images=faces_of_two_kinds(16)))
    model = GrbmPlan(hidden=4, variance=variance).build_for(data, seed=0)
    learner = Query(
        iterations=5, first_iterations=5, jitter=0, readouts=2, epochs=30, learning_rate=0.05, batch_size=8, warm_up=0,
        validate_every=0, images_at_once=2,
    )  # fmt: skip
    trainer = Trainer(model, learner, data, seed=0)
    losses = [record.loss for record in trainer.run() if record.state == "running"]
    assert trainer.outcome is not None
    found = trainer.outcome.scores
    least = 0.5 * math.log2(2 * math.pi)
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.05
    assert found["mse"] < 0.1
    assert found["nce_bits"] < (least + 0.1 if variance == "unit" else least - 1)
    assert variance == "learned" or not model.log_precision.any()


def test_a_plan_brings_its_own_defaults_for_the_learner(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", x=np.random.default_rng(0).integers(0, 256, (20, 28, 20), dtype=np.uint8))
    plan = training_plan("grbm", "query", f"frey:{tmp_path / 'f.npz'}")
    _, learner, _ = assemble(plan, 0, {"hidden": 3, "batch_size": 2})
    assert isinstance(learner, Query)
    assert (learner.learning_rate, learner.batch_size) == (plan.learner_defaults["learning_rate"], 2)
