"""Smaller and smaller steps where messages swing, once the passes of a coarse start are over.

In clumps of ink belief propagation may have no fixed point that it would reach: messages swing for ever, and the label
of a pixel or two with them. After the passes a new message is a mean in which the old one counts

    kept = 1 - (1 - STEADIED) / (1 + swung / SLOWED)²          between STEADIED and 1, one number for each pixel,

where `swung` counts, from step `LATE` on, the iterations in which a message to that pixel would have swung, less those
in which none would have. A message swings that would move by more than `SWINGS`, or by more than `GROWS` and further
than in the iteration before: what passes near a fixed point that does not attract slows down there, and is carried off
again. Means have the same fixed points as the messages themselves, and whether a run has converged is asked of the
change before the mean: what swings is never said to have converged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.levels import plan_for
from mrfstudio.engine.families.grid.shape import GridShape

if TYPE_CHECKING:
    from mrfstudio.engine.families.grid.model import GridMRF

STEADIED = 0.3
"""What an old message counts beside the new one, of a model that eases walls in its passes."""
LATE = 90
"""Steps since the passes began from which on swinging messages are held back; most pictures have settled by then."""
SWINGS = 3e-3
"""The change of a message's entry, as a probability, that counts as swinging."""
GROWS = 1e-3
"""The change that does where the iteration before had a smaller one."""
SLOWED = 0.5
"""After so many swings a step is a quarter of what it was."""


class SwingCounts(NamedTuple):
    """How often messages to each pixel swung, and how far they would have moved in the iteration before; (N,) both."""

    counts: Tensor
    changes: Tensor

    @classmethod
    def none(cls, like: Tensor) -> SwingCounts:
        """Nothing has swung yet, for messages (…, N)."""
        return cls(like.new_zeros(like.shape[-1]), like.new_full(like.shape[-1:], torch.inf))

    @classmethod
    def known(cls, found: tuple[Tensor, ...], like: Tensor) -> SwingCounts:
        """What a state remembers, for messages (…, N): nothing where it is of something else, as a file's may be."""
        known = [(one.shape, one.dtype) for one in found]
        fits = known == 2 * [(like.shape[-1:], like.dtype)]
        return cls(*found) if fits else cls.none(like)

    @property
    def kept(self) -> Tensor:
        """What old messages to each pixel count, (N,)."""
        return 1.0 - (1.0 - STEADIED) / (1.0 + self.counts / SLOWED) ** 2

    def after(self, changes: Tensor, steps: int) -> SwingCounts:
        """After an iteration whose messages would have moved by `changes` (N,), as probabilities."""
        if steps < LATE:
            return SwingCounts(self.counts, changes)
        swung = (changes > SWINGS) | ((changes > GROWS) & (changes > self.changes))
        return SwingCounts(torch.where(swung, self.counts + 1, (self.counts - 1).clamp_min(0)), changes)


class Steadying:
    """Holds back what swings, in a run of iterations that begins where the passes have ended."""

    def __init__(self, model: GridMRF, shape: GridShape) -> None:
        self.active, self.steps = model.eased > 0, len(plan_for(model, shape))
        self.swings = SwingCounts.none(model.weights.new_empty((shape.pixels,)))

    @property
    def held_back(self) -> bool:
        """Whether any message is: what rests then may not be a fixed point."""
        return bool(self.swings.counts.any())

    def __call__(self, new: Tensor, old: Tensor) -> None:
        """Make new messages (directions, S, N) means of themselves and the old ones, in place."""
        if self.active:
            changes = torch.sub(new, old).abs_().amax((0, 1)) / new.shape[1]
            new.lerp_(old, self.swings.kept.expand_as(old))
            self.swings = self.swings.after(changes, self.steps)
            self.steps += 1
