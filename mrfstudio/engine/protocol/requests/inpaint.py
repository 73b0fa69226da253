"""Questions of the Inpaint workspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.answers import GreyPicture, PictureGallery, PictureSource, UnitGallery
from mrfstudio.engine.protocol.requests.base import Request


@dataclass(frozen=True)
class PictureFor(Request[GreyPicture]):
    """A picture of a model's size with a hole in it."""

    model: str


@dataclass(frozen=True)
class ListPictureSources(Request[tuple[PictureSource, ...]]):
    """The data sets with pictures of a model's size, its own first, and what the model itself draws."""

    model: str


@dataclass(frozen=True)
class PicturePage(Request[PictureGallery]):
    """A page of pictures of a data set, or drawn by the model."""

    dataset: str
    model: str
    page: int = 0


@dataclass(frozen=True, eq=False)
class CropPicture(Request[GreyPicture]):
    """A person's picture at a model's size; `match` gives it the brightness that the model was trained on."""

    source: str | np.ndarray
    model: str
    rectangle: tuple[float, float, float, float] | None = None
    match: bool = False


@dataclass(frozen=True)
class ShowUnits(Request[UnitGallery]):
    """What each hidden unit of a model adds to the picture."""

    model: str


@dataclass(frozen=True)
class SavePicture(Request[str]):
    """Write the filled-in picture of a lane at its own size; answers the path."""

    path: str
    lane: int = 0


@dataclass(frozen=True)
class SaveQuery(Request[tuple[str, str] | None]):
    """Write picture and mask for the `inpaint` command; answers their paths, None if they do not say everything."""

    folder: str
