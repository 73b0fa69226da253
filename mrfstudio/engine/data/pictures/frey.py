"""Frey faces: 1,965 grey pictures of one face, 28×20, for inpainting."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import DataError, Dataset, Progress, Splits, hold_out
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import DATASETS

_SPLIT_SEED = 0  # published here with the scores, so that they can be compared: not a parameter


@DATASETS.register
class Frey(Dataset):
    """Four fifths to train (1,572 of 1,965), the others to test, in an order that never changes."""

    name = "frey"
    title = "Frey faces"
    summary = "Grey pictures of one face, 28×20 pixels: 1,572 to train and 393 to test."
    yields = "images (N, 28, 20) uint8; constants mean and deviation of the training pixels, in grey levels"
    picture_shape = (28, 20)

    validation: int = integer(0, "Training images, from the end, that become a validation split.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        arrays = read_npz(path, "Frey faces, which have x (N, 28, 20)")
        require(arrays, ("x",), path)
        x = arrays["x"]
        if x.ndim != 3 or x.shape[1:] != (28, 20) or x.dtype != np.uint8 or len(x) < 5:
            raise DataError(f"{path}: x is {x.dtype} of shape {x.shape}, expected uint8 of shape (faces, 28, 20).")
        order = np.random.default_rng(_SPLIT_SEED).permutation(len(x))
        train, test = np.split(x[order], [len(x) * 4 // 5])
        parts = hold_out({"images": train}, self.validation)
        parts["test"] = {"images": test}
        # Of all 1,572, validation images or not: the published scores are in these units.
        pixels = train.astype(np.float64)
        return Splits(parts, {"mean": np.array(pixels.mean()), "deviation": np.array(pixels.std())})
