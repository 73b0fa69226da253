"""Connects widgets, commands and frames: commands go out through `post`, frames come in through `on_frame`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from mrfstudio.engine.commands import Command
from mrfstudio.engine.frames import Frame, Loaded
from mrfstudio.ui.engine_thread import EngineThread

STALE_AFTER = 250
"""Milliseconds without an answer after which results are dimmed: dimming for every stroke would blink."""

Then = Callable[[Any], None]


class Controller(QObject):
    """One for each window. Knows which workspace is shown and which questions are open."""

    loaded = Signal(object)
    frame = Signal(object)
    message = Signal(str)
    """One sentence for the message bar."""
    stale = Signal(bool)
    """Whether what is shown lags behind what was done."""

    def __init__(self, thread: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = thread
        self._workspace = ""
        self._open: dict[int, tuple[Then, Then | None]] = {}
        self._last_edit: dict[str, int] = {}
        self._newest: dict[str, Frame] = {}
        self._shown_at: deque[float] = deque(maxlen=240)
        self.engine: Loaded | None = None
        self._stale_timer = QTimer(self, singleShot=True, interval=STALE_AFTER)
        self._stale_timer.timeout.connect(self._check_stale)
        self._is_stale = False
        thread.loaded.connect(self._on_loaded)
        thread.woken.connect(self.on_woken)
        thread.answered.connect(self._on_answered)
        thread.refused.connect(self._on_refused)
        thread.failed.connect(self.message)

    @property
    def workspace(self) -> str:
        return self._workspace

    @property
    def newest(self) -> Frame | None:
        """The last frame of the shown workspace."""
        return self._newest.get(self._workspace)

    @property
    def frames_per_second(self) -> float:
        """Frames shown within the last second."""
        now = time.monotonic()
        return float(sum(now - shown <= 1.0 for shown in self._shown_at))

    def show(self, workspace: str) -> None:
        """Make a workspace the one that iterates; the one shown before pauses."""
        self._workspace = workspace
        self._thread.show(workspace)
        self._check_stale()

    def post(self, command: Command) -> int:
        """Send a command to the shown workspace."""
        number = self._thread.post(self._workspace, command)
        if command.undoable:
            self._last_edit[self._workspace] = number
            if not self._stale_timer.isActive():
                self._stale_timer.start()
        return number

    def ask(self, question: str, then: Then, refused: Then | None = None, **arguments: Any) -> int:
        """Ask the engine; `then` gets the answer. A refusal goes to the message bar, or to `refused`."""
        number = self._thread.ask(self._workspace, question, **arguments)
        self._open[number] = (then, refused)
        return number

    def on_woken(self) -> None:
        """Show the frames that wait."""
        for frame in self._thread.take():
            self.on_frame(frame)

    def on_frame(self, frame: Frame) -> None:
        """Hand one frame to whoever shows it."""
        self._newest[frame.workspace] = frame
        if frame.workspace != self._workspace:
            return
        self._shown_at.append(time.monotonic())
        self.frame.emit(frame)
        if frame.message:
            self.message.emit(frame.message)
        if self._is_stale:
            self._check_stale()

    def _on_loaded(self, engine: Loaded) -> None:
        self.engine = engine
        self.loaded.emit(engine)

    def _on_answered(self, number: int, value: Any) -> None:
        then, _ = self._open.pop(number)
        then(value)

    def _on_refused(self, number: int, sentence: str) -> None:
        _, refused = self._open.pop(number, (None, None))
        (refused or self.message.emit)(sentence)
        # A refused edit changes nothing, so nothing waits for it.
        for workspace, edit in self._last_edit.items():
            if edit == number:
                self._last_edit[workspace] = 0
        self._check_stale()

    def _check_stale(self) -> None:
        newest = self.newest
        waiting = self._last_edit.get(self._workspace, 0)
        is_stale = waiting > 0 and (newest is None or newest.applied < waiting)
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self.stale.emit(is_stale)
