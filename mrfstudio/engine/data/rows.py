"""Batches of any data set as rows of whole numbers, for graphs whose variables may have any number of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mrfstudio.engine.data.binary_rows import binary_rows

if TYPE_CHECKING:
    from torch import Tensor


def rows_of(batch: Mapping[str, Tensor], name: str = "data") -> Tensor:
    """Rows (B, variables): `x` of whole numbers as it is, spins included; anything else as black and white."""
    import torch  # here: data sets are listed without it

    x = batch.get("x")
    if x is not None and x.ndim == 2 and not x.is_floating_point():
        return x
    return (binary_rows(batch, name) > 0.5).to(torch.int64)
