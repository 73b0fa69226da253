"""Flows and mixtures of them: determinants, inverses, densities that sum to one, responsibilities, EM."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.points import Points
from mrfstudio.engine.families.mixture.density import MixtureDensity
from mrfstudio.engine.families.mixture.flow import from_normal, log_densities, start_flows, to_normal
from mrfstudio.engine.families.mixture.model import FlowMixture, FlowMixturePlan
from mrfstudio.engine.training.command import training_data
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.em import ExpectationMaximisation
from mrfstudio.engine.training.learners.likelihood import Likelihood
from mrfstudio.engine.training.trainer import Trainer

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=50, rows=slice(0, 50))


def shaken(tensors: dict[str, torch.Tensor], size: float = 0.4) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {
        name: tensor + size * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
        for name, tensor in tensors.items()
    }


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_the_determinant_is_that_of_the_jacobian_and_the_inverse_inverts(dimension: int) -> None:
    flow = shaken(start_flows(2, dimension, 4, 8, torch.Generator().manual_seed(0), torch.float64))
    points = torch.randn(3, dimension, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    normal, log_det = to_normal(flow, points)
    for which in range(2):
        for number, point in enumerate(points):
            jacobian = torch.autograd.functional.jacobian(lambda x, k=which: to_normal(flow, x[None])[0][k, 0], point)
            assert torch.linalg.slogdet(jacobian)[1].item() == pytest.approx(log_det[which, number].item(), abs=1e-10)
    assert torch.allclose(from_normal(flow, normal), points.expand(2, -1, -1), atol=1e-10)


def test_an_untrained_flow_is_a_gaussian_at_its_shift() -> None:
    flow = start_flows(1, 2, 4, 8, torch.Generator().manual_seed(0), torch.float64)
    flow["shift"] += 3.0
    found = log_densities(flow, torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    assert found.item() == pytest.approx(-np.log(2 * np.pi) - 0.5)


def mixture(sharing: str, components: int = 3) -> tuple[FlowMixture, TrainingData]:
    data = training_data(Points(shape="moons", count=400, validation=50, test=100).open())
    model = FlowMixturePlan(components=components, sharing=sharing, layers=3, width=8).build_for(data, 0)
    model.load_tensors(shaken(model.tensors(), 0.2))
    return model, data


@pytest.mark.parametrize("sharing", ["none", "generator"])
def test_densities_sum_to_one_and_samples_follow_them(sharing: str) -> None:
    model, _ = mixture(sharing)
    side = torch.linspace(-9, 9, 400)
    plane = torch.cartesian_prod(side, side)
    with torch.no_grad():
        density = model.log_density(plane).exp()
    cell = float(side[1] - side[0]) ** 2
    assert float(density.sum()) * cell == pytest.approx(1.0, abs=0.01)
    drawn, which = model.drawn(20_000, torch.Generator().manual_seed(0))
    mean = (plane * density[:, None]).sum(0) * cell
    assert torch.allclose(drawn.mean(0), mean, atol=0.05)
    chances = torch.softmax(model.tensors()["weights"], 0)
    assert torch.allclose(torch.bincount(which, minlength=3) / 20_000, chances, atol=0.02)


@pytest.mark.parametrize("sharing", ["none", "generator"])
def test_fresh_responsibilities_give_the_gradient_of_the_likelihood(sharing: str) -> None:
    model, data = mixture(sharing)
    batch = data.train[torch.arange(50)]
    found = []
    for learner in (Likelihood(), ExpectationMaximisation()):
        for tensor in model.tensors().values():
            tensor.grad = None
        result = learner.batch(model, batch, learner.start(model, data, 0), CONTEXT)
        assert result.loss == pytest.approx(MixtureDensity.measure(model, TensorSource(x=batch["x"]))["nll"], abs=1e-4)
        found.append(torch.cat([t.grad.flatten() for t in model.tensors().values() if t.grad is not None]))
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert float(found[0].norm()) > 0.01


def test_a_temperature_makes_answers_more_even_and_is_for_mixtures() -> None:
    model, data = mixture("none")
    seen = MixtureDensity(model, data.train[torch.arange(50)])
    from dataclasses import replace

    cold = Likelihood().inference(0)
    sharp, even = (seen.posterior(replace(cold, temperature=t)).marginals[0] for t in (1.0, 50.0))
    assert float(sharp.amax(1).mean()) > 0.6
    assert float(even.amax(1).mean()) < 0.5


def test_latmm_of_one_component_leaves_its_gaussian_alone() -> None:
    model, _ = mixture("generator", components=1)
    assert not model.tensors()["means"].requires_grad
    assert float(model.prior()) == 0.0


def test_learning_beats_the_gaussian_it_began_as() -> None:
    splits = Points(shape="moons", count=800, validation=100, test=400).open()
    data = training_data(splits)
    model = FlowMixturePlan(components=2, layers=3, width=16).build_for(data, 0)
    test = TensorSource(x=torch.from_numpy(splits["test"]["x"]))
    before = MixtureDensity.measure(model, test)["nll"]
    learner = ExpectationMaximisation(epochs=25.0, batch_size=100, learning_rate=0.01, clip_norm=5.0)
    list(Trainer(model, learner, data).run())
    assert MixtureDensity.measure(model, test)["nll"] < before - 0.5
