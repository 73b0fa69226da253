"""Cyclic garbage is collected in the window's thread alone.

Python may collect in whichever thread happens to allocate; a widget in a dead cycle would then be destroyed in the
engine's thread, which Qt does not allow and which crashes. So automatic collection is off while the window is open, and
a timer collects when the counts say that it is worth it.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

EVERY = 1000  # milliseconds
OLDEST_EVERY = 60
"""Ticks between two looks at the oldest objects, which take longest."""
SETTLED_BY = 30
"""Ticks after which collecting begins though libraries may still be loaded."""


class GarbageCollector(QObject):
    """Collects young garbage every second and all of it every minute, once the libraries are there.

    While they load, everything is young: one look at half a million objects would hold up the window for 100 ms.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        self._ticks = 0
        self._settled = False
        self._timer = QTimer(self, interval=EVERY)
        self._timer.timeout.connect(self.tick)

    def start(self) -> None:
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()

    def settle(self) -> None:
        """What is alive now will stay: torch and Qt bring half a million objects that need no second look."""
        self._settled = True
        gc.freeze()

    def tick(self) -> None:
        """Collect what the counts suggest."""
        self._ticks += 1
        if not self._settled and self._ticks < SETTLED_BY:
            return
        young, middle, _ = gc.get_count()
        limits = gc.get_threshold()
        if self._ticks % OLDEST_EVERY == 0:
            gc.collect(2)
        elif middle > limits[1]:
            gc.collect(1)
        elif young > limits[0]:
            gc.collect(0)
