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

    def shift(self, direction: int) -> tuple[slice, slice]:
        """Slices of N: (senders, receivers) of a direction, wrapped pixels included."""
        row, column = self.directions[direction]
        offset = row * self.width + column
        if abs(offset) >= self.pixels:  # the image is too small to have a neighbour there
            return slice(0, 0), slice(0, 0)
        if offset >= 0:
            return slice(0, self.pixels - offset), slice(offset, self.pixels)
        return slice(-offset, self.pixels), slice(0, self.pixels + offset)

    def move(self, sent: Tensor, direction: int, out: Tensor) -> None:
        """Write values by sender, contiguous (S, N), to `out` by receiver; the border gets anything.

        The same step for every state is one step for the whole matrix, and that is faster than row by row: what crosses
        from a state to the next one ends where nobody sends.
        """
        origin, target = self._flat(direction, out.numel())
        out.view(-1)[target] = sent.view(-1)[origin]

    def move_back(self, received: Tensor, direction: int, out: Tensor) -> None:
        """Write values by receiver, contiguous (S, N), to `out` by sender; 0 where nobody receives.

        What receivers at the border have must be 0: it ends up at the senders on the opposite border.
        """
        origin, target = self._flat(direction, out.numel())
        flat = out.view(-1)
        flat[: origin.start].zero_()
        flat[origin.stop :].zero_()
        flat[origin] = received.view(-1)[target]

    def _flat(self, direction: int, size: int) -> tuple[slice, slice]:
        """Slices of S · N: (senders, receivers) of a direction."""
        row, column = self.directions[direction]
        offset = row * self.width + column
        if abs(offset) >= size:
            return slice(0, 0), slice(0, 0)
        return slice(max(-offset, 0), size - max(offset, 0)), slice(max(offset, 0), size - max(-offset, 0))

    def fill_border(self, messages: Tensor, direction: int, value: float) -> None:
        """Overwrite what pixels receive from outside the image; `messages` (S, N) are those of one direction."""
        row, column = self.directions[direction]
        image = messages.view(len(messages), self.batch, self.height, self.width)
        if row:
            image[:, :, 0 if row > 0 else -1, :] = value
        if column:
            image[:, :, :, 0 if column > 0 else -1] = value
