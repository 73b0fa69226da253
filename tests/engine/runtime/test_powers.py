"""Exponentials as powers of two, and logarithms."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.runtime.powers import exponential, logarithm


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_as_exact_as_its_argument(dtype: torch.dtype) -> None:
    values = torch.linspace(-60, 60, 1001, dtype=dtype)
    exact = values.to(torch.float64).exp()
    allowed = 2 * torch.finfo(dtype).eps * (1 + values.abs().to(torch.float64))
    assert bool(((exponential(values).to(torch.float64) - exact).abs() <= allowed * exact).all())


def test_what_is_impossible_stays_so_and_gradients_flow() -> None:
    assert exponential(torch.tensor([-torch.inf, 0.0])).tolist() == [0.0, 1.0]
    value = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(exponential(value), value)
    torch.testing.assert_close(slope, value.detach().exp())


@pytest.mark.parametrize("threads", [1, 2])
def test_logarithms_are_those_of_torch_whatever_the_threads(threads: int) -> None:
    before = torch.get_num_threads()
    values = torch.cat([torch.rand(5000), torch.tensor([0.0, 1.0, torch.inf, 1e-30, 3e38])]).view(5, -1)
    torch.set_num_threads(threads)
    try:
        found, exact = logarithm(values), torch.log(values.double()).float()
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(found, exact, atol=0, rtol=1e-6)
    assert found.dtype == torch.float32


def test_gradients_flow_through_logarithms() -> None:
    values = torch.rand(4).requires_grad_()
    logarithm(values).sum().backward()
    torch.testing.assert_close(values.grad, 1 / values.detach())
