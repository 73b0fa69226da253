"""Memory is used again, and never while anybody looks at it."""

from __future__ import annotations

import torch

from mrfstudio.engine.runtime.recycling import WORTH, Recycler, recycled

SIZE = WORTH // 4  # floats that are just worth it


def place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def test_memory_that_nobody_looks_at_is_used_again() -> None:
    recycler = Recycler()
    first = recycler.empty((2, SIZE), torch.float32)
    where = place(first)
    assert recycler.idle == 0
    del first
    assert recycler.idle >= 2 * SIZE * 4
    second = recycler.empty((SIZE, 2), torch.float32)
    assert place(second) == where
    assert second.shape == (SIZE, 2)
    assert second.is_contiguous()
    assert second.data_ptr() % 64 == 0


def test_a_view_keeps_its_memory() -> None:
    recycler = Recycler()
    first = recycler.empty((4, SIZE), torch.float32).fill_(7.0)
    view = first[2:3].t()
    array = first[1].numpy()
    del first
    other = recycler.empty((4, SIZE), torch.float32).fill_(1.0)
    assert bool((view == 7).all())
    assert (array == 7).all()
    del view
    recycler.empty((4, SIZE), torch.float32).fill_(2.0)
    assert (array == 7).all()
    assert bool((other == 1).all())


def test_a_much_larger_piece_is_left_for_others() -> None:
    recycler = Recycler()
    large = place(recycler.empty((8, SIZE), torch.float32))
    assert place(recycler.empty((SIZE,), torch.float32)) != large
    assert place(recycler.empty((7, SIZE), torch.float32)) == large


def test_idle_memory_has_a_limit() -> None:
    recycler = Recycler(kept=3 * SIZE * 4)
    held = [recycler.empty((SIZE,), torch.float32) for _ in range(6)]
    held.clear()
    recycler.empty((2, SIZE), torch.float32)
    assert recycler.idle <= 3 * SIZE * 4


def test_small_tensors_and_other_precisions() -> None:
    recycler = Recycler()
    recycler.empty((3, 4), torch.float32)
    assert recycler.idle == 0
    double = recycled((SIZE,), torch.empty(0, dtype=torch.float64))
    assert double.dtype == torch.float64
    assert double.numel() == SIZE
