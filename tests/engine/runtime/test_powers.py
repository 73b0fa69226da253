"""Exponentials as powers of two."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.runtime.powers import exponential


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
