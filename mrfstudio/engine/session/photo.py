"""The photograph of a document: its file's own bytes, and the colours in it, decoded once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

KEPT = 2
"""Photographs whose colours are kept: undo goes back to the one before."""


@dataclass(frozen=True, eq=False)
class Photo:
    """content (n,) uint8, the file as it was opened; rgb (height, width, 3) uint8."""

    content: np.ndarray
    rgb: np.ndarray
    digest: str
    said: str = ""
    """What of the file is not shown, in one sentence."""
    profile: bytes | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.rgb.shape[0]), int(self.rgb.shape[1])


_known: OrderedDict[str, Photo] = OrderedDict()


def photo_of(content: np.ndarray, name: str = "The picture") -> Photo:
    """The photograph in a file's bytes; the same object for the same bytes, for a while. Raises `ImageError`."""
    data = np.ascontiguousarray(content, np.uint8)
    digest = hashlib.sha256(data.tobytes()).hexdigest()[:16]
    if digest not in _known:
        from mrfstudio.engine.files.photographs import decode  # Pillow: no other workspace's first picture needs it

        found = decode(data, name)
        for array in (data, found.rgb):
            array.setflags(write=False)
        _known[digest] = Photo(data, found.rgb, digest, found.said, found.profile)
    _known.move_to_end(digest)
    while len(_known) > KEPT:
        _known.popitem(last=False)
    return _known[digest]
