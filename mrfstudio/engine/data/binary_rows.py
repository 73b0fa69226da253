"""Items of a data set as rows of values from 0 to 1, as binary models want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mrfstudio.engine.data.dataset import DataError

if TYPE_CHECKING:
    from torch import Tensor


BRIGHT = 127
"""Grey levels above this, half the intensity, are 1: the rule of the MNIST silhouettes."""


def binary_rows(batch: Mapping[str, Tensor], name: str = "data") -> Tensor:
    """Rows (B, V) of float32 in [0, 1] from `x` (B, V) or `images` (B, h, w) of a batch.

    `x` of whole numbers is 0 and 1, of int8 spins -1 and +1, of floats already probabilities (the grey digits); images
    of bytes are cut at half intensity, images of truth values are taken as they are.
    """
    import torch  # here: data sets are listed without it

    if "x" in batch and batch["x"].ndim == 2:
        x = batch["x"]
        return (x.float() + 1) / 2 if x.dtype == torch.int8 else x.float()
    images = batch.get("images")
    if images is not None and images.ndim == 3 and images.dtype in (torch.uint8, torch.bool):
        bright = images if images.dtype == torch.bool else images > BRIGHT
        return bright.flatten(1).float()
    held = ", ".join(f"{key} {tuple(value.shape[1:])}" for key, value in batch.items())
    raise DataError(f"The data {name!r} hold {held}: a binary model needs rows x of 0 and 1, or images.")


def image_shape(batch: Mapping[str, Tensor]) -> tuple[int, int] | None:
    """Height and width where the items are `images` (N, height, width)."""
    images = batch.get("images")
    return None if images is None or images.ndim != 3 else (int(images.shape[1]), int(images.shape[2]))


def rows_of(batch: Mapping[str, Tensor], name: str = "data") -> Tensor:
    """Rows (B, variables): `x` of whole numbers as it is, spins included; anything else as black and white."""
    import torch  # here: data sets are listed without it

    x = batch.get("x")
    if x is not None and x.ndim == 2 and not x.is_floating_point():
        return x
    return (binary_rows(batch, name) > 0.5).to(torch.int64)
