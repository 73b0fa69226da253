"""What a person says about a picture: strokes, areas, noise, other pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.commands.base import Command


@dataclass(frozen=True)
class Paint(Command):
    """A segment of a stroke in image coordinates (x right, y down; pixel (r, c) covers [c, c+1) × [r, r+1)).

    `layer` is what is painted on: `observed` (value 0 contour seen, 1 not seen, 2 unknown), `hints` (value: label
    number, -1 takes hints away) or `mask` (value 1 unknown, 0 known). `strength` in (0, 1]; 1 is hard evidence.
    `raster.stroke_mask` says which pixels are covered. Segments of one stroke share a `stroke_id` above 0; 0 is a
    stroke of its own.
    """

    layer: str
    value: int
    points: tuple[tuple[float, float], ...]
    radius: float
    strength: float = 1.0
    stroke_id: int = 0

    @property
    def title(self) -> str:
        return "Erase" if self.value == -1 else "Brush stroke"

    @property
    def stroke(self) -> int | None:
        return self.stroke_id or None


@dataclass(frozen=True)
class PaintRectangle(Command):
    """Fill a rectangle: top, left, height, width in pixels. `outside` fills everything but it.

    `outline` paints only its outermost pixels, a closed line one pixel wide, and then `outside` means nothing. So it is
    with the other areas; what lies beyond the picture is cut off, and leaves no line along the picture's border.
    """

    layer: str
    value: int
    rectangle: tuple[int, int, int, int]
    strength: float = 1.0
    outside: bool = False
    outline: bool = False

    @property
    def title(self) -> str:
        return _area_title("rectangle", self.outside, self.outline)


@dataclass(frozen=True)
class PaintEllipse(Command):
    """Fill the ellipse that touches the sides of a rectangle (top, left, height, width), or everything but it."""

    layer: str
    value: int
    rectangle: tuple[int, int, int, int]
    strength: float = 1.0
    outside: bool = False
    outline: bool = False

    @property
    def title(self) -> str:
        return _area_title("ellipse", self.outside, self.outline)


@dataclass(frozen=True)
class PaintLasso(Command):
    """Fill what a closed line through `points` (x, y) goes around, however often, or everything but it."""

    layer: str
    value: int
    points: tuple[tuple[float, float], ...]
    strength: float = 1.0
    outside: bool = False
    outline: bool = False

    @property
    def title(self) -> str:
        return _area_title("lasso", self.outside, self.outline)


def _area_title(name: str, outside: bool, outline: bool) -> str:
    if outline:
        return f"{name.capitalize()} outline"
    article = "an" if name[0] in "aeiou" else "a"
    return f"Everything but {article} {name}" if outside else name.capitalize()


Shape = Paint | PaintRectangle | PaintEllipse | PaintLasso
"""Commands whose pixels follow from themselves alone; `raster.command_mask` says which."""


@dataclass(frozen=True)
class Invert(Command):
    """Swap the two values of a layer, such as known and unknown in `mask`."""

    layer: str

    @property
    def title(self) -> str:
        return f"Invert {self.layer}"


@dataclass(frozen=True)
class Fill(Command):
    """Flood-fill from a pixel over 4-connected pixels of the same value."""

    layer: str
    value: int
    row: int
    column: int
    strength: float = 1.0


@dataclass(frozen=True, eq=False)
class Opening(Command):
    """Commands that replace the whole picture: every lane restarts."""

    @property
    def replaces(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class SetImage(Opening):
    """Replace the picture: `observed` (h, w) uint8; `truth` (h, w) uint8 labels or grey levels where known.

    Hints are cleared; a mask stays if the new picture has the size of the old one. Every lane restarts.
    """

    observed: np.ndarray
    truth: np.ndarray | None = None
    name: str = "image"
    mask: np.ndarray | None = None
    """(h, w) of 0 known and 1 unknown, for a picture that comes with one."""

    @property
    def title(self) -> str:
        return f"Open {self.name}"


@dataclass(frozen=True)
class AddNoise(Command):
    """Spurious 3-pixel edges, and contour pixels deleted at random, from a seed.

    In pictures with grey levels `deletion` is the part of the pixels that become their negative.
    """

    edges: int = 8
    deletion: float = 0.0
    seed: int = 0

    @property
    def title(self) -> str:
        return "Add noise"


@dataclass(frozen=True)
class Thin(Command):
    """Make every line of `observed` one pixel wide, as in the pictures that models learned from."""

    @property
    def title(self) -> str:
        return "Thin lines"


WIDEST_GAP = 32
"""Pixels that `CloseGaps` bridges at most; wider gaps are no accidents of a hand."""


@dataclass(frozen=True)
class CloseGaps(Command):
    """Join ends of lines in `observed` that at most `gap` pixels keep apart, by straight lines one pixel wide."""

    gap: int = 3

    @property
    def title(self) -> str:
        return "Close gaps"


@dataclass(frozen=True)
class ClearLayer(Command):
    """Empty one layer: `observed` becomes "nothing seen", `hints` and `mask` are emptied."""

    layer: str

    @property
    def title(self) -> str:
        return f"Clear {self.layer}"


@dataclass(frozen=True)
class ClampUnit(Command):
    """Hold a hidden unit of a model on (1) or off (0), or let it go (None); other models do not notice."""

    model: str
    unit: int
    value: int | None

    @property
    def title(self) -> str:
        doing = "Release" if self.value is None else "Switch on" if self.value else "Switch off"
        return f"{doing} unit {self.unit}"
