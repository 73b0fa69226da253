"""Arrays over the memory of tensors, for many small operations."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.runtime.arrays import library_of, quick


def test_an_array_shares_the_memory_of_its_tensor() -> None:
    tensor = torch.zeros(2, 3)
    array = quick(tensor[:, 1])
    library_of(array).add(array, 1.0, out=array)
    assert library_of(array) is np
    assert tensor.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_a_tensor_of_another_device_stays_one() -> None:
    tensor = torch.empty(3, device="meta")
    assert quick(tensor) is tensor
    assert library_of(quick(tensor)) is torch


def test_numpy_and_torch_call_the_same_things_the_same() -> None:
    draw = np.random.default_rng(0)
    one, other = draw.uniform(1, 2, (4, 5)), draw.uniform(1, 2, (4, 5))
    tensors = torch.from_numpy(one.copy()), torch.from_numpy(other.copy())
    for name in ("add", "subtract", "multiply", "divide"):
        mine, theirs = np.empty_like(one), torch.empty_like(tensors[0])
        getattr(np, name)(one, other, out=mine)
        getattr(torch, name)(*tensors, out=theirs)
        np.testing.assert_array_equal(mine, theirs.numpy())
    for name in ("sum", "amax", "amin"):
        np.testing.assert_allclose(getattr(np, name)(one, 0), getattr(torch, name)(tensors[0], 0).numpy(), rtol=1e-15)
    for name in ("exp", "log", "abs"):
        np.testing.assert_allclose(getattr(np, name)(one), getattr(torch, name)(tensors[0]).numpy(), rtol=1e-14)
