"""Border ownership: which side of a broken contour is the figure? Noisy contour images with their true labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import SPLITS, DataError, Dataset, Progress, Splits, dataset_class
from mrfstudio.engine.data.npz_file import read_npz
from mrfstudio.engine.data.pictures.border_noise import (
    CONTOUR,
    DELETION,
    IN,
    LABEL_NAMES,
    OUT,
    SEEN,
    SPURIOUS_EDGES,
    UNSEEN,
    Labels,
    emission,
    labels_from_silhouettes,
    resample_noise,
    seeded_noise,
)
from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import DATASETS

__all__ = [
    "CONTOUR", "DELETION", "IN", "LABEL_NAMES", "OUT", "SEEN", "SPURIOUS_EDGES", "UNSEEN", "BorderData", "emission",
    "labels_from_silhouettes", "make_border", "resample_noise", "seeded_noise",
]  # fmt: skip

_EXPECTED = "border data, which has images_SPLIT, noisy_images_SPLIT and p_contour"


class BorderData(Splits):
    """Labels and noisy images by split, and how often each label shows as a contour.

    images_SPLIT (N, H, W) uint8: 0 contour, 1 OUT, 2 IN; noisy_images_SPLIT (N, H, W) uint8: 0 contour seen, 1 not;
    p_contour (3,) float64: P(seen | contour, OUT, IN).
    """

    @classmethod
    def of(cls, pairs: dict[str, tuple[Labels, Labels]], p_contour: NDArray[np.float64] | None = None) -> BorderData:
        """From (labels, noisy) by split; the emission is estimated on train, or on everything if there is no train."""
        if p_contour is None:
            p_contour = emission([pairs["train"]] if "train" in pairs else list(pairs.values()))
        parts = {split: {"images": pairs[split][0], "noisy_images": pairs[split][1]} for split in pairs}
        return cls(parts, {"p_contour": p_contour})

    def images(self, split: str) -> Labels:
        """True labels of a split, (N, H, W)."""
        return self[split]["images"]

    def noisy_images(self, split: str) -> Labels:
        """What is seen of them, (N, H, W)."""
        return self[split]["noisy_images"]

    @property
    def p_contour(self) -> NDArray[np.float64]:
        """P(seen | contour, OUT, IN), (3,)."""
        return self.constants["p_contour"]

    def save(self, path: str | Path) -> None:
        """Write one npz file, whole or not at all."""
        arrays: dict[str, Any] = {}
        for split in self:
            arrays.update({f"{name}_{split}": array for name, array in self[split].items()})
        # an open file, because numpy adds .npz to paths without it
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **arrays, p_contour=self.p_contour)

    @classmethod
    def load(cls, path: str | Path) -> BorderData:
        """Read and check such a file; other arrays in it are passed over."""
        arrays = read_npz(path, _EXPECTED)
        splits = [split for split in SPLITS if f"images_{split}" in arrays or f"noisy_images_{split}" in arrays]
        if not splits or "p_contour" not in arrays:
            raise DataError(f"{path} holds {', '.join(arrays) or 'nothing'}: expected {_EXPECTED}.")
        pairs = {split: _checked_pair(arrays, split, path) for split in splits}
        return cls.of(pairs, _checked_emission(arrays["p_contour"], path))


@DATASETS.register
class BorderOwnership(Dataset):
    """Border data from a file, or made from generated silhouettes if there is no path."""

    name = "border"
    title = "Border ownership"
    summary = "Noisy contour images with their true labels CONTOUR, OUT and IN; made on the spot if no file is given."
    path = "optional"
    yields = (
        "images (N, H, W) uint8: 0 contour, 1 OUT, 2 IN; noisy_images (N, H, W) uint8: 0 seen, 1 not; p_contour (3,)"
    )

    source: str = choice("glyphs", ("glyphs", "shapes"), "Which generated silhouettes are used where no file is given.")
    count: int = integer(3000, "Training images to make where no file is given.", low=1, high=10_000_000)
    validation: int = integer(300, "Validation images to make where no file is given.", low=0, high=10_000_000)
    test: int = integer(300, "Test images to make where no file is given.", low=0, high=10_000_000)
    seed: int = integer(0, "The same seed makes the same images.", low=0)
    spurious: int = integer(SPURIOUS_EDGES, "Short edges that bound nothing, added to each image.", low=0, high=1000)
    deletion: float = number(DELETION, "How likely a contour pixel is missing.", low=0, high=1)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> BorderData:
        if path is not None:
            return BorderData.load(path)
        source = dataset_class(self.source)
        sizes = dict(count=self.count, validation=self.validation, test=self.test, seed=self.seed)
        drawn = source(**sizes)
        splits = drawn.open(workers=workers, progress=progress)
        figures = {split: drawn.figures(splits[split]) for split in splits}
        return make_border(figures, self.seed, spurious=self.spurious, deletion=self.deletion)


def make_border(
    silhouettes: dict[str, NDArray[np.bool_]],
    seed: int,
    *,
    spurious: int = SPURIOUS_EDGES,
    deletion: float = DELETION,
    workers: int = 1,
    progress: Progress | None = None,
) -> BorderData:
    """Border data (N, h+2, w+2) from silhouettes (N, h, w) by split, on `workers` processes (0: one for each core)."""
    total = sum(len(figures) for figures in silhouettes.values())
    pairs: dict[str, tuple[Labels, Labels]] = {}
    before = 0
    for split, figures in silhouettes.items():
        labels = labels_from_silhouettes(figures)
        base = before

        def report(done: int, _: int, base: int = base) -> None:
            if progress is not None:
                progress(base + done, total)

        noisy = seeded_noise(
            labels,
            seed,
            stream=SPLITS.index(split),
            spurious=spurious,
            deletion=deletion,
            workers=workers,
            progress=report,
        )
        pairs[split] = labels, noisy
        before += len(figures)
    return BorderData.of(pairs)


def _checked_pair(arrays: dict[str, Any], split: str, path: str | Path) -> tuple[Labels, Labels]:
    names = f"images_{split}", f"noisy_images_{split}"
    for name, states in zip(names, (3, 2), strict=True):
        if name not in arrays:
            raise DataError(f"{path} has no {name!r} beside the other half of the {split} split: expected {_EXPECTED}.")
        array = arrays[name]
        if array.ndim != 3 or array.dtype.kind not in "bui" or array.size == 0:
            found = f"{array.dtype} of shape {array.shape}"
            raise DataError(f"{path}: {name} is {found}, expected uint8 of shape (images, height, width).")
        if array.min() < 0 or array.max() >= states:
            found = f"{array.min()} to {array.max()}"
            raise DataError(f"{path}: {name} has values from {found}, expected 0 to {states - 1}.")
    images, noisy = (arrays[name].astype(np.uint8, copy=False) for name in names)
    if images.shape != noisy.shape:
        raise DataError(
            f"{path}: {names[0]} has shape {images.shape} and {names[1]} {noisy.shape}, expected the same shape."
        )
    return images, noisy


def _checked_emission(p_contour: Any, path: str | Path) -> NDArray[np.float64]:
    if p_contour.shape != (3,) or p_contour.dtype.kind != "f" or not ((p_contour > 0) & (p_contour < 1)).all():
        shown = np.array2string(p_contour, threshold=8).replace("\n", " ")
        raise DataError(f"{path}: p_contour is {shown}, expected three probabilities between 0 and 1.")
    return np.asarray(p_contour, np.float64)
