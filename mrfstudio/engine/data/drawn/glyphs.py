"""Generated digits and letters, written with a pen of our own: something digit-like exists without any download.

Each character is a few smooth pieces through points of the unit square (in hundredths). `|` is a corner: the next piece
starts where the last one ended. `/` lifts the pen. A piece that ends in `o` is closed. A character that people write in
several ways has several entries.
"""

from __future__ import annotations

import math

import numpy as np

from mrfstudio.engine.data.drawn.drawing import Mask, Points, Warp, place, smooth, stroke
from mrfstudio.engine.data.drawn.generated import Generated
from mrfstudio.engine.protocol.catalogue import choice
from mrfstudio.engine.registry import DATASETS

DIGITS: dict[str, tuple[str, ...]] = {
    "0": ("50,0 18,18 8,52 22,88 52,100 82,84 92,48 80,14 o", "56,0 22,22 14,60 34,98 66,92 84,52 80,14 o"),
    "1": ("50,0 | 50,100", "30,20 | 54,0 | 52,100", "62,0 | 40,100", "28,22 | 52,0 | 52,100 / 26,100 | 78,100"),
    "2": (
        "10,24 26,4 60,0 84,18 78,46 48,72 10,100 | 94,100",
        "14,20 40,0 78,10 80,40 50,76 22,98 10,90 28,78 60,94 96,92",
    ),
    "3": (
        "14,12 44,0 78,10 80,32 62,46 42,48 | 64,50 88,66 80,92 46,100 10,88",
        "16,2 | 80,2 | 46,40 | 74,46 88,68 74,94 42,100 12,88",
    ),
    "4": (
        "62,0 | 8,66 | 94,66 / 66,36 | 66,100",
        "20,0 14,30 18,50 40,54 78,46 / 80,2 | 74,100",
        "70,100 | 70,0 | 8,70 | 96,70",
    ),
    "5": (
        "86,2 | 26,2 | 20,44 | 46,34 76,42 88,66 74,92 42,100 10,88",
        "84,0 | 30,6 | 24,46 | 60,42 82,62 70,92 36,100 12,92",
    ),
    "6": (
        "76,2 44,18 18,52 16,80 38,100 70,96 84,74 66,54 40,56 18,76",
        "60,0 30,30 16,66 28,96 60,100 78,78 62,58 34,64 20,84",
    ),
    "7": ("8,4 | 92,4 | 62,48 44,100", "10,10 | 88,2 | 42,100", "8,4 | 90,4 | 46,100 / 34,50 | 86,50"),
    "8": (
        "50,48 22,34 22,10 50,0 78,10 78,34 50,48 16,68 18,92 50,100 82,92 84,68 50,48",
        "80,10 48,0 22,14 30,38 66,58 78,82 52,100 24,84 34,58 70,36 80,10",
    ),
    "9": (
        "82,26 60,46 30,46 16,26 32,4 62,0 82,20 | 82,26 80,60 68,100",
        "80,16 50,0 22,14 20,38 48,48 76,32 84,10 | 78,60 76,100",
        "78,30 48,50 20,36 24,8 56,0 80,18 82,56 66,90 30,98",
    ),
}

LETTERS: dict[str, tuple[str, ...]] = {
    "A": ("4,100 | 50,0 | 96,100 / 22,64 | 78,64", "10,100 | 10,40 24,6 50,0 76,6 90,40 | 90,100 / 10,58 | 90,58"),
    "B": ("14,0 | 14,100 / 14,0 | 54,0 80,10 80,36 54,46 | 14,46 / 54,46 | 86,56 88,88 56,100 | 14,100",),
    "C": ("92,20 66,0 30,4 8,36 10,70 36,98 70,98 94,80",),
    "D": ("14,0 | 14,100 / 14,0 | 48,0 84,18 94,50 84,82 48,100 | 14,100",),
    "E": ("88,0 | 14,0 | 14,100 | 90,100 / 14,48 | 74,48", "88,10 50,0 18,14 24,40 56,46 | 20,54 10,82 42,100 90,90"),
    "F": ("88,0 | 16,0 | 16,100 / 16,46 | 74,46",),
    "G": ("90,18 62,0 26,6 8,40 12,76 42,100 74,96 92,80 | 92,54 | 58,54",),
    "H": ("12,0 | 12,100 / 88,0 | 88,100 / 12,48 | 88,48",),
    "I": ("50,0 | 50,100 / 22,0 | 78,0 / 22,100 | 78,100",),
    "J": ("76,0 | 76,70 62,98 30,98 14,74", "40,0 | 92,0 / 68,0 | 68,74 50,100 24,94 12,74"),
    "K": ("14,0 | 14,100 / 86,0 | 16,56 / 38,40 | 90,100",),
    "L": ("18,0 | 18,100 | 88,100",),
    "M": ("6,100 | 14,0 | 50,66 | 86,0 | 94,100",),
    "N": ("12,100 | 12,0 | 88,100 | 88,0",),
    "P": ("16,100 | 16,0 | 58,0 88,14 86,42 56,54 | 16,54",),
    "Q": ("50,0 16,16 6,50 18,84 50,98 82,84 94,50 84,16 o / 62,68 | 98,104",),
    "R": ("16,100 | 16,0 | 58,0 86,12 84,40 56,50 | 16,50 / 52,50 | 92,100",),
    "S": ("86,16 58,0 22,8 16,32 48,48 82,64 82,90 46,100 10,86",),
    "T": ("4,0 | 96,0 / 50,0 | 50,100",),
    "U": ("10,0 | 10,60 22,94 50,100 78,94 90,60 | 90,0",),
    "V": ("4,0 | 50,100 | 96,0",),
    "W": ("0,0 | 24,100 | 50,30 | 76,100 | 100,0",),
    "X": ("8,0 | 92,100 / 92,0 | 8,100",),
    "Y": ("4,0 | 50,50 | 96,0 / 50,50 | 50,100", "12,0 | 48,56 / 90,0 | 26,100"),
    "Z": ("10,0 | 90,0 | 8,100 | 94,100",),
    "a": ("82,20 50,4 16,26 12,66 38,98 70,86 84,50 / 84,4 | 84,80 98,98",),
    "b": ("16,0 | 16,100 / 16,60 42,40 78,50 86,76 62,100 16,92",),
    "d": ("84,0 | 84,100 / 84,60 56,40 20,52 14,80 42,100 84,88",),
    "e": ("12,54 | 88,50 | 80,16 48,0 16,20 8,56 30,94 62,100 90,80",),
    "f": ("84,10 62,0 44,14 | 44,100 / 14,40 | 76,40",),
    "h": ("16,0 | 16,100 / 16,62 44,40 76,48 84,70 | 84,100",),
    "m": ("4,100 | 4,10 / 4,40 20,8 42,10 50,36 | 50,100 / 50,40 66,8 90,10 98,36 | 98,100",),
    "n": ("14,100 | 14,10 / 14,42 42,8 76,14 86,42 | 86,100",),
    "r": ("26,100 | 26,10 / 26,46 48,14 84,12",),
    "t": ("46,0 | 46,78 60,100 84,94 / 14,28 | 80,28",),
    "y": ("12,0 | 50,60 / 90,0 | 44,76 14,100",),
}

CHARACTERS = {**DIGITS, **LETTERS}


def pieces(way: str, points_wander: float, generator: np.random.Generator) -> list[Points]:
    """The smooth pieces of one way to write a character. A point that two pieces share wanders for both."""
    moved: dict[tuple[float, float], tuple[float, float]] = {}
    curves = []
    for pen_down in way.split("/"):
        last: list[tuple[float, float]] = []
        for piece in pen_down.split("|"):
            words = piece.split()
            closed = words[-1] == "o"
            knots = list(last)
            for word in words[: -1 if closed else None]:
                x, y = (int(part) / 100 for part in word.split(","))
                if (x, y) not in moved:
                    dx, dy = generator.normal(0.0, points_wander, 2)
                    moved[x, y] = x + dx, y + dy
                knots.append(moved[x, y])
            if len(knots) > 1:
                curves.append(smooth(knots, closed))
            last = knots[-1:]
    return curves


@DATASETS.register
class Glyphs(Generated):
    """Handwriting-like digits and letters, as large in the picture as MNIST's."""

    name = "glyphs"
    title = "Generated digits and letters"
    summary = "Silhouettes of handwritten-looking digits and letters, drawn from the project's own strokes."
    classes = tuple(CHARACTERS)

    characters: str = choice("digits", ("digits", "letters", "all"), "Which characters are written.")

    def kinds(self) -> tuple[str, ...]:
        return {"digits": tuple(DIGITS), "letters": tuple(LETTERS), "all": self.classes}[self.characters]

    def draw(self, kind: str, generator: np.random.Generator) -> Mask:
        ways = CHARACTERS[kind]
        curves = pieces(ways[int(generator.integers(len(ways)))], 0.025, generator)
        warp = Warp(generator, turn=0.22, slant=0.35, stretch=0.35, bend=0.07)
        narrow = generator.uniform(0.6, 0.85)  # characters are taller than wide
        curves = [warp(0.5 + (curve - 0.5) * [narrow, 1.0]) for curve in curves]
        curves = place(curves, generator, self.size, room=18, smallest=0.85, margin=4)
        thick = math.exp(generator.normal(math.log(2.5), 0.28))
        thick = min(max(thick, 1.5), 4.5) * self.size / 28
        slope = generator.uniform(-0.25, 0.25)  # the pen presses harder towards one end of each piece
        widths = [thick * (1 + slope * np.linspace(-1, 1, len(curve))) for curve in curves]
        return stroke(curves, widths, self.size)
