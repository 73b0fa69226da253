"""Questions of the Segment workspace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from mrfstudio.engine.protocol.answers import CloneGallery, Picture
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.base import Request

FIGURE = "figure:"
"""How the words of a figure begin, in place of a file."""


@dataclass(frozen=True, eq=False)
class FindContours(Request[Picture]):
    """Contours found in a file, or in grey levels (h, w) from 0 to 1."""

    source: str | np.ndarray
    ink: Literal["dark", "light", "auto"] = "auto"
    threshold: float | None = None
    longest: int | None = None
    """The longer side of the result; None: as small as keeps every region apart."""
    filled: bool | None = False
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

    @property
    def words(self) -> str:
        """What `mrfstudio segment` takes in place of a file, such as `figure:glyphs:5,seed=3`."""
        others = [each for each in fields(self) if each.name not in ("dataset", "kind")]
        given = [(each.name, getattr(self, each.name)) for each in others if getattr(self, each.name) != each.default]
        return ",".join([f"{FIGURE}{self.dataset}:{self.kind}", *(f"{name}={value}" for name, value in given)])

    @classmethod
    def from_words(cls, words: str) -> MakeFigure:
        """The other way round. Raises `StudioError`."""
        named, *given = words.removeprefix(FIGURE).split(",")
        dataset, _, kind = named.partition(":")
        kinds = {"seed": int, "size": int, "edges": int, "deletion": float}
        try:
            options = {name: kinds[name](value) for name, _, value in (each.partition("=") for each in given)}
        except (KeyError, ValueError):
            raise StudioError(
                f"{words} is no figure in words: expected {FIGURE}DATA:KIND and any of seed=N, size=N, edges=N and "
                f"deletion=P behind commas, such as {FIGURE}glyphs:5,seed=3."
            ) from None
        return cls(dataset, kind, **options)


@dataclass(frozen=True)
class SaveLabels(Request[str]):
    """Write the decoded labels of a lane as an indexed PNG; answers the path."""

    path: str
    lane: int = 0


@dataclass(frozen=True)
class MeasureClones(Request[CloneGallery]):
    """What the clones of a grid model have learned; takes seconds the first time, with (done, total) as progress."""

    model: str
