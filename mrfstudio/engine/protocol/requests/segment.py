"""Questions of the Segment workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mrfstudio.engine.protocol.answers import CloneGallery, Picture
from mrfstudio.engine.protocol.requests.base import Request


@dataclass(frozen=True, eq=False)
class FindContours(Request[Picture]):
    """Contours found in a file, or in grey levels (h, w) from 0 to 1."""

    source: str | np.ndarray
    ink: Literal["dark", "light", "auto"] = "auto"
    threshold: float | None = None
    longest: int | None = None
    """The longer side of the result; None: as small as keeps every region apart."""
    filled: bool = False
    thin: bool = False


@dataclass(frozen=True)
class MakeFigure(Request[Picture]):
    """A figure of a data set, hidden in noise; an empty `kind` takes any."""

    dataset: str
    kind: str = ""
    seed: int = 0
    size: int = 28
    edges: int = 8
    deletion: float = 0.2


@dataclass(frozen=True)
class SaveLabels(Request[str]):
    """Write the decoded labels of a lane as an indexed PNG; answers the path."""

    path: str
    lane: int = 0


@dataclass(frozen=True)
class MeasureClones(Request[CloneGallery]):
    """What the clones of a grid model have learned; takes seconds the first time, with (done, total) as progress."""

    model: str
