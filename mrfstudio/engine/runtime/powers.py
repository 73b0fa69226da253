"""Exponentials of many numbers, quickly."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def exponential(values: Tensor) -> Tensor:
    """e^x of every number of a tensor (…), as a power of two.

    On processors torch's `exp2` takes a quarter of the time of its `exp`. The product in the exponent rounds x once
    more, so an answer is as exact as if x had been off by its own last digit.
    """
    return torch.exp2(values * _BITS)


_BITS = 1.0 / math.log(2.0)
