"""What was painted and not yet answered: drawn at once, given up when a frame shows that the engine has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.commands import Command, Paint, PaintRectangle
from mrfstudio.engine.raster import rectangle_mask, stroke_mask

NO_HINT = 255
"""A pixel of the `hints` layer that carries none."""


@dataclass
class Edit:
    """A command that changes pixels, and its number once it is posted."""

    command: Paint | PaintRectangle
    number: int | None = None


class Pending:
    """The edits that no frame shows yet, in order."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._newest = 0  # number of the newest command of any kind
        self._applied = 0

    @property
    def edits(self) -> list[Edit]:
        return self._edits

    @property
    def waiting(self) -> bool:
        """Whether any command is still unanswered, so that results are older than what the person did."""
        return bool(self._edits) or self._applied < self._newest

    def add(self, command: Command) -> bool:
        """Remember a command; False if it is not one that can be drawn here."""
        if not isinstance(command, (Paint, PaintRectangle)):
            return False
        self._edits.append(Edit(command))
        return True

    def posted(self, command: Command, number: int) -> None:
        """A command got its number: results are stale until a frame reaches it."""
        self._newest = max(self._newest, number)
        for edit in reversed(self._edits):
            if edit.command is command:
                edit.number = number
                return

    def settle(self, applied: int) -> bool:
        """Forget what a frame already shows; whether anything was forgotten."""
        before = len(self._edits)
        self._applied = max(self._applied, applied)
        self._edits = [edit for edit in self._edits if edit.number is None or edit.number > applied]
        return len(self._edits) != before

    def clear(self) -> None:
        self._edits = []

    def over(self, layers: Mapping[str, np.ndarray], origin: tuple[int, int]) -> dict[str, np.ndarray]:
        """The layers with the edits applied; `origin` is the image's row and column of their first pixel.

        Arrays that no edit touches are passed on, not copied: frames are shared and must not be written to.
        """
        result = dict(layers)
        for edit in self._edits:
            layer = edit.command.layer
            if layer not in layers:
                continue
            if result[layer] is layers[layer]:
                result[layer] = layers[layer].copy()
            apply_edit(result[layer], edit.command, origin)
        return result


def apply_edit(
    array: np.ndarray, command: Paint | PaintRectangle, origin: tuple[int, int] = (0, 0)
) -> tuple[int, int, int, int]:
    """Write a command into a layer (h, w) that begins at `origin`; returns the rows and columns it touched."""
    top, left, mask = edit_mask(command, origin, (array.shape[0], array.shape[1]))
    value = NO_HINT if command.value < 0 else command.value
    array[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = value
    return top, left, mask.shape[0], mask.shape[1]


def edit_mask(
    command: Paint | PaintRectangle, origin: tuple[int, int], shape: tuple[int, int]
) -> tuple[int, int, np.ndarray]:
    """The pixels a command paints in an array of `shape` that begins at `origin`, as `stroke_mask` gives them."""
    row, column = origin
    if isinstance(command, PaintRectangle):
        top, left, height, width = command.rectangle
        return rectangle_mask((top - row, left - column, height, width), shape)
    return stroke_mask([(x - column, y - row) for x, y in command.points], command.radius, shape)
