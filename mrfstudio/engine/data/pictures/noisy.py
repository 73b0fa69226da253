"""Clean pictures and damaged copies of them: flipped pixels, or a square painted over ([PI17], section 6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import SPLITS, Array, DataError, Dataset, Progress, Splits, dataset_class
from mrfstudio.engine.data.npz_file import read_npz
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import DATASETS

_EXPECTED = "MNIST with x_train and x_test, or silhouettes with x"


@DATASETS.register
class Noisy(Dataset):
    """Pairs of pictures. Without a path the clean ones are drawn digits (the data set `glyphs`)."""

    name = "noisy"
    title = "Damaged pictures"
    summary = "Binary pictures with flipped pixels or an occluding square, each with the clean one to be predicted."
    path = "optional"
    path_text = "FILE.npz|FOLDER"
    yields = "images and noisy_images (N, height, width) bool"

    damage: str = choice("noise", ("noise", "occlusion"), "Flip single pixels, or paint a square of background.")
    rate: float = number(0.1, "Part of the pixels that are flipped.", low=0.0, high=1.0)
    patch: int = integer(8, "Side of the square.", low=1, high=1000, unit="pixels")
    noise_seed: int = integer(0, "The same seed damages the same pixels.", low=0)
    count: int = integer(0, "Training pictures, from the front; 0 takes all.", low=0, logarithmic=True)
    copies: int = integer(1, "Damaged copies of each training picture, each damaged anew.", low=1, high=100)
    validation: int = integer(0, "Validation pictures; 0 takes all that the pictures come with.", low=0)
    test: int = integer(0, "Test pictures; 0 takes all.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        wanted = {"train": self.count, "val": self.validation, "test": self.test}
        figures = _figures(path, workers) if path is not None else self._glyphs(workers)
        parts = {}
        for split, clean in figures.items():
            kept = clean[: wanted[split] or None]
            if split == "train" and self.copies > 1:
                kept = np.tile(kept, (self.copies, 1, 1))  # the first copies are damaged as they are without others
            parts[split] = {"images": kept, "noisy_images": self.damaged(kept, split)}
        return Splits(parts)

    def _glyphs(self, workers: int) -> dict[str, NDArray[np.bool_]]:
        """Drawn digits, no more than are asked for."""
        asked = {"count": self.count, "validation": self.validation, "test": self.test}
        return _opened(dataset_class("glyphs")(**{name: n for name, n in asked.items() if n}), None, workers)

    def damaged(self, clean: NDArray[np.bool_], split: str) -> NDArray[np.bool_]:
        """Damaged copies of pictures (N, h, w). A picture's damage depends on (seed, split, index) alone."""
        rng = np.random.default_rng([self.noise_seed, SPLITS.index(split)])
        count, height, width = clean.shape
        if self.damage == "noise":
            return np.asarray(clean ^ (rng.random(clean.shape) < self.rate))
        if self.patch > min(height, width):
            raise DataError(f"A square of {self.patch} does not fit pictures of {height}×{width}: take a smaller one.")
        corner = rng.random((count, 2)) * (height - self.patch + 1, width - self.patch + 1)
        top, left = corner.astype(np.int64).T[:, :, None]
        rows, columns = np.arange(height)[None], np.arange(width)[None]
        inside = ((rows >= top) & (rows < top + self.patch))[:, :, None]
        inside = inside & ((columns >= left) & (columns < left + self.patch))[:, None, :]
        return np.asarray(clean & ~inside)


def _figures(path: Path, workers: int) -> dict[str, NDArray[np.bool_]]:
    """The clean pictures of each split of a file, True inside the figure."""
    options = {}
    arrays: dict[str, Array] = {} if path.is_dir() else read_npz(path, _EXPECTED)
    name = "mnist" if path.is_dir() or "x_train" in arrays else "silhouettes"
    if "x_train" in arrays:
        # As many as [PI17] holds out, or a sixth of a smaller file.
        options["validation"] = min(10_000, len(arrays["x_train"]) // 6)
    return _opened(dataset_class(name)(**options), path, workers)


def _opened(source: Dataset, path: Path | None, workers: int) -> dict[str, NDArray[np.bool_]]:
    splits = source.open(path, workers=workers)
    return {split: source.figures(splits[split]) for split in splits}
