"""How a cut-out weighs colours, distances and neighbours."""

from __future__ import annotations

from mrfstudio.engine.families.scored_grid.messages import STRONGEST
from mrfstudio.engine.protocol.catalogue import Parameters, choice, integer, number

MOST_SMOOTHNESS = STRONGEST


class CutoutSettings(Parameters):
    """Scores of a cut-out, and how long it iterates."""

    smoothness: float = number(4.0, "How much neighbouring pixels want the same label.", low=0.0, high=MOST_SMOOTHNESS)
    field: float = number(
        1.0,
        "How much neighbours count: 0 is what each pixel's own scores say, 1 is scores and field.",
        low=0.0,
        high=1.0,
    )
    neighbours: str = choice("8", ("4", "8"), "Neighbours of a pixel.")
    colour_cap: float = number(2.0, "Most that a pixel's colour alone can say for a label.", low=0.0, unit="nats")
    colour_blur: float = number(0.35, "How far colours are smoothed, in cells of the table.", low=0.1, advanced=True)
    distance_weight: float = number(4.0, "How much the distance along the picture to a stroke says.", low=0.0)
    length: float = number(
        0.7, "Cost of a path over a flat picture, beside the edges that it crosses.", low=0.0, advanced=True
    )
    walls: float = number(1.0, "How much the colour probabilities add to the walls of distances.", low=0.0)
    frame: float = number(
        0.4,
        "Distance at which the picture's frame counts as a stroke of the outermost label; large values switch it off.",
        low=0.0,
    )
    islands: float = number(
        4.0,
        "How much a label loses in parts that none of its strokes touches; what lies around loses nothing.",
        low=0.0,
    )
    rounds: int = integer(3, "How often colours are refitted from beliefs.", low=0, high=20)
    iterations: int = integer(8, "Iterations of belief propagation at each level.", low=1, high=1000)
    patience: int = integer(
        4000, "Further iterations of the last level, where messages still move, until they rest.", low=0, high=100_000
    )
