"""The geometry of a batch of grids: directions, shifts along the flat pixel axis, borders."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from mrfstudio.engine.protocol.errors import StudioError

# (row step, column step) of the stored matrices W[d][state at pixel, state at pixel + step]: right, down, down-right,
# down-left. The directions after them are their opposites and use the transposed matrices.
STEPS: tuple[tuple[int, int], ...] = ((0, 1), (1, 0), (1, 1), (1, -1))
_DIRECTIONS = {2 * n: STEPS[:n] + tuple((-row, -column) for row, column in STEPS[:n]) for n in (2, 4)}


class GridError(StudioError):
    """A grid model that cannot be made. The message is one sentence for a person."""


@dataclass(frozen=True)
class GridShape:
    """A batch of images. `connectivity` 4 keeps right and down and their opposites, 8 adds the diagonals."""

    batch: int
    height: int
    width: int
    connectivity: int = 8

    @property
    def pixels(self) -> int:
        """N = batch · height · width."""
        return self.batch * self.height * self.width

    @property
    def matrices(self) -> int:
        """Number of potential matrices, half the number of directions."""
        return self.connectivity // 2

    @property
    def directions(self) -> tuple[tuple[int, int], ...]:
        """Steps of all directions; direction d + matrices is opposite to d."""
        return _DIRECTIONS[self.connectivity]

    def opposite(self, direction: int) -> int:
        """Index of the opposite direction."""
        return (direction + self.matrices) % self.connectivity

    def offset(self, direction: int) -> int:
        """How many pixels further along N the receiver of a message lies."""
        row, column = self.directions[direction]
        return row * self.width + column

    def shift(self, direction: int) -> tuple[slice, slice]:
        """Slices of N: (senders, receivers) of a direction, wrapped pixels included."""
        offset = self.offset(direction)
        if abs(offset) >= self.pixels:  # the image is too small to have a neighbour there
            return slice(0, 0), slice(0, 0)
        if offset >= 0:
            return slice(0, self.pixels - offset), slice(offset, self.pixels)
        return slice(-offset, self.pixels), slice(0, self.pixels + offset)

    def fill_border(self, messages: Tensor, direction: int, value: float, first_row: int = 0) -> None:
        """Overwrite what pixels receive from outside the image; `messages` (S, n) are those of one direction.

        They belong to whole rows, counted through all images, of which the first is `first_row`.
        """
        edge, column = self.border(direction, first_row)
        image = messages.view(messages.shape[0], messages.shape[1] // self.width, self.width)
        image[:, edge].fill_(value)
        if column is not None:  # selected, not indexed: a fifth less
            image.select(2, column).fill_(value)

    def border(self, direction: int, first_row: int = 0) -> tuple[slice, int | None]:
        """Which rows of all images, from `first_row` on, and which column hear from outside in this direction."""
        row, column = self.directions[direction]
        edge = (-first_row if row > 0 else -1 - first_row) % self.height
        rows = slice(edge, None, self.height) if row else slice(0, 0)
        return rows, (None if not column else 0 if column > 0 else -1)
