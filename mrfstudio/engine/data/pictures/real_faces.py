"""Real faces to look at and to judge with: a hundred small ones that come inside scikit-image, too few to train on."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from mrfstudio.engine.data.dataset import DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.drawn.face_drawing import HEIGHT, WIDTH
from mrfstudio.engine.files.images import fitted
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import DATASETS

FACES = 100
"""The first hundred pictures of scikit-image's part of Labeled Faces in the Wild are faces; the others are not."""


@DATASETS.register
class RealFaces(Dataset):
    """Test pictures only: a model is judged on them, none is trained on them."""

    name = "real-faces"
    title = "Real faces"
    summary = (
        "A hundred small photographs of people (LFW, inside scikit-image), cut and scaled: to look at and to judge."
    )
    path = "none"
    path_text = ""
    yields = "images (N, 28, 20) uint8, in the split test alone"
    picture_shape: ClassVar[tuple[int, int] | None] = (HEIGHT, WIDTH)

    test: int = integer(FACES, "Faces.", low=1, high=FACES)
    seed: int = integer(0, "Which faces come first.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        try:
            from skimage import data
        except ImportError:
            raise DataError("Real faces come with scikit-image, which is not installed: pip install it.") from None
        faces = np.asarray(data.lfw_subset()[:FACES], np.float32)
        chosen = np.roll(faces / max(float(faces.max()), 1e-6), -self.seed * self.test, axis=0)[: self.test]
        small = [np.rint(255 * np.clip(fitted(face, (HEIGHT, WIDTH)), 0, 1)) for face in chosen]
        return Splits({"test": {"images": np.stack(small).astype(np.uint8)}})
