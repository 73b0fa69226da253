"""Shipped and generated pictures in words, so that a command that names one runs on any machine.

photo:cat                a photograph of scikit-image; asked for strokes, the strokes on it
damaged:cat-scratched    a damaged photograph; asked for a mask, its damage
faces:3                  picture 3 of a data set; asked for a mask, a hole in it
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.workspaces.inpaint.pictures import PAGE, hole, picture_gallery, picture_sources
from mrfstudio.engine.workspaces.photograph.examples import EXAMPLES, example_rgb, example_strokes
from mrfstudio.engine.workspaces.repair.algorithm import DAMAGED
from mrfstudio.engine.workspaces.repair.examples import EXAMPLES as DAMAGES
from mrfstudio.engine.workspaces.repair.examples import damaged_example

PHOTO, DAMAGE = "photo", "damaged"
MOST = 10_000
"""Pictures of a data set that have words; further pages take long to draw."""
STROKES = [(0, 0, 0), (230, 159, 0), (86, 180, 233)]
"""Colours of nothing and of the two labels that every example has."""


@dataclass(frozen=True, eq=False)
class Shipped:
    """A picture (h, w) or (h, w, 3) uint8, and the layer that was painted on it: strokes or a mask, (h, w) uint8."""

    picture: np.ndarray
    given: np.ndarray


def is_words(word: str) -> bool:
    """Whether this names a shipped picture and not a file."""
    kind = word.partition(":")[0]
    return ":" in word and (kind in (PHOTO, DAMAGE) or kind in _drawn_sets())


def shipped(word: str) -> Shipped:
    """The picture of a word. Raises `StudioError`."""
    kind, _, name = word.partition(":")
    if kind == PHOTO:
        example = EXAMPLES[_place(word, [each.name for each in EXAMPLES])]
        rgb = example_rgb(example)
        return Shipped(rgb, example_strokes(example, (rgb.shape[0], rgb.shape[1])))
    if kind == DAMAGE:
        _, rgb, strokes = damaged_example(_place(word, [each.name for each in DAMAGES]))
        return Shipped(rgb, strokes)
    if not (name.isdecimal() and name.isascii() and int(name) < MOST):
        raise StudioError(f"{word} names no picture: expected a number below {MOST:,}, such as {kind}:3.")
    page, row = divmod(int(name), PAGE)
    pictures = picture_gallery(kind, page).pictures
    if row >= len(pictures):
        raise StudioError(f"{word} names no picture: {kind} has fewer.")
    picture = pictures[row]
    return Shipped(picture, hole((picture.shape[0], picture.shape[1])))


def word_of(document: Document) -> str:
    """The word of a document's picture, where it and what is painted on it are as they were shipped; else empty."""
    layer = "mask" if document.photo is None else "strokes"
    if document.clamps or (document.strength(layer) < 1).any():
        return ""
    for word in _candidates(document):
        picture = document.layers["picture"] if document.photo is None else document.photo.rgb
        try:
            found = shipped(word)
        except StudioError:  # scikit-image is gone since
            continue
        if np.array_equal(found.picture, picture) and np.array_equal(found.given, document.layers[layer]):
            return word
    return ""


@contextmanager
def as_files(image: Path, given: Path | None) -> Iterator[tuple[Path, Path | None]]:
    """A picture, and strokes or a mask for it, as files: words become some, which are gone afterwards."""
    from mrfstudio.engine.files.images import write_image
    from mrfstudio.engine.files.strokes import write_strokes

    with tempfile.TemporaryDirectory(prefix="mrfstudio-words-") as folder:
        files = image, given
        if not image.exists() and is_words(str(image)):
            files = Path(folder, "picture.png"), given
            write_image(files[0], shipped(str(image)).picture / np.float32(255))
        if given is not None and not given.exists() and is_words(str(given)):
            files = files[0], Path(folder, "given.png")
            painted = shipped(str(given)).given
            if str(given).startswith(f"{PHOTO}:"):
                write_strokes(files[1], painted, STROKES)
            else:
                write_image(files[1], (painted == DAMAGED).astype(np.float32))
        yield files


def _candidates(document: Document) -> list[str]:
    """Words that a document's name makes likely."""
    if document.photo is not None:
        return [f"{kind}:{_slug(document.name)}" for kind in (PHOTO, DAMAGE) if _slug(document.name) in _names(kind)]
    if not {"picture", "mask"} <= document.layers.keys():
        return []
    kind, _, number = document.name.rpartition(" ")
    known = [source.name for source in picture_sources(document.shape) if not source.missing]
    return [f"{kind}:{number}"] if kind in known and number.isdecimal() and int(number) < MOST else []


def _names(kind: str) -> list[str]:
    return [_slug(each.name) for each in (EXAMPLES if kind == PHOTO else DAMAGES)]


def _slug(name: str) -> str:
    """A name as a word."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def _place(word: str, names: list[str]) -> int:
    kind, _, name = word.partition(":")
    slugs = [_slug(each) for each in names]
    if name not in slugs:
        raise StudioError(f"{word} names no picture: expected one of {', '.join(f'{kind}:{each}' for each in slugs)}.")
    return slugs.index(name)


def _drawn_sets() -> set[str]:
    from mrfstudio.engine.data.dataset import Dataset
    from mrfstudio.engine.registry import DATASETS

    return {cls.name for cls in DATASETS if issubclass(cls, Dataset) and cls.picture_shape is not None}
