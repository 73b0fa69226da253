"""Entropic transport: marginals, the gradient by the envelope, POT's plan, messages on two variables, and learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.points import Points
from mrfstudio.engine.families.transport.learner import Sinkhorn
from mrfstudio.engine.families.transport.model import TransportPlan
from mrfstudio.engine.families.transport.sinkhorn import distances, sinkhorn
from mrfstudio.engine.files.lesson_file import shipped_lessons
from mrfstudio.engine.protocol.commands import SetPart
from mrfstudio.engine.training.command import training_data
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.trainer import Trainer


def clouds() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(12, 2, generator=generator, dtype=torch.float64),
        torch.randn(9, 2, generator=generator, dtype=torch.float64) + 0.5,
    )


def test_marginals_are_those_that_are_asked_for() -> None:
    one, other = clouds()
    weights = torch.arange(1.0, 13.0, dtype=torch.float64)
    found = sinkhorn(distances(one, other), 0.2, first=weights / weights.sum())
    assert torch.allclose(found.plan.sum(1), weights / weights.sum(), atol=1e-12)
    assert torch.allclose(found.plan.sum(0), torch.full((9,), 1 / 9, dtype=torch.float64), atol=1e-12)


def test_small_strengths_do_not_overflow_and_find_the_assignment() -> None:
    points = torch.arange(6.0, dtype=torch.float64)[:, None] * torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    found = sinkhorn(distances(points, points.flip(0) + 0.1), 1e-3, iterations=5000)
    assert torch.isfinite(found.plan).all()
    assert found.plan.argmax(1).tolist() == [5, 4, 3, 2, 1, 0]


def test_the_gradient_of_the_value_holds_the_plan() -> None:
    """And is not that of the transported cost alone, which moves the plan too."""
    one, other = clouds()
    moving = other.clone().requires_grad_()
    cost = distances(one, moving)
    found = sinkhorn(cost.detach(), 0.3)
    (gradient,) = torch.autograd.grad((found.plan * cost).sum(), moving)
    step, place = 1e-5, (4, 1)
    values, transported = [], []
    for sign in (1, -1):
        moved = other.clone()
        moved[place] += sign * step
        there = sinkhorn(distances(one, moved), 0.3)
        values.append(there.value)
        transported.append(float((there.plan * distances(one, moved)).sum()))
    assert gradient[place].item() == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-8)
    assert abs(gradient[place].item() - (transported[0] - transported[1]) / (2 * step)) > 1e-4


def test_the_plan_is_pots() -> None:
    ot = pytest.importorskip("ot")
    one, other = clouds()
    cost = distances(one, other)
    ours = sinkhorn(cost, 0.1, iterations=20_000, tolerance=1e-16).plan.numpy()
    theirs = ot.sinkhorn(
        np.full(12, 1 / 12),
        np.full(9, 1 / 9),
        cost.numpy(),
        0.1,
        method="sinkhorn_log",
        numItermax=20_000,
        stopThr=1e-16,
        warn=False,
    )
    assert np.abs(ours - theirs).max() < 1e-12


def test_the_potentials_are_messages_on_two_variables() -> None:
    """Belief propagation on the table exp(-M/λ) with unary potentials exp(α/λ), exp(β/λ) has the plan as its belief."""
    from mrfstudio.engine.graphs.factor_graph import FactorGraph
    from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
    from mrfstudio.engine.inference.run import Limits, run

    one, other = clouds()
    cost = distances(one, other)
    found = sinkhorn(cost, 0.2)
    factors = [
        ((0, 1), (-cost / 0.2).numpy()),
        ((0,), (found.alpha / 0.2).numpy()),
        ((1,), (found.beta / 0.2).numpy()),
    ]
    graph = FactorGraph.from_factors([12, 9], factors)
    nothing, algorithm = graph.no_evidence(), BeliefPropagation()
    state = run(algorithm, graph, nothing, Limits(iterations=5, tolerance=1e-14)).state
    (belief,) = algorithm.factor_beliefs(graph, nothing, state)
    assert torch.allclose(belief[..., 0], found.plan, atol=1e-12)


def test_the_lesson_does_what_sinkhorn_does() -> None:
    """Fields that its steps set are the potentials after each half of a round."""
    cost = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    mines, works = (torch.tensor(shares, dtype=torch.float64) for shares in ((0.3, 0.7), (0.6, 0.4)))
    lesson = next(lesson for lesson in shipped_lessons() if lesson.name == "sinkhorn-is-messages")
    given = [command for step in lesson.steps for command in step.answer if isinstance(command, SetPart)]
    expected = []
    for rounds in (1, 2):
        found = sinkhorn(cost, 1.0, iterations=rounds, first=mines, second=works)
        expected += [float(potential.diff() / 2) for potential in (found.alpha, found.beta)]
    assert [command.number for command in given] == [0, 1, 0, 1]
    assert [command.value for command in given] == pytest.approx(expected, abs=1e-4)
    for step, command in zip([s for s in lesson.steps if s.goal and s.goal.command == "SetPart"], given, strict=True):
        low, high = step.goal.fields["value"]  # type: ignore[union-attr]
        assert low < command.value < high


def test_a_generator_finds_the_four_clouds() -> None:
    splits = Points(shape="clouds", standardised=False, count=1000, validation=100, test=100).open()
    data = training_data(splits)
    model = TransportPlan(width=48).build_for(data, 0)
    learner = Sinkhorn(epochs=25.0, batch_size=64, learning_rate=0.003, plan_iterations=20)
    costs = [record.validation["cost"] for record in Trainer(model, learner, data).run() if record.validation]
    made = model.generated(torch.randn(2000, 2, generator=torch.Generator().manual_seed(1))).detach()
    quadrant = (made[:, 0] > 0).long() * 2 + (made[:, 1] > 0).long()
    assert (torch.bincount(quadrant, minlength=4) / 2000).min() > 0.15
    assert min(costs) < 0.5 * costs[0]


def test_a_learned_cost_goes_up_while_the_generator_goes_down() -> None:
    data = training_data(Points(shape="clouds", count=200, validation=0, test=10).open())
    model = TransportPlan(width=16, features=4).build_for(data, 0)
    context = BatchContext(seed=0, step=0, epoch=0, batch_size=40, rows=slice(0, 40))
    batch = data.train[torch.arange(40)]
    learner = Sinkhorn()
    result = learner.batch(model, batch, {}, context)
    assert set(result.scalars) == {"marginal_error", "data_cost"}
    assert all(tensor.grad is not None for tensor in model.tensors().values())
    with torch.no_grad():
        for name, tensor in model.tensors().items():
            if name.startswith("feature"):
                tensor.sub_(0.01 * tensor.grad)
    assert learner.batch(model, batch, {}, context).loss > result.loss
