"""Exponentials and logarithms of many numbers, quickly."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def exponential(values: Tensor) -> Tensor:
    """e^x of every number of a tensor (…), as a power of two.

    On processors torch's `exp2` takes a quarter of the time of its `exp`. The product in the exponent rounds x once
    more, so an answer is as exact as if x had been off by its own last digit.
    """
    return torch.exp2(values * _BITS)


def logarithm(values: Tensor, out: Tensor | None = None) -> Tensor:
    """log x of every number of a tensor (…), in `out` if that is given, (…) too; without warnings.

    Of 32 bits numpy's takes a third of the time of torch's; it works on one thread and knows no gradients.
    """
    alone = values.device.type == "cpu" and torch.get_num_threads() == 1
    if not alone or values.dtype != torch.float32 or values.requires_grad:
        return torch.log(values, out=out)
    with np.errstate(divide="ignore", invalid="ignore"):
        if out is None:
            return torch.as_tensor(np.log(values.numpy()), device="cpu")
        np.log(values.numpy(), out=out.numpy())
    return out


def exponential_(values: Tensor) -> Tensor:
    """The same as `exponential` of a tensor (…), in place."""
    return values.mul_(_BITS).exp2_()


_BITS = 1.0 / math.log(2.0)
