"""What an evaluation was asked for: the same for every kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """Which items, which queries (None: the model's usual ones), how many iterations; `tick` hears of progress.

    `log_z` is the number of temperatures of an estimate of log Z; 0 makes none.
    """

    split: str
    queries: str | None
    limit: int | None
    seed: int
    iterations: int
    tick: Callable[[str], None]
    log_z: int = 0
