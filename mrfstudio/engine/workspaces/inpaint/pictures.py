"""Grey pictures to inpaint: a person's own, cut and scaled to a model's size, and those of data sets."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import Dataset, dataset_class
from mrfstudio.engine.data.fetch import fetched
from mrfstudio.engine.files.images import Part, fitted, largest_part, read_grey
from mrfstudio.engine.protocol.answers import GreyPicture, PictureGallery, PictureSource
from mrfstudio.engine.registry import DATASETS

WHITE = 255
PAGE = 24
"""Pictures of a data set that a gallery shows at once."""

Levels = NDArray[np.uint8]


def grey_picture(
    source: str | os.PathLike[str] | NDArray,
    shape: tuple[int, int],
    *,
    name: str = "picture",
    rectangle: Part | None = None,
    brightness: tuple[float, float] | None = None,
) -> GreyPicture:
    """A file, or grey levels (h, w) from 0 to 1, cut to `rectangle` and scaled to `shape` (height, width).

    `rectangle` (top, left, height, width) is in pixels of the source; None is the largest one of the right proportions,
    in the middle. `brightness` (mean, deviation) is what the grey levels are brought to.
    """
    grey = _read(source)
    title = Path(source).name if isinstance(source, str | os.PathLike) else name
    box = rectangle or largest_part(grey.shape, shape)
    small = fitted(grey, shape, box)
    if brightness is not None:
        mean, deviation = brightness
        small = (small - small.mean()) / max(float(small.std()), 1e-6) * deviation + mean
    picture = np.rint(np.clip(small, 0, 1) * WHITE).astype(np.uint8)
    return GreyPicture(title, picture, rectangle=box, full_size=(int(grey.shape[0]), int(grey.shape[1])))


def _read(source: str | os.PathLike[str] | NDArray) -> NDArray[np.float32]:
    if not isinstance(source, str | os.PathLike):
        return np.asarray(source, np.float32)
    path = Path(source)
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = 0
    return _read_file(str(path), changed)


@lru_cache(maxsize=1)
def _read_file(path: str, changed: int) -> NDArray[np.float32]:
    """A file is read once while a rectangle is moved over it; `changed` tells versions apart."""
    return read_grey(path)


# Data sets ------------------------------------------------------------------------------------------------------------


def picture_sources(shape: tuple[int, int]) -> tuple[PictureSource, ...]:
    """The data sets whose pictures have this size, those that are there first, generated ones before the others."""
    sources = []
    for cls in DATASETS:
        if not issubclass(cls, Dataset) or cls.picture_shape != shape:
            continue
        needs_file = cls.path == "required" and fetched(cls.name) is None
        missing = f"Fetch it first: mrfstudio data fetch {cls.name}" if needs_file else ""
        sources.append((bool(missing), cls.path == "required", not cls.grey, cls.name, cls, missing))
    ordered = sorted(sources, key=lambda source: source[:4])
    return tuple(PictureSource(cls.name, cls.title or cls.name, cls.summary, missing) for *_, cls, missing in ordered)


def picture_gallery(dataset: str, page: int = 0) -> PictureGallery:
    """One page of the test pictures of a data set."""
    first = page * PAGE
    source = dataset_class(dataset)
    if source.path == "none":
        pictures, total = _drawn(source, page), None
    else:
        whole = _stored(dataset)
        pictures, total = whole[first : first + PAGE], len(whole)
    return PictureGallery(dataset, page, pictures, tuple(range(first, first + len(pictures))), total)


def _drawn(source: type[Dataset], page: int) -> Levels:
    """A page of a data set that is drawn from a seed: other pages have other seeds."""
    wanted: dict[str, Any] = {"count": 1, "train": 1, "validation": 1, "test": PAGE, "seed": page}
    known = {field.name for field in source.fields()}
    splits = source(**{name: value for name, value in wanted.items() if name in known}).open()
    return _levels(splits["test"]["images"])[:PAGE]


@lru_cache(maxsize=2)
def _stored(dataset: str) -> Levels:
    instance = dataset_class(dataset)()
    return _levels(instance.open(instance.located(None))["test"]["images"])


def _levels(images: NDArray) -> Levels:
    """Pictures (n, h, w) uint8 from uint8, or from bool where True is white."""
    return images if images.dtype == np.uint8 else (images > 0).astype(np.uint8) * np.uint8(WHITE)


def hole(shape: tuple[int, int]) -> Levels:
    """A mask to begin with: an ellipse a little beside the middle, where faces have an eye and the mouth."""
    from mrfstudio.engine.protocol.raster import ellipse_mask

    height, width = shape
    box = (round(0.3 * height), round(0.35 * width), max(round(0.55 * height), 1), max(round(0.5 * width), 1))
    top, left, mask = ellipse_mask(box, shape)
    unknown = np.zeros(shape, np.uint8)
    unknown[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    return unknown
