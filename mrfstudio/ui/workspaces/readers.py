"""What people read rather than watch: no eye follows numbers and curves sixty times a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer

from mrfstudio.engine.frames import Frame, merge

EVERY = 45
"""Milliseconds between two readers, one after the other: all at once would keep a stroke waiting."""

Reader = Callable[[Frame], None]


class Readers(QObject):
    """Hands frames to slow widgets, in turn while iterations run and to all when they end. No scalar is lost."""

    def __init__(self, readers: Sequence[Reader], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._readers = list(readers)
        self._unread: list[Frame | None] = [None] * len(self._readers)
        self._turn = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(EVERY)
        self._timer.timeout.connect(self._next)

    def take(self, frame: Frame) -> None:
        """Keep a frame until it is its reader's turn."""
        self._unread = [frame if older is None else merge(older, frame) for older in self._unread]
        if not frame.playing:
            self._timer.stop()
            for index in range(len(self._readers)):
                self._read(index)
        elif not self._timer.isActive():
            self._timer.start()

    def _next(self) -> None:
        self._read(self._turn)
        self._turn = (self._turn + 1) % len(self._readers)
        if any(frame is not None for frame in self._unread):
            self._timer.start()

    def _read(self, index: int) -> None:
        frame, self._unread[index] = self._unread[index], None
        if frame is not None:
            self._readers[index](frame)
