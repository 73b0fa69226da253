"""The grid kernel's gradients, checked against finite differences and against autograd at full size."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.grid.kernel import next_messages, run_beliefs, uniform_messages, unrolled_beliefs
from mrfstudio.engine.families.grid.shape import GridShape


def textbook(potentials: Tensor, log_evidence: Tensor, shape: GridShape, iterations: int) -> Tensor:
    """The messages as every textbook has them, in the log domain, left to autograd."""
    states = len(log_evidence)
    evidence = log_evidence.view(states, shape.batch, shape.height, shape.width)
    messages = [torch.zeros_like(evidence) for _ in shape.directions]
    for _ in range(iterations):
        total, received = evidence + sum(messages), []
        for d, step in enumerate(shape.directions):
            cavity = total - messages[shape.opposite(d)]
            peak = cavity.detach().amax(0, keepdim=True)
            matrix = potentials[d % shape.matrices].exp()
            product = torch.einsum("st,sbij->tbij", matrix if d < shape.matrices else matrix.t(), (cavity - peak).exp())
            message = torch.log_softmax(product.log(), 0)
            inside = torch.zeros(shape.height + 2, shape.width + 2, dtype=torch.bool)
            inside[1:-1, 1:-1] = True
            inside = torch.roll(inside, step, (0, 1))[1:-1, 1:-1]
            received.append(torch.where(inside, torch.roll(message, step, (2, 3)), torch.zeros_like(message)))
        messages = received
    return torch.softmax(sum(messages), 0).reshape(states, -1)  # type: ignore[call-overload]


def random_problem(shape: GridShape, states: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    potentials = scale * torch.randn(shape.matrices, states, states, generator=generator, dtype=torch.float64)
    return potentials, torch.randn(states, shape.pixels, generator=generator, dtype=torch.float64)


SHAPES = [GridShape(2, 2, 3), GridShape(2, 1, 3), GridShape(1, 4, 1), GridShape(1, 1, 1), GridShape(2, 3, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unrolled_run_is_the_textbook_formula(shape: GridShape) -> None:
    potentials, evidence = random_problem(shape, 4)
    expected = textbook(potentials, evidence, shape, 5)
    torch.testing.assert_close(unrolled_beliefs(potentials, evidence, shape, 5), expected)
    torch.testing.assert_close(run_beliefs(potentials, evidence, shape, 5), expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unrolled_run_has_the_gradient_of_finite_differences(shape: GridShape) -> None:
    potentials, evidence = random_problem(shape, 3)
    inputs = (potentials.requires_grad_(), evidence.requires_grad_())
    assert torch.autograd.gradcheck(lambda w, e: unrolled_beliefs(w, e, shape, 3), inputs, fast_mode=True)
    assert torch.autograd.gradcheck(lambda w, e: unrolled_beliefs(w, e, shape, 4, (1, 2, 4)), inputs, fast_mode=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_step_has_the_gradient_of_finite_differences(shape: GridShape) -> None:
    potentials, evidence = random_problem(shape, 3)
    messages = uniform_messages(shape, 3, evidence)
    messages = next_messages(messages, potentials, evidence, shape)
    inputs = (messages.requires_grad_(), potentials.requires_grad_(), evidence.requires_grad_())
    assert torch.autograd.gradcheck(lambda m, w, e: next_messages(m, w, e, shape), inputs, fast_mode=True)


def test_single_precision_gradient_is_right_at_full_size() -> None:
    # Small cases hide it: with the normaliser detached the gradient here has 800 times the norm and a random direction.
    shape, states = GridShape(1, 30, 30), 66
    potentials, evidence = random_problem(shape, states)
    potentials.requires_grad_()
    target = torch.randint(0, states, (shape.pixels,), generator=torch.Generator().manual_seed(0))[None]
    textbook(potentials, evidence, shape, 15).gather(0, target).log().mean().backward()
    single = potentials.detach().float().requires_grad_()
    unrolled_beliefs(single, evidence.float(), shape, 15).gather(0, target).log().mean().backward()
    assert potentials.grad is not None
    assert single.grad is not None
    expected, found = potentials.grad.flatten(), single.grad.double().flatten()
    assert torch.cosine_similarity(expected, found, dim=0) > 0.9999
    assert abs(found.norm() / expected.norm() - 1) < 0.01


def test_contradictory_strong_messages_stay_finite_in_single_precision() -> None:
    # Every edge forbids equal states by e^-20, and hard evidence demands them: each product of eight is below e^-140.
    shape = GridShape(1, 5, 5)
    potentials = -20.0 * torch.eye(2).expand(4, 2, 2).clone()
    evidence = torch.zeros(2, shape.pixels)
    evidence[1, ::2] = -torch.inf
    evidence[1, 12] = -torch.inf
    beliefs = run_beliefs(potentials, evidence, shape, 10)
    torch.testing.assert_close(beliefs.sum(0), torch.ones(shape.pixels))
    double = run_beliefs(potentials.double(), evidence.double(), shape, 10)
    torch.testing.assert_close(beliefs.double(), double, atol=1e-5, rtol=1e-5)


def test_a_second_backward_pass_gives_the_same_gradient() -> None:
    shape = GridShape(1, 2, 2)
    potentials, evidence = random_problem(shape, 3)
    value = unrolled_beliefs(potentials.requires_grad_(), evidence, shape, 2).square().sum()
    (first,) = torch.autograd.grad(value, potentials, retain_graph=True)
    unrolled_beliefs(potentials * 2, evidence, shape, 2)  # takes the memory of the first run
    (second,) = torch.autograd.grad(value, potentials)
    torch.testing.assert_close(first, second)
