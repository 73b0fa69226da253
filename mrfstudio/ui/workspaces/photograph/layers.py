"""The layers over a photograph, in words."""

from __future__ import annotations

from mrfstudio.ui.canvas.layers import ColourScale, Layer

LAYERS: tuple[Layer, ...] = (
    Layer("photograph", "Photograph", "The picture as it was opened.", shown=True),
    Layer(
        "overlay",
        "Labels",
        "The most probable label of each pixel, the more opaque the more certain.",
        shown=True,
        instead="result",
    ),
    Layer("boundary", "Boundary", "Where one label ends and another begins.", shown=True),
    Layer("cutout", "Cut-out", "The chosen label alone, on a checkerboard.", instead="result"),
    Layer(
        "entropy",
        "Uncertainty",
        "The entropy of each pixel: 0 bits is certain, 1 bit cannot tell two labels apart.",
        bar=ColourScale("sequential", "bits", ((0.0, "0"), (0.5, "half"), (1.0, "most"))),
        instead="result",
    ),
    Layer(
        "scores",
        "Scores",
        "What colour and distance say for the chosen label before neighbours are asked: orange for, blue against it.",
        bar=ColourScale("diverging", "nats", ((0.0, "-6"), (0.5, "0"), (1.0, "6"))),
        instead="result",
    ),
    Layer(
        "walls",
        "Walls",
        "Where neighbours need not agree, because the picture changes between them.",
        bar=ColourScale("heat", "of the strongest", ((0.0, "none"), (1.0, "wall"))),
        instead="result",
    ),
    Layer(
        "residual",
        "Residual",
        "How much the messages into each pixel changed in the last iteration.",
        bar=ColourScale("heat", "change of a message", ((0.0, "10⁻⁶"), (1 / 3, "10⁻⁴"), (2 / 3, "10⁻²"), (1.0, "1"))),
        instead="result",
    ),
    Layer(
        "difference",
        "Difference of lanes",
        "Where two lanes disagree: half the summed difference of their label probabilities.",
        bar=ColourScale("difference", "of probability", ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))),
    ),
    Layer("strokes", "Strokes", "What you painted: these pixels have their label for certain.", shown=True),
)
