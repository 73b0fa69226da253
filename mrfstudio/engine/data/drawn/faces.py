"""Generated faces: small grey pictures with pose, expression, light and people that differ, for inpainting."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import SPLITS, Array, Dataset, Progress, Splits
from mrfstudio.engine.data.drawn.face_drawing import HEIGHT, WIDTH, draw_faces, draw_traits
from mrfstudio.engine.data.drawn.face_variety import draw_varied
from mrfstudio.engine.protocol.catalogue import flag, integer
from mrfstudio.engine.registry import DATASETS

_CHUNK = 64


@DATASETS.register
class Faces(Dataset):
    """Faces drawn from a seed. A face depends on (seed, split, index) alone."""

    name = "faces"
    title = "Generated faces"
    summary = "Smooth grey faces, 28×20 pixels, with pose, expression and light; drawn from a seed, no file needed."
    path = "none"
    path_text = ""
    yields = "images (N, 28, 20) uint8; constants mean and deviation of the training pixels, in grey levels"
    picture_shape: ClassVar[tuple[int, int] | None] = (HEIGHT, WIDTH)

    count: int = integer(4000, "Training faces to draw.", low=1, high=10_000_000, logarithmic=True)
    validation: int = integer(200, "Validation faces to draw.", low=0, high=10_000_000)
    test: int = integer(400, "Test faces to draw.", low=0, high=10_000_000)
    seed: int = integer(0, "The same seed draws the same faces.", low=0)
    varied: bool = flag(
        False, "As photographs of people are: near, turned, blurred, with any light and contrast, and rough skin."
    )

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        wanted = {"train": self.count, "val": self.validation, "test": self.test}
        total, parts, done = sum(wanted.values()), {}, 0
        for split, count in wanted.items():
            chunks: list[NDArray[np.uint8]] = []
            for first in range(0, count, _CHUNK):
                chunks.append(self._drawn(split, range(first, min(first + _CHUNK, count))))
                done += len(chunks[-1])
                if progress is not None:
                    progress(done, total)
            if chunks:
                parts[split] = {"images": np.concatenate(chunks)}
        pixels = parts["train"]["images"].astype(np.float64)
        return Splits(parts, {"mean": np.array(pixels.mean()), "deviation": np.array(pixels.std())})

    def _drawn(self, split: str, indices: range) -> Array:
        seeds = (np.random.SeedSequence(self.seed, spawn_key=(SPLITS.index(split), index)) for index in indices)
        generators = [np.random.default_rng(seed) for seed in seeds]
        if self.varied:
            return draw_varied(generators)
        return draw_faces(np.stack([draw_traits(generator) for generator in generators]))
