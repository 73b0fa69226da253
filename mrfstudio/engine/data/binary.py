"""Binary vectors in one npz file: adult, connect4, dna, mushrooms, nips, ocr letters, web and the 8×8 digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits, hold_out
from mrfstudio.engine.data.npz_file import read_npz
from mrfstudio.engine.registry import DATASETS

_EXPECTED = "train, valid and test of 0 and 1, or for the digits qt_train, qt_test and scale_max"


@DATASETS.register
class Binary(Dataset):
    """Rows of 0 and 1. The digits have grey levels instead, divided by the largest of each pixel."""

    name = "binary"
    title = "Binary vectors"
    summary = "Rows of 0 and 1 for restricted Boltzmann machines; the 8×8 digits are grey levels from 0 to 1."
    yields = "x (N, D) uint8 of 0 and 1, or float32 in [0, 1] for the digits"

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        arrays = read_npz(path, _EXPECTED)
        if {"train", "valid", "test"} <= set(arrays):
            names = {"train": "train", "val": "valid", "test": "test"}
            splits = Splits({split: {"x": _checked(arrays[name], name, path)} for split, name in names.items()})
        elif {"qt_train", "qt_test", "scale_max"} <= set(arrays):
            splits = _digits(arrays, path)
        else:
            raise DataError(f"{path} holds {', '.join(arrays) or 'nothing'}: expected {_EXPECTED}.")
        widths = {split: splits[split]["x"].shape[1] for split in splits}
        if len(set(widths.values())) > 1:
            raise DataError(f"{path} has rows of different lengths {widths}: expected one length.")
        return splits


def _checked(x: Array, name: str, path: Path) -> Array:
    if x.ndim != 2 or x.dtype.kind not in "bui" or x.size == 0:
        raise DataError(f"{path}: {name} is {x.dtype} of shape {x.shape}, expected 0 and 1 of shape (rows, columns).")
    if x.min() < 0 or x.max() > 1:
        raise DataError(f"{path}: {name} has values from {x.min()} to {x.max()}, expected 0 and 1.")
    return x.astype(np.uint8, copy=False)


def _digits(arrays: dict[str, Array], path: Path) -> Splits:
    """Grey levels divided by `scale_max`; the last tenth of training is the validation split."""
    train, test, scale = arrays["qt_train"], arrays["qt_test"], arrays["scale_max"]
    same = train.ndim == test.ndim == 2 and train.shape[1:] == test.shape[1:] == scale.shape
    if not same or not (scale > 0).all() or min(len(train), len(test)) == 0:
        shapes = f"{train.shape}, {test.shape} and {scale.shape}"
        raise DataError(
            f"{path}: qt_train, qt_test and scale_max have shapes {shapes}, expected (N, D), (M, D) and (D,) > 0."
        )
    levels = [(part / scale).astype(np.float32) for part in (train, test)]
    if any(part.min() < 0 or part.max() > 1 for part in levels):
        raise DataError(f"{path}: some grey levels lie outside 0 and scale_max, expected all within.")
    parts = hold_out({"x": levels[0]}, len(train) // 10)
    parts["test"] = {"x": levels[1]}
    return Splits(parts)
