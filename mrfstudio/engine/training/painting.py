"""Points that a person paints while a run learns from them: added, erased, and kept beside the model for a resume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.learner import BatchSource, TensorSource

FEWEST = 8
MOST = 200_000
SUFFIX = ".points.npz"


def painted(source: BatchSource, command: Mapping[str, Any]) -> TensorSource:
    """A source of points (N, 2) with `add` (n, 2) more, without those in the discs `erase` (m, 3): x, y, radius."""
    x = source.tensors.get("x") if isinstance(source, TensorSource) else None
    if x is None or x.ndim != 2 or x.shape[1] != 2 or not x.is_floating_point():
        raise StudioError("Only points in the plane can be painted: this run learns from something else.")
    for left, bottom, radius in np.asarray(command.get("erase") or [], dtype=np.float64).reshape(-1, 3):
        away = (x - torch.tensor([left, bottom], dtype=x.dtype)).square().sum(1)
        x = x[away > radius**2]
    more = np.asarray(command.get("add") or [], dtype=np.float32).reshape(-1, 2)
    if not np.isfinite(more).all():
        raise StudioError("A painted point is no pair of numbers: nothing was added.")
    x = torch.cat([x, torch.from_numpy(more).to(x)])
    if not FEWEST <= len(x) <= MOST:
        raise StudioError(f"{len(x):,} points would be left: expected {FEWEST} to {MOST:,}.")
    return TensorSource(x=x)


def keep(model_path: Path | None, source: TensorSource) -> None:
    """Write the points beside the model, so that a run that is resumed has them."""
    if model_path is not None:
        with atomic_path(model_path.with_name(model_path.stem + SUFFIX)) as temporary, open(temporary, "wb") as file:
            np.savez(file, x=source.tensors["x"].numpy())


def kept(model_path: Path | None) -> TensorSource | None:
    """The points that were painted before, or None."""
    if model_path is None:
        return None
    path = model_path.with_name(model_path.stem + SUFFIX)
    if not path.exists():
        return None
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
        x: Tensor = torch.from_numpy(arrays["x"])
    return TensorSource(x=x)
