"""What a person does to a photograph besides painting: open one, and change the labels that strokes have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.commands.base import Command
from mrfstudio.engine.protocol.commands.evidence import Opening

LEANING = 64
"""Added to a label's number where a stroke is soft: the pixel leans to the label and may get another one."""


@dataclass(frozen=True)
class Label:
    """One of the labels of a photograph: the number that strokes hold, what it is called, and `#rrggbb`."""

    number: int
    title: str
    colour: str


@dataclass(frozen=True, eq=False)
class SetPhotograph(Opening):
    """Show another photograph; every lane restarts.

    `content` (n,) uint8 is the picture's own file. `strokes` (h, w) uint8 come with it where they are known: 0 nothing,
    else a number of `labels`. Without `labels` those of the photograph before stay.
    """

    content: np.ndarray
    name: str = "photograph"
    strokes: np.ndarray | None = None
    labels: tuple[tuple[int, str, str], ...] = ()

    @property
    def title(self) -> str:
        return f"Open {self.name}"


@dataclass(frozen=True)
class SetLabels(Command):
    """Other labels: added, renamed, recoloured or left out; what was painted with one that is gone goes with it."""

    labels: tuple[tuple[int, str, str], ...]
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Change labels"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class FindDamage(Command):
    """Paint as damage what a model finds improbable given its surroundings by more than `threshold` deviations."""

    threshold: float = 6.0
    model: str = ""
    """Its name; empty is the usual one."""

    @property
    def title(self) -> str:
        return "Find dust and scratches"
