"""Small pieces of pictures: cut at random places, at several scales, turned and mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mrfstudio.engine.data.dataset import DataError
from mrfstudio.engine.data.drawn.scenes import draw_scene
from mrfstudio.engine.files.images import read_colour

SCALES = (1.0, 0.75, 0.5)
"""How much smaller a picture is made before pieces are cut: sharp edges occur at every size."""
SCENE_SIDE, FROM_SCENE = 160, 1000
"""Side of a generated scene in pixels, and how many pieces are cut from one."""

Pieces = NDArray[np.uint8]


def cut_pieces(files: Sequence[Path], count: int, side: tuple[int, int], generator: np.random.Generator) -> Pieces:
    """Pieces (count, height, width, 3) of 8 bits: as many from each picture, at each of `SCALES`."""
    shares = np.diff(np.linspace(0, count, len(files) * len(SCALES) + 1).astype(int))
    found = []
    for index, file in enumerate(files):
        picture = read_colour(file)
        for number, scale in enumerate(SCALES):
            share = int(shares[index * len(SCALES) + number])
            found.append(_cut(_scaled(picture, scale), share, side, generator, file))
    return np.concatenate(found)


def scene_pieces(count: int, side: tuple[int, int], generator: np.random.Generator) -> Pieces:
    """Pieces (count, height, width, 3) of 8 bits, cut from generated scenes."""
    found = [np.zeros((0, *side, 3), np.uint8)]
    for first in range(0, count, FROM_SCENE):
        scene = draw_scene(SCENE_SIDE, generator)
        found.append(_cut(scene, min(FROM_SCENE, count - first), side, generator, Path("a scene")))
    return np.concatenate(found)


def _scaled(picture: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
    if scale == 1.0:
        return picture
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    image = Image.fromarray(np.rint(255 * picture).astype(np.uint8))
    return np.asarray(image.resize(size, Image.Resampling.LANCZOS), np.float32) / np.float32(255)


def _cut(
    picture: NDArray[np.float32], count: int, side: tuple[int, int], generator: np.random.Generator, file: Path
) -> Pieces:
    """Pieces at even odds everywhere; half of them are mirrored, and half of square ones transposed."""
    free = picture.shape[0] - side[0] + 1, picture.shape[1] - side[1] + 1
    if min(free) < 1:
        raise DataError(f"{file} is smaller than a piece of {side[1]}×{side[0]} pixels: take it out.")
    top, left = generator.integers(0, free[0], count), generator.integers(0, free[1], count)
    rows, columns = np.arange(side[0]), np.arange(side[1])
    eight = np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8)
    pieces = eight[top[:, None, None] + rows[:, None], left[:, None, None] + columns]
    mirrored = generator.random(count) < 0.5
    pieces[mirrored] = pieces[mirrored, :, ::-1]
    if side[0] == side[1]:
        turned = generator.random(count) < 0.5
        pieces[turned] = pieces[turned].swapaxes(1, 2)
    return pieces
