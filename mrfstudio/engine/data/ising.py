"""Samples of Ising models in one npz file, with the log-probability of each where it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.contract import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.registry import DATASETS

_SPLIT_NAMES = {"train": "train", "val": "valid", "test": "test"}
_CONSTANTS = ("J", "h", "edges", "logZ")


@DATASETS.register
class Ising(Dataset):
    """Spins -1 and +1; p ∝ exp(Σ_{i<j} J_ij x_i x_j + Σ_i h_i x_i)."""

    name = "ising"
    title = "Samples of an Ising model"
    summary = "Spins of Ising grids with their log-probabilities, for learning models whose truth is known."
    yields = "x (N, D) int8 of -1 and +1; logp (N,) where known; constants J, h, edges, logZ where known"

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        arrays = read_npz(path, "samples of an Ising model, which have train, valid and test")
        require(arrays, tuple(_SPLIT_NAMES.values()), path)
        parts: dict[str, dict[str, Array]] = {}
        for split, name in _SPLIT_NAMES.items():
            x = arrays[name]
            if x.ndim != 2 or x.dtype.kind != "i" or x.size == 0 or not (np.abs(x) == 1).all():
                raise DataError(
                    f"{path}: {name} is {x.dtype} of shape {x.shape}, expected spins -1 and +1, (rows, spins)."
                )
            parts[split] = {"x": x.astype(np.int8, copy=False)}
            logp = arrays.get(f"logp_{name}")
            if logp is not None:
                if logp.shape != (len(x),) or logp.dtype.kind != "f":
                    raise DataError(f"{path}: logp_{name} has shape {logp.shape}, expected one number for each row.")
                parts[split]["logp"] = logp
        return Splits(parts, {name: arrays[name] for name in _CONSTANTS if name in arrays})
