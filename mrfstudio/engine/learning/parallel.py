"""The border between one process and several: everything that data-parallel training has to replace."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class Solo:
    """One process. A data-parallel run derives from this and replaces `all_reduce` and `broadcast`.

    Every process computes its own rows of each batch and then holds the same gradient, so all of them take the same
    step; only rank 0 reads the clock, listens to commands, writes files and prints.
    """

    rank: int = 0
    size: int = 1

    def rows(self, items: int) -> slice:
        """The positions of a batch that this process computes: consecutive, and as even as possible."""
        if items < self.size:
            return slice(0, items)  # too few to share: all compute all, and the mean is the same
        return slice(items * self.rank // self.size, items * (self.rank + 1) // self.size)

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """The sum of the tensor over all processes."""
        return tensor

    def broadcast(self, value: Any) -> Any:
        """The value that rank 0 gave."""
        return value
