"""Large tensors in memory that earlier ones have left.

Memory that is asked for again comes in fresh pages, and fetching those can take longer than filling them: 15 ms for the
messages of a 128×128 picture, half of an iteration. Here the pages stay, and whoever comes next finds them warm.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

WORTH = 1 << 20
"""Bytes below which the system's own allocator is quicker."""
KEPT = 256 << 20
"""Bytes that may lie idle."""


class Recycler:
    """Hands out tensors; a piece of memory is free again when no tensor, view or array looks at it any more.

    A tensor made from an array holds a reference to it as long as its storage lives. So the references of the array
    tell, for views of views as well, whether anybody is left.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._pieces: list[np.ndarray] = []
        self._lock = threading.Lock()
        self._pieces.append(np.empty(0, np.uint8))
        self._idle = sys.getrefcount(self._pieces[0])  # of a piece that only the list holds

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """A contiguous tensor with arbitrary contents."""
        size = math.prod(shape) * dtype.itemsize
        if size < WORTH:
            return torch.empty(tuple(shape), dtype=dtype, device="cpu")
        with self._lock:
            piece = self._take(size)
        return torch.from_numpy(piece[:size]).view(dtype).view(tuple(shape))

    @property
    def idle(self) -> int:
        """Bytes that wait to be used again."""
        with self._lock:
            return sum(piece.nbytes for piece in self._free())

    def _free(self) -> list[np.ndarray]:
        pieces = self._pieces
        numbers = [i for i in range(1, len(pieces)) if sys.getrefcount(pieces[i]) == self._idle]
        return [pieces[i] for i in numbers]

    def _take(self, size: int) -> np.ndarray:
        pieces, best = self._pieces, 0
        for i in range(1, len(pieces)):
            better = size <= len(pieces[i]) < (len(pieces[best]) if best else 2 * size + 1)
            if better and sys.getrefcount(pieces[i]) == self._idle:
                best = i
        if best:
            return pieces[best]
        free = self._free()
        idle = sum(piece.nbytes for piece in free)
        for piece in free:  # the oldest first
            if idle + size <= self._kept:
                break
            idle -= piece.nbytes
            self._pieces = [kept for kept in self._pieces if kept is not piece]
        # Not numpy's: its huge pages take five times as long at the first touch (77 ms instead of 14 for 34 MB).
        made: np.ndarray = torch.empty(size, dtype=torch.uint8, device="cpu").numpy()
        self._pieces.append(made)
        return made


_recycler = Recycler()


def recycled(shape: Sequence[int], like: Tensor) -> Tensor:
    """A contiguous tensor of this shape with arbitrary contents, of the precision and on the device of another one."""
    if like.device.type != "cpu":
        return like.new_empty(tuple(shape))
    return _recycler.empty(shape, like.dtype)
