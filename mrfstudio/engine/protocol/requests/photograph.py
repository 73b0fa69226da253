"""Questions of the Photograph workspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.answers import ModelNote, PhotographFile, PhotographLook
from mrfstudio.engine.protocol.requests.base import Request


@dataclass(frozen=True, eq=False)
class ReadPhotograph(Request[PhotographFile]):
    """The photograph in a file, or one given as colours (h, w, 3) uint8, ready to be shown."""

    source: str | np.ndarray
    name: str = ""


@dataclass(frozen=True)
class ExamplePhotograph(Request[PhotographFile]):
    """An example with strokes on it, by its place in the list; numbers beyond its end restart."""

    number: int = 0


@dataclass(frozen=True)
class LookAtPicture(Request[PhotographLook]):
    """Whether a picture is coloured, and whether it looks like a photograph rather than a drawing."""

    path: str


@dataclass(frozen=True)
class SaveCut(Request[str]):
    """Write what was found at the photograph's own size; answers the path.

    `what`: `labels` (indexed PNG of label numbers), `cutout` (label `label` with alpha), `mask` (its alpha alone),
    `overlay` (colours over the photograph), `strokes` (indexed PNG).
    """

    path: str
    what: str
    label: int = 1
    soft: bool = False


@dataclass(frozen=True)
class CutPixels(Request[np.ndarray]):
    """The cut-out of a label as (h, w, 4) uint8, for the clipboard."""

    label: int = 1
    soft: bool = False


@dataclass(frozen=True)
class SaveScribbles(Request[tuple[str, str, int]]):
    """Write the photograph's own file and the strokes for `mrfstudio segment --scribbles`.

    Answers their paths and how many labels have strokes, numbered from 1 in the file.
    """

    folder: str


@dataclass(frozen=True)
class KeepModel(Request[ModelNote]):
    """Fit a network to what was found, and keep it under a name for other photographs."""

    name: str
