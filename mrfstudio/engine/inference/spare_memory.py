"""A block of memory that a finished run leaves to the next: fresh pages cost as much as the arithmetic on them."""

from __future__ import annotations

import threading

import torch
from torch import Tensor


class SpareMemory(threading.local):
    """One block for each thread. What is taken is the taker's own until it is given back."""

    block: Tensor | None = None

    def take(self, size: int, like: Tensor) -> Tensor:
        """A flat block of at least so many numbers in the type and on the device of `like`, contents undefined."""
        spare, self.block = self.block, None
        if spare is None or spare.numel() < size or (spare.dtype, spare.device) != (like.dtype, like.device):
            return like.new_empty(size)
        # Memory of inference mode may not be written to outside of it.
        return like.new_empty(size) if spare.is_inference() and not torch.is_inference_mode_enabled() else spare

    def give_back(self, block: Tensor) -> None:
        self.block = block
