"""The layers over a damaged photograph, in words."""

from __future__ import annotations

from mrfstudio.ui.canvas.layers import ColourScale, Layer

LAYERS: tuple[Layer, ...] = (
    Layer("photograph", "Photograph", "The picture as it was opened.", shown=True),
    Layer(
        "repaired",
        "Repaired",
        "What the windows around the damage expect there: the mean.",
        shown=True,
        instead="result",
    ),
    Layer(
        "draw",
        "One draw",
        "One picture that the model finds probable: as rough as it thinks the truth is. M draws another.",
        instead="result",
    ),
    Layer(
        "deviation",
        "Doubt",
        "How far the truth may be from the mean: within this distance two times in three.",
        bar=ColourScale("sequential", "grey levels", ((0.0, "0"), (0.5, "32"), (1.0, "64"))),
    ),
    Layer("filler", "Who filled it", "The component or hidden unit that filled each place in, each with its own hue."),
    Layer(
        "difference",
        "Difference of lanes",
        "Where two lanes filled in other colours: a quarter of white is the end of the scale.",
        bar=ColourScale("difference", "of white", ((0.0, "0"), (0.5, "1/8"), (1.0, "1/4"))),
    ),
    Layer("strokes", "Damage", "The outline of what you painted; pixels known in part are tinted.", shown=True),
)
