"""A device that nobody has: tensors that are made without saying where land on torch's `meta`, and fail there.

On a GPU they would land on the CPU, beside tensors that do not, and fail in the same way. Randomness is drawn on the
CPU and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext


class _NumpyToo(TorchFunctionMode):
    """`torch.from_numpy` makes a tensor on the CPU as well, wherever the others are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.to("meta") if func is torch.from_numpy else made


@contextmanager
def elsewhere() -> Iterator[None]:
    """Within, a tensor without a device is of no use."""
    with DeviceContext(torch.device("meta")), _NumpyToo():
        yield
