"""When plots are drawn: each at most thirty times a second, and many of them one after the other.

Twelve plots of ten thousand points take some 30 ms together. Drawn in one go they would hold up the mouse; so one is
drawn at a time, and the event loop then has as long for everything else as the plot took. A crosshair that all of
them share waits for its turn in the same way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

FASTEST = 33
"""Milliseconds between two redraws of a plot: thirty a second at most."""
SHORTEST = 0.002
"""Seconds that the event loop has after a plot at least: what was drawn is then painted."""


class PlotPace(QObject):
    """Calls `redraw` as soon as it may, however often it is asked: at once where nothing else was drawn.

    `look` is the same for the crosshair alone; a redraw shows that too.
    """

    def __init__(self, redraw: Callable[[], None], look: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self._redraw, self._look = redraw, look
        self._due = self._pointed = False
        self._timer = QTimer(self, singleShot=True)  # its own: a plot that is closed waits for nothing
        self._timer.timeout.connect(self._tick)

    def ask(self) -> None:
        self._due = True
        if not self._timer.isActive():
            self._tick()

    def glance(self) -> None:
        self._pointed = True
        if not self._timer.isActive():
            self._tick()

    def _tick(self) -> None:
        if not self._due and not self._pointed:
            return
        wait = _TURNS.wait_of(self)
        if wait > 0:
            self._timer.start(math.ceil(1e3 * wait))
            return
        draw = self._redraw if self._due else self._look
        self._due = self._pointed = False
        self._timer.start(FASTEST)
        _TURNS.take(draw)


class _Turns:
    """Whose turn it is, among all plots of the program: who has waited longest."""

    def __init__(self) -> None:
        self._free = self._long = 0.0
        """When the event loop has had its time after the last plot, and how long that time is."""
        self._waiting: list[PlotPace] = []

    def wait_of(self, pace: PlotPace) -> float:
        """Seconds after which to ask again; 0 is its turn."""
        self._waiting = [each for each in self._waiting if isValid(each)]  # some may have been closed
        if pace not in self._waiting:
            self._waiting.append(pace)
        place = self._waiting.index(pace)
        wait = max(self._free - time.perf_counter(), 0.0) + 2 * place * self._long
        if wait > 0 or place > 0:
            return max(wait, SHORTEST)
        self._waiting.pop(0)
        return 0.0

    def take(self, draw: Callable[[], None]) -> None:
        begin = time.perf_counter()
        try:
            draw()
        finally:
            end = time.perf_counter()
            self._long = max(end - begin, SHORTEST)
            self._free = end + self._long


_TURNS = _Turns()
