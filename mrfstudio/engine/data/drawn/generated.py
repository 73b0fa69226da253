"""What all generated silhouettes share: sizes, seeds, splits and parallel drawing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import SPLITS, Array, Dataset, Progress, Splits
from mrfstudio.engine.data.drawn.drawing import Mask
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.runtime.workers import map_chunks

_CHUNK = 128
_WORTHWHILE = 1000  # pictures that take about as long as starting a process
_TRIES = 20


class Generated(Dataset):
    """Silhouettes drawn from a seed. A picture depends on (seed, split, index, size) alone.

    Subclasses give `classes`, the kinds of figures, and `draw`; kinds follow each other, so that classes are balanced.
    """

    path = "none"
    path_text = ""
    yields = "images (N, size, size) bool, True inside the figure; classes (N,) uint8"
    picture_shape = (28, 28)
    grey = False
    classes: ClassVar[tuple[str, ...]] = ()

    count: int = integer(2000, "Training images to draw.", low=0, high=10_000_000, logarithmic=True)
    validation: int = integer(200, "Validation images to draw.", low=0, high=10_000_000)
    test: int = integer(200, "Test images to draw.", low=0, high=10_000_000)
    size: int = integer(28, "Height and width of a picture.", low=12, high=1024, unit="pixels")
    seed: int = integer(0, "The same seed draws the same pictures.", low=0)

    def draw(self, kind: str, generator: np.random.Generator) -> Mask:
        """One picture of this kind."""
        raise NotImplementedError

    def kinds(self) -> tuple[str, ...]:
        """The kinds that are drawn."""
        return self.classes

    def picture(self, split: str, index: int) -> tuple[Mask, int]:
        """Picture number `index` of a split and the number of its class."""
        kinds = self.kinds()
        kind = kinds[index % len(kinds)]
        key = (len(SPLITS) + SPLITS.index(split), index)  # apart from the streams of the noise, which start at 0
        generator = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        smallest = 0.03 * self.size**2  # thinner figures are specks: draw again
        mask = largest_piece(self.draw(kind, generator))
        for _ in range(_TRIES):
            if mask.sum() >= smallest:
                break
            mask = largest_piece(self.draw(kind, generator))
        return mask, self.classes.index(kind)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        wanted = {"train": self.count, "val": self.validation, "test": self.test}
        counts = {split: count for split, count in wanted.items() if count}
        tasks = [
            (self, split, first, min(first + _CHUNK, count))
            for split, count in counts.items()
            for first in range(0, count, _CHUNK)
        ]
        chunks = map_chunks(_draw_chunk, tasks, sum(counts.values()), workers, progress, worthwhile=_WORTHWHILE)
        parts: dict[str, dict[str, Array]] = {}
        for split in counts:
            mine = [chunk for chunk, task in zip(chunks, tasks, strict=True) if task[1] == split]
            parts[split] = {
                "images": np.concatenate([chunk.images for chunk in mine]),
                "classes": np.concatenate([chunk.classes for chunk in mine]),
            }
        return Splits(parts, {"classnames": np.array(self.classes)})

    def figures(self, arrays: Mapping[str, Array]) -> NDArray[np.bool_]:
        return arrays["images"]


def largest_piece(mask: Mask) -> Mask:
    """The largest 8-connected piece: a thin bridge that falls between pixel centres would leave specks behind."""
    from scipy import ndimage  # later than the first picture of the window

    pieces, count = ndimage.label(mask, np.ones((3, 3)))
    if count < 2:
        return mask
    return np.asarray(pieces == 1 + np.bincount(pieces.ravel())[1:].argmax())


class _PictureChunk:
    """Some pictures with their classes."""

    def __init__(self, images: NDArray[np.bool_], classes: NDArray[np.uint8]) -> None:
        self.images, self.classes = images, classes

    def __len__(self) -> int:
        return len(self.images)


def _draw_chunk(task: tuple[Generated, str, int, int]) -> _PictureChunk:
    source, split, first, last = task
    drawn = [source.picture(split, index) for index in range(first, last)]
    return _PictureChunk(np.stack([mask for mask, _ in drawn]), np.array([number for _, number in drawn], np.uint8))
