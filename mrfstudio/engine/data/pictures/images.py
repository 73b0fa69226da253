"""A folder of pictures: any sizes and formats, cut and scaled to one size in grey, or pieces of them in colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.files.images import ImageError, fitted, read_grey
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import DATASETS

ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".tga", ".jp2", ".avif"}
MOST_PIXELS = 2_000_000_000  # bytes that the scaled pictures may take together


@DATASETS.register
class Images(Dataset):
    """Pictures in a folder and the folders in it, in the order of their names, shuffled by the seed into splits."""

    name = "images"
    title = "Pictures in a folder"
    summary = "Any pictures: the largest part of the right proportions in the middle of each, in grey, scaled."
    path_text = "FOLDER"
    yields = (
        "images (N, height, width) uint8, or (N, height, width, 3) where pieces are cut; constants mean and deviation "
        "of the training pixels, in grey levels"
    )

    height: int = integer(28, "Rows of a scaled picture.", low=2, high=1024, unit="pixels")
    width: int = integer(20, "Columns of a scaled picture.", low=2, high=1024, unit="pixels")
    validation: float = number(0.1, "Part of the pictures that becomes the validation split.", low=0, high=0.5)
    test: float = number(0.1, "Part of the pictures that becomes the test split.", low=0, high=0.5, high_open=True)
    pieces: int = integer(
        0, "Pieces in colour that are cut from the pictures; 0 takes each one whole, in grey.", low=0, high=50_000_000
    )
    scenes: float = number(
        0.0, "Part of the pieces that is cut from generated scenes instead.", low=0.0, high=1.0, advanced=True
    )
    seed: int = integer(0, "Shuffles the pictures into splits.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        folder = self.located(path)
        files = _pictures_in(folder)
        if self.pieces:
            return self._pieces(files, folder)
        if len(files) * self.height * self.width > MOST_PIXELS:
            raise DataError(f"{folder} has {len(files)} pictures, too many for this size: choose a smaller one.")
        pictures = np.empty((len(files), self.height, self.width), np.uint8)
        for index, file in enumerate(files):
            try:
                grey = fitted(read_grey(file), (self.height, self.width))
            except ImageError as problem:
                raise DataError(f"{problem} Take it out of {folder}.") from None
            pictures[index] = np.rint(255 * np.clip(grey, 0, 1))
            if progress is not None:
                progress(index + 1, len(files))
        return self._split(pictures)

    def _split(self, pictures: Array) -> Splits:
        return _splits({split: pictures[chosen] for split, chosen in self._shares(len(pictures)).items()})

    def _shares(self, count: int) -> dict[str, Array]:
        """Which pictures belong to each split that has some."""
        order = np.random.default_rng(self.seed).permutation(count)
        validation, test = round(self.validation * count), round(self.test * count)
        train = count - validation - test
        ranges = {"train": (0, train), "val": (train, train + validation), "test": (train + validation, count)}
        return {split: order[first:last] for split, (first, last) in ranges.items() if last > first}

    def _pieces(self, files: list[Path], folder: Path) -> Splits:
        """Pieces by split: those of one picture all lie in one, and a tenth as many judge as teach."""
        from mrfstudio.engine.data.pictures.pieces import cut_pieces, scene_pieces

        side, parts = (self.height, self.width), {}
        if self.pieces * self.height * self.width * 3 > MOST_PIXELS:
            raise DataError(f"{self.pieces} pieces of {self.width}×{self.height} are too many: choose fewer.")
        for split, chosen in self._shares(len(files)).items():
            wanted = self.pieces if split == "train" else self.pieces // 10
            generator = np.random.default_rng([self.seed, len(split)])
            drawn = round(self.scenes * wanted)
            try:
                cut = cut_pieces([files[index] for index in sorted(chosen)], wanted - drawn, side, generator)
            except ImageError as problem:
                raise DataError(f"{problem} Take it out of {folder}.") from None
            parts[split] = generator.permutation(np.concatenate([cut, scene_pieces(drawn, side, generator)]))
        return _splits(parts)


def _splits(parts: dict[str, Array]) -> Splits:
    """Splits with the mean and the deviation of the training pixels."""
    pixels = parts["train"].reshape(-1)[:: max(1, parts["train"].size // 10_000_000)].astype(np.float64)
    constants = {"mean": np.array(pixels.mean()), "deviation": np.array(pixels.std())}
    return Splits({split: {"images": images} for split, images in parts.items()}, constants)


def _pictures_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: expected one with pictures in it.")
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file())
    if not files:
        raise DataError(f"{folder} holds no pictures: expected files that end in .png, .jpg or the like.")
    return files
