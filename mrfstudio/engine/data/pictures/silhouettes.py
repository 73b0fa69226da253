"""Silhouettes in one npz file, such as the Caltech-101 silhouettes of 28×28."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import DATASETS

_EXPECTED = "silhouettes, which have x (N, h, w) of 0 and 1, and where known y (N,) and classnames"


@DATASETS.register
class Silhouettes(Dataset):
    """Any silhouettes. The split is the file's `suggested_perm`, or else a permutation from the seed."""

    name = "silhouettes"
    title = "Silhouettes in a file"
    summary = "Outlines of things, such as the 8,671 Caltech-101 silhouettes of 28×28."
    yields = "images (N, h, w) bool, True inside the figure; classes (N,)"

    # With these parts 8,671 Caltech silhouettes divide into the 4,100, 2,264 and 2,307 that publications use.
    validation: float = number(2264 / 8671, "Part of the images that becomes the validation split.", low=0, high=0.5)
    test: float = number(
        2307 / 8671, "Part of the images that becomes the test split.", low=0, high=0.5, high_open=True
    )
    seed: int = integer(0, "Orders the images where the file suggests no order.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        arrays = read_npz(path, _EXPECTED)
        require(arrays, ("x",), path)
        images, classes = _checked(arrays, path)
        order = _order(arrays.get("suggested_perm"), len(images), self.seed, path)
        validation, test = round(self.validation * len(images)), round(self.test * len(images))
        train = len(images) - validation - test
        ranges = {"train": (0, train), "val": (train, train + validation), "test": (train + validation, len(images))}
        parts: dict[str, dict[str, Array]] = {
            split: {"images": images[order[first:last]], "classes": classes[order[first:last]]}
            for split, (first, last) in ranges.items()
            if last > first
        }
        names = arrays.get("classnames")
        return Splits(parts, {} if names is None else {"classnames": names})

    def figures(self, arrays: Mapping[str, Array]) -> NDArray[np.bool_]:
        return arrays["images"]


def _checked(arrays: dict[str, Array], path: Path) -> tuple[NDArray[np.bool_], Array]:
    x = arrays["x"]
    if x.ndim != 3 or x.dtype.kind not in "bui" or len(x) == 0:
        raise DataError(
            f"{path}: x is {x.dtype} of shape {x.shape}, expected 0 and 1 of shape (images, height, width)."
        )
    if x.min() < 0 or x.max() > 1:
        raise DataError(f"{path}: x has values from {x.min()} to {x.max()}, expected 0 and 1.")
    y = arrays.get("y", np.zeros(len(x), np.uint8))
    if y.shape != (len(x),) or y.dtype.kind not in "ui":
        raise DataError(f"{path}: y is {y.dtype} of shape {y.shape}, expected {len(x)} whole numbers.")
    return x.astype(bool), y


def _order(suggested: Array | None, count: int, seed: int, path: Path) -> NDArray[np.int64]:
    if suggested is None:
        return np.random.default_rng(seed).permutation(count)
    order = suggested.astype(np.int64) if suggested.dtype.kind in "ui" else np.empty(0, np.int64)
    if order.shape != (count,) or not np.array_equal(np.sort(order), np.arange(count)):
        raise DataError(f"{path}: suggested_perm is not a permutation, expected each of 0 to {count - 1} once.")
    return order
