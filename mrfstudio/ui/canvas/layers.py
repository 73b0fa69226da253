"""The layers a canvas can show, in words: titles, help, and what their colours mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColourScale:
    """A colour map with its ends: `ticks` are (place from 0 to 1, text)."""

    map: str
    unit: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Layer:
    """One row of the layer list."""

    name: str
    title: str
    help: str
    shown: bool = False
    bar: ColourScale | None = None
    """Its colour map; None where labels or plain colours are drawn."""
    instead: str = ""
    """Of the layers with the same word here, only one is shown at a time: each covers the whole picture."""
    symbol: str = ""
    """Of `protocol.words.SYMBOLS`: what of an equation it shows, where the canvas has no other place for that."""


# What travels in direction d, in the order of the residual's first axis; up to 4 on a 4-connected grid.
DIRECTIONS_8 = ("right", "down", "down-right", "down-left", "left", "up", "up-left", "up-right")
DIRECTIONS_4 = ("right", "down", "left", "up")
ARROWS = {
    "right": "→",
    "down": "↓",
    "down-right": "↘",
    "down-left": "↙",
    "left": "←",
    "up": "↑",
    "up-left": "↖",
    "up-right": "↗",
}


def direction_names(count: int) -> tuple[str, ...]:
    """Names of the directions of a grid with 4 or 8 neighbours."""
    return DIRECTIONS_4 if count == 4 else DIRECTIONS_8[:count]


SEGMENT_LAYERS: tuple[Layer, ...] = (
    Layer("observed", "Observed contours", "The contour pixels that the model is shown.", shown=True),
    Layer("belief", "Labels", "The most probable label of each pixel, the more opaque the more certain.", shown=True),
    Layer("decoded", "Decoded labels", "The most probable label of each pixel in full colour."),
    Layer(
        "entropy",
        "Entropy",
        "How undecided each pixel is: 0 bits is certain, 1.58 bits cannot tell three labels apart.",
        bar=ColourScale("sequential", "bits", ((0.0, "0"), (0.631, "1"), (1.0, "1.58"))),
    ),
    Layer(
        "residual",
        "Residual",
        "How much the messages into each pixel changed in the last iteration.",
        bar=ColourScale("heat", "change of a message", ((0.0, "10⁻⁶"), (1 / 3, "10⁻⁴"), (2 / 3, "10⁻²"), (1.0, "1"))),
    ),
    Layer(
        "difference",
        "Difference of lanes",
        "Where two lanes disagree: half the summed difference of their label probabilities.",
        bar=ColourScale("difference", "of probability", ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))),
    ),
    Layer(
        "error",
        "Error",
        "How far each marginal is from exact inference, or from the lane chosen as the reference.",
        bar=ColourScale("difference", "of probability", ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))),
    ),
    Layer(
        "clone",
        "Clones",
        "The most probable clone of each contour pixel; every clone has its own hue.",
        symbol="hidden",
    ),
    Layer(
        "ownership",
        "Border ownership",
        "The side on which the chosen clone expects IN. Zoom in to see arrows.",
        bar=ColourScale("cyclic", "side of IN", ((0.0, "→"), (0.25, "↑"), (0.5, "←"), (0.75, "↓"), (1.0, "→"))),
    ),
    Layer("hints", "Hints", "What you told the model, striped; paler where it is soft.", shown=True),
    Layer("truth", "Truth", "The true labels, where they are known."),
)

GREY_TICKS = ((0.0, "0"), (0.5, "128"), (1.0, "255"))
LARGEST_DEVIATION = LARGEST_ERROR = 64 / 255
"""Grey levels (0 to 1) at which the maps of deviation and of differences end; more is drawn like this much."""
SIGNED_TICKS = ((0.0, "-64"), (0.5, "0"), (1.0, "64"))

INPAINT_LAYERS: tuple[Layer, ...] = (
    Layer(
        "picture",
        "Picture",
        "What is known, and under the mask the original.",
        True,
        ColourScale("grey", "grey level", GREY_TICKS),
    ),
    Layer("mask", "Unknown pixels", "What you painted as unknown; doubtful pixels are tinted.", shown=True),
    Layer(
        "mean",
        "Mean",
        "What the model expects: known pixels as they are, unknown ones by the mean of their belief.",
        shown=True,
        instead="result",
    ),
    Layer(
        "deviation",
        "Standard deviation",
        "How unsure the model is of each pixel: it expects the truth within this distance two times in three.",
        bar=ColourScale("sequential", "grey levels", ((0.0, "0"), (0.5, "32"), (1.0, "64"))),
        instead="result",
    ),
    Layer(
        "sample",
        "Sample",
        "Hidden units drawn by Gibbs sampling given what is known, and the picture that they mean; it keeps changing.",
        instead="result",
        symbol="hidden",
    ),
    Layer(
        "mistake",
        "Difference to the original",
        "The mean minus the original: orange is too bright, blue too dark.",
        bar=ColourScale("diverging", "grey levels", SIGNED_TICKS),
        instead="result",
    ),
    Layer(
        "difference",
        "Difference of lanes",
        "The second lane's mean minus the first one's: orange is brighter, blue darker.",
        bar=ColourScale("diverging", "grey levels", SIGNED_TICKS),
    ),
)
