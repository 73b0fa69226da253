"""What was painted and not yet answered: drawn at once, given up when a frame shows that the engine has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.protocol.commands import Command, Shape
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.protocol.raster import command_mask

BLANK = {"observed": 1, "hints": NO_HINT, "mask": 0}
"""What an erased pixel of each layer holds."""
STRENGTH = "_strength"


@dataclass(frozen=True)
class ImagePart:
    """Which part of the image the arrays of a frame show: rows and columns from `origin`, every `stride` pixels."""

    origin: tuple[int, int] = (0, 0)
    size: tuple[int, int] = (0, 0)
    stride: int = 1

    def mask(self, command: Shape) -> tuple[int, int, np.ndarray]:
        """The pixels of the arrays that a command paints: the first row, the first column, booleans from there on."""
        top, left, mask = command_mask(command, self.size, self.origin)
        if self.stride == 1:
            return top, left, mask
        skip_rows, skip_columns = -top % self.stride, -left % self.stride
        sampled = mask[skip_rows :: self.stride, skip_columns :: self.stride]
        return (top + skip_rows) // self.stride, (left + skip_columns) // self.stride, sampled


@dataclass
class PendingEdit:
    """A command that changes pixels, and its number once it is posted."""

    command: Shape
    number: int | None = None

    @property
    def value(self) -> int:
        """What the pixels hold afterwards."""
        return BLANK.get(self.command.layer, 0) if self.command.value < 0 else self.command.value


class Pending:
    """The edits that no frame shows yet, in order, and the layers of the newest frame with these edits in them."""

    def __init__(self) -> None:
        self._edits: list[PendingEdit] = []
        self._newest = 0  # number of the newest command of any kind
        self._applied = 0
        self._base: Mapping[str, np.ndarray] = {}
        self._part = ImagePart()
        self._layers: dict[str, np.ndarray] = {}
        self._touched: dict[str, np.ndarray] = {}
        self._drawn = 0  # how many of the edits are in `_layers`

    @property
    def edits(self) -> list[PendingEdit]:
        return self._edits

    @property
    def waiting(self) -> bool:
        """Whether any command is still unanswered, so that results are older than what the person did."""
        return bool(self._edits) or self._applied < self._newest

    def add(self, command: Command) -> bool:
        """Remember a command; False if it is not one that can be drawn here."""
        if not isinstance(command, Shape):
            return False
        self._edits.append(PendingEdit(command))
        return True

    def posted(self, command: Command, number: int) -> None:
        """A command got its number: results are stale until a frame reaches it."""
        self._newest = max(self._newest, number)
        for edit in reversed(self._edits):
            if edit.command is command:
                edit.number = number
                return

    def settle(self, applied: int) -> None:
        """Forget what a frame already shows."""
        self._applied = max(self._applied, applied)
        self._edits = [edit for edit in self._edits if edit.number is None or edit.number > applied]
        self._start_over()

    def set_base(self, layers: Mapping[str, np.ndarray], part: ImagePart) -> None:
        """The layers of a frame, shared and never written to."""
        self._base, self._part = dict(layers), part
        self._start_over()

    @property
    def fresh(self) -> set[str]:
        """The layers that edits are drawn into."""
        return {edit.command.layer for edit in self._edits}

    def layers(self) -> dict[str, np.ndarray]:
        """The layers with the edits in them. Only edits that came since the last call are drawn."""
        for edit in self._edits[self._drawn :]:
            self._draw(edit)
        self._drawn = len(self._edits)
        return self._layers

    def touched(self, layer: str) -> np.ndarray | None:
        """The pixels (h, w) of a layer that edits have changed; None if there are none."""
        self.layers()
        return self._touched.get(layer)

    def _start_over(self) -> None:
        self._layers, self._touched, self._drawn = dict(self._base), {}, 0

    def _draw(self, edit: PendingEdit) -> None:
        command = edit.command
        if command.layer not in self._base:
            return
        top, left, mask = self._part.mask(command)
        window = slice(top, top + mask.shape[0]), slice(left, left + mask.shape[1])
        strength = 1.0 if command.value < 0 else command.strength
        for name, value in ((command.layer, edit.value), (command.layer + STRENGTH, strength)):
            if name in self._base:
                if self._layers[name] is self._base[name]:
                    self._layers[name] = self._base[name].copy()
                self._layers[name][window][mask] = value
        if command.layer not in self._touched:
            self._touched[command.layer] = np.zeros(self._base[command.layer].shape, np.bool_)
        self._touched[command.layer][window] |= mask
