"""The photographs that come inside scikit-image, with strokes on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.raster import stroke_mask

Line = tuple[tuple[float, float], ...]
MISSING = (
    "The example photographs come with scikit-image, which is not installed: `pip install scikit-image`, "
    "or open a photograph of your own."
)


@dataclass(frozen=True)
class Example:
    """A photograph of scikit-image; strokes are lines of points (x, y) in pixels by label number."""

    name: str
    function: str
    strokes: tuple[tuple[int, Line], ...]
    radius: float
    labels: tuple[tuple[int, str, str], ...] = ()


PERSON = ((1, "Person", "#e69f00"), (2, "Background", "#56b4e9"))
CAT = ((1, "Cat", "#e69f00"), (2, "Background", "#56b4e9"))

EXAMPLES = (
    Example(
        "astronaut",
        "astronaut",
        (
            (1, ((180, 120), (185, 60), (230, 35), (275, 70), (279, 110))),
            (1, ((222, 130), (222, 165), (190, 215), (120, 290), (60, 400), (40, 490))),
            (1, ((222, 165), (270, 240), (330, 300), (300, 400), (240, 490))),
            (1, ((340, 490), (350, 410), (420, 370), (470, 430))),
            (2, ((10, 30), (60, 60), (110, 60), (115, 130), (80, 200), (15, 260))),
            (2, ((320, 30), (340, 150), (390, 230), (440, 320), (500, 360))),
            (2, ((400, 60), (490, 120))),
        ),
        5.0,
        PERSON,
    ),
    Example(
        "coffee",
        "coffee",
        (
            (1, ((190, 130), (215, 50), (300, 30), (390, 60), (400, 110))),
            (1, ((300, 110), (270, 160), (330, 180))),
            (1, ((110, 200), (140, 290), (260, 350), (400, 330), (455, 230))),
            (1, ((350, 300), (390, 260))),
            (2, ((20, 100), (50, 240), (40, 360), (110, 385))),
            (2, ((460, 60), (560, 120), (580, 300), (520, 385))),
            (2, ((20, 30), (120, 15))),
        ),
        4.0,
        ((1, "Cup", "#e69f00"), (2, "Table", "#56b4e9")),
    ),
    Example(
        "cat",
        "cat",
        (
            (1, ((45, 250), (90, 200), (130, 130), (170, 60), (250, 40), (300, 80), (310, 200), (230, 270))),
            (1, ((60, 40), (90, 100))),
            (1, ((350, 20), (330, 60))),
            (2, ((400, 20), (430, 90), (420, 180), (400, 280))),
            (2, ((8, 20), (10, 110))),
        ),
        4.0,
        CAT,
    ),
)

EXAMPLE_LABELS = tuple(example.labels for example in EXAMPLES)


def example_rgb(example: Example) -> NDArray[np.uint8]:
    """Its colours (h, w, 3). Raises `StudioError` where scikit-image is missing."""
    try:
        from skimage import data
    except ImportError:
        raise StudioError(MISSING) from None
    found: Any = getattr(data, example.function)()
    return np.ascontiguousarray(found, np.uint8)


def example_strokes(example: Example, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """The strokes drawn, (h, w) of 0 and label numbers."""
    strokes = np.zeros(shape, np.uint8)
    for label, line in example.strokes:
        top, left, mask = stroke_mask(line, example.radius, shape)
        strokes[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = label
    return strokes
