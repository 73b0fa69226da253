"""Numbers for gestures: what one stroke or one drag of a slider does is one step of undo."""

from __future__ import annotations

import time
from itertools import count

# Gestures of two canvases, or of a session opened again, must not join: numbers go on from the clock, not from one.
_numbers = count(time.time_ns() // 1_000_000)


def next_gesture() -> int:
    """A number that no other gesture has."""
    return next(_numbers)
