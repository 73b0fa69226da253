"""Pictures one after the other as one GIF or WebP file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from mrfstudio.engine.files.atomic import atomic_path, unwritable
from mrfstudio.engine.files.images import ImageError

FORMATS = {".gif": "GIF", ".webp": "WEBP"}
SAMPLED = 12  # pictures that the colours of a GIF are chosen from


def write_animation(
    path: str | os.PathLike[str], pictures: Sequence[np.ndarray], milliseconds: int, last: int | None = None
) -> None:
    """Write pictures (h, w, 3) uint8 of one size, shown for so long each and the last one for `last`; it repeats."""
    kind = FORMATS.get(Path(path).suffix.lower())
    if kind is None:
        raise ImageError(f"{path} does not end in .gif or .webp: animations are written as one of these.")
    if not pictures or len({picture.shape for picture in pictures}) != 1:
        raise ImageError("An animation needs at least one picture, and all of one size.")
    images = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pictures]
    if kind == "GIF":
        images = _with_common_colours(images)
    times = [milliseconds] * (len(images) - 1) + [milliseconds if last is None else last]
    options = {"lossless": True} if kind == "WEBP" else {"optimize": False}
    try:
        with atomic_path(path) as temporary:
            images[0].save(temporary, kind, save_all=True, append_images=images[1:], duration=times, loop=0, **options)
    except OSError as problem:
        raise ImageError(unwritable(path, problem)) from problem


def _with_common_colours(images: list[Image.Image]) -> list[Image.Image]:
    """256 colours for all pictures together: with colours of its own each would flicker against the next."""
    some = images[:: max(1, len(images) // SAMPLED)]
    side_by_side = Image.new("RGB", (sum(image.width for image in some), images[0].height))
    for number, image in enumerate(some):
        side_by_side.paste(image, (number * image.width, 0))
    palette = side_by_side.quantize(256)
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
