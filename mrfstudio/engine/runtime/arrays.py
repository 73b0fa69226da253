"""Many small operations on the CPU: through numpy, whose calls cost a third of torch's and whose logarithms an eighth.

numpy and torch call these the same, with the same arguments: add, subtract, multiply, divide, exp, log, abs, and sum,
amax and amin with an axis as second argument; all with `out`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor


def quick(tensor: Tensor) -> Any:
    """An array over the same memory; a tensor of another device stays what it is. For tensors (…) without gradients."""
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


def library_of(array: Any) -> ModuleType:
    """What computes with what `quick` gives."""
    return torch if isinstance(array, Tensor) else np
