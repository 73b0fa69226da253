"""Damaged photographs to begin with: scratches, writing and specks on the photographs of scikit-image; real faces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.raster import stroke_mask
from mrfstudio.engine.workspaces.photograph.examples import MISSING
from mrfstudio.engine.workspaces.repair.algorithm import DAMAGED

Mask = NDArray[np.bool_]
FACES, ACROSS = 24, 6
"""Real faces on one sheet, and how many stand in a row."""
ENLARGED = 4


@dataclass(frozen=True)
class Damage:
    """A photograph and what is wrong with it."""

    name: str
    photograph: Callable[[], NDArray[np.uint8]]
    damage: Callable[[tuple[int, int], np.random.Generator], Mask]
    visible: bool = True
    """Whether the damage is drawn into the photograph, as a scratch is; else only what is painted says where it is."""


def damaged_example(number: int) -> tuple[str, NDArray[np.uint8], NDArray[np.uint8]]:
    """Name, colours (h, w, 3) and strokes (h, w) of an example. Raises `StudioError` where scikit-image is missing."""
    example = EXAMPLES[number % len(EXAMPLES)]
    rgb = example.photograph().copy()
    shape = (int(rgb.shape[0]), int(rgb.shape[1]))
    mask = example.damage(shape, np.random.default_rng(number))
    if example.visible:
        rgb[mask] = 245
    return example.name, rgb, np.where(mask, np.uint8(DAMAGED), np.uint8(0))


def _sample(name: str) -> Callable[[], NDArray[np.uint8]]:
    def load() -> NDArray[np.uint8]:
        try:
            from skimage import data
        except ImportError:
            raise StudioError(MISSING) from None
        found: Any = getattr(data, name)()
        return np.ascontiguousarray(found, np.uint8)

    return load


def faces_sheet() -> NDArray[np.uint8]:
    """Real faces of scikit-image's part of Labeled Faces in the Wild, to look at and to judge with: (h, w, 3)."""
    try:
        from skimage import data
    except ImportError:
        raise StudioError(MISSING) from None
    faces = np.asarray(data.lfw_subset()[:FACES], np.float64)
    eight = np.rint(255 * faces / max(float(faces.max()), 1.0)).astype(np.uint8)
    large = eight.repeat(ENLARGED, 1).repeat(ENLARGED, 2)
    rows = [np.concatenate(list(large[i : i + ACROSS]), 1) for i in range(0, FACES, ACROSS)]
    return np.repeat(np.concatenate(rows)[..., None], 3, -1)


def scratches(shape: tuple[int, int], generator: np.random.Generator) -> Mask:
    """Long, slightly bent lines and some specks."""
    mask = np.zeros(shape, bool)
    for _ in range(9):
        ends = generator.random((2, 2)) * (shape[1], shape[0])
        middle = ends.mean(0) + generator.normal(0, 12, 2)
        _put(mask, (ends[0], middle, ends[1]), generator.uniform(0.8, 1.8))
    for _ in range(40):
        spot = generator.random(2) * (shape[1], shape[0])
        _put(mask, (spot,), generator.uniform(1.0, 3.0))
    return mask


def writing(shape: tuple[int, int], generator: np.random.Generator) -> Mask:
    """A line of text across the picture."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", shape[::-1])
    ImageDraw.Draw(image).text((shape[1] // 12, shape[0] * 2 // 3), "a day in summer", 255, ImageFont.load_default(48))
    return np.asarray(image) >= 128


def eyes(shape: tuple[int, int], generator: np.random.Generator) -> Mask:
    """A square in the middle of each face."""
    mask, side = np.zeros(shape, bool), shape[1] // ACROSS
    for top in range(0, shape[0] - side + 1, side):
        for left in range(0, shape[1] - side + 1, side):
            down, right = (int(generator.integers(side // 5, side // 2)) for _ in range(2))
            mask[top + down : top + down + side // 4, left + right : left + right + side // 4] = True
    return mask


def _put(mask: Mask, points: tuple[Any, ...], radius: float) -> None:
    top, left, part = stroke_mask(np.stack(points), radius, (mask.shape[0], mask.shape[1]))
    mask[top : top + part.shape[0], left : left + part.shape[1]] |= part


EXAMPLES = (
    Damage("cat, scratched", _sample("chelsea"), scratches),
    Damage("coffee, written on", _sample("coffee"), writing),
    Damage("astronaut, scratched", _sample("astronaut"), scratches),
    Damage("real faces", faces_sheet, eyes, visible=False),
)
