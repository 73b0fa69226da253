"""Smaller and smaller steps where messages swing, once the passes of a coarse start are over.

In clumps of ink belief propagation may have no fixed point that it would reach: messages swing for ever, and the label
of a pixel or two with them. After the passes a new message is a mean in which the old one counts

    kept = 1 - (1 - STEADIED) / (1 + swung / SLOWED)²          between STEADIED and 1, one number for each pixel,

where `swung` counts, from step `LATE` on, the iterations in which a message to that pixel would have moved by more than
`SWINGS`, less those in which none would have. Means have the same fixed points as the messages themselves, and whether
a run has converged is asked of the change before the mean: what swings is never said to have converged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
SLOWED = 0.5
"""After so many swings a step is a quarter of what it was."""


def kept_of(swung: Tensor) -> Tensor:
    """What old messages to each pixel count, (N,)."""
    return 1.0 - (1.0 - STEADIED) / (1.0 + swung / SLOWED) ** 2


def swung_after(swung: Tensor, changes: Tensor, steps: int) -> Tensor:
    """The counts (N,) after an iteration whose messages would have moved by `changes` (N,), as probabilities."""
    return swung if steps < LATE else torch.where(changes > SWINGS, swung + 1, (swung - 1).clamp_min(0))


class Steadying:
    """Holds back what swings, in a run of iterations that begins where the passes have ended."""

    def __init__(self, model: GridMRF, shape: GridShape) -> None:
        self.active, self.steps = model.eased > 0, len(plan_for(model, shape))
        self.swung = torch.zeros(shape.pixels, dtype=model.weights.dtype, device=model.weights.device)

    @property
    def held_back(self) -> bool:
        """Whether any message is: what rests then may not be a fixed point."""
        return bool((self.swung > 0).any())

    def __call__(self, new: Tensor, old: Tensor) -> None:
        """Make new messages (directions, S, N) means of themselves and the old ones, in place."""
        if self.active:
            changes = torch.sub(new, old).abs_().amax((0, 1)) / new.shape[1]
            new.lerp_(old, kept_of(self.swung).expand_as(old))
            self.swung = swung_after(self.swung, changes, self.steps)
            self.steps += 1
