"""Points that a person paints while a run learns from them: added, erased, and kept beside the model for a resume.

One of ten is held out, where the run holds some out at all: validation stays about what is on the canvas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.distrust import unpacked_arrays
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import BatchSource, TensorSource, TrainingData
from mrfstudio.engine.training.progress import TrainingError

FEWEST = 8
MOST = 200_000
LARGEST = 64 * MOST
"""Bytes of all points in a file."""
HELD_OUT = 10
SUFFIX = ".points.npz"


def painted(data: TrainingData, command: Mapping[str, Any]) -> TrainingData:
    """Data with `add` (n, 2) more points, without those in the discs `erase` (m, 3): x, y, radius."""
    discs = np.asarray(command.get("erase") or [], dtype=np.float64).reshape(-1, 3)
    train = _without(_points(data.train), discs)
    held = train[:0] if data.validation is None else _without(_points(data.validation), discs)
    more = np.asarray(command.get("add") or [], dtype=np.float32).reshape(-1, 2)
    if not np.isfinite(more).all():
        raise StudioError("A painted point is no pair of numbers: nothing was added.")
    added = torch.from_numpy(more).to(train)
    aside = (len(train) + len(held) + torch.arange(len(added))) % HELD_OUT == HELD_OUT - 1
    if data.validation is None:
        aside[:] = False
    train, held = torch.cat([train, added[~aside]]), torch.cat([held, added[aside]])
    if not FEWEST <= len(train) <= MOST:
        raise StudioError(f"{len(train):,} points would be left: expected {FEWEST} to {MOST:,}.")
    return replace(data, train=TensorSource(x=train), validation=TensorSource(x=held) if len(held) else None)


def _points(source: BatchSource) -> Tensor:
    """Points (N, 2) of a source."""
    x = source.tensors.get("x") if isinstance(source, TensorSource) else None
    if x is None or x.ndim != 2 or x.shape[1] != 2 or not x.is_floating_point():
        raise StudioError("Only points in the plane can be painted: this run learns from something else.")
    return x


def _without(x: Tensor, discs: np.ndarray) -> Tensor:
    """Points (N, 2) outside of all discs (m, 3)."""
    for left, bottom, radius in discs:
        x = x[(x - torch.tensor([left, bottom], dtype=x.dtype)).square().sum(1) > radius**2]
    return x


def keep(model_path: Path | None, data: TrainingData) -> None:
    """Write the points beside the model, so that a run that is resumed has them."""
    if model_path is not None:
        train = _points(data.train)
        held = train[:0] if data.validation is None else _points(data.validation)
        with atomic_path(model_path.with_name(model_path.stem + SUFFIX)) as temporary, open(temporary, "wb") as file:
            np.savez(file, x=to_host(train), held=to_host(held))


def kept(model_path: Path | None, data: TrainingData) -> TrainingData | None:
    """The data with the points that were painted before, or None. Raises `TrainingError`."""
    if model_path is None:
        return None
    path = model_path.with_name(model_path.stem + SUFFIX)
    if not path.exists():
        return None
    try:
        arrays = unpacked_arrays(path, LARGEST, "f")
        x = _checked(arrays["x"])
        held = _checked(arrays["held"]) if "held" in arrays else x[:0]  # older runs held nothing out
    except Exception as problem:  # it may be anything
        raise TrainingError(
            f"The painted points in {path} are damaged: remove that file and resume again."
        ) from problem
    return replace(data, train=TensorSource(x=x), validation=TensorSource(x=held) if len(held) else None)


def _checked(points: np.ndarray) -> Tensor:
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("it holds no points")
    return torch.from_numpy(points.astype(np.float32))
