"""Connects widgets, commands and frames: commands go out through `post`, frames come in through `on_frame`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.ui.engine.engine_thread import EngineThread

A = TypeVar("A")
Then = Callable[[Any], object]


class Controller(QObject):
    """One for each window. Knows which workspace is shown and which questions are open."""

    loaded = Signal(object)
    frame = Signal(object)
    message = Signal(str)
    """One sentence for the message bar."""
    posted = Signal(object, int)
    """An edit and the number it got: what is shown is stale until a frame has `applied` at least that."""
    sent = Signal(object, int)
    """Any command and the number it got."""

    def __init__(self, thread: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = thread
        self._workspace = ""
        self._open: dict[int, tuple[Then, Then | None]] = {}
        self._progress: dict[int, Then] = {}
        self._newest: dict[str, Frame] = {}
        self._posted: dict[str, int] = {}
        self._shown_at: deque[float] = deque(maxlen=240)
        self.engine: Loaded | None = None
        thread.loaded.connect(self._on_loaded)
        thread.woken.connect(self.on_woken)
        thread.answered.connect(self._on_answered)
        thread.progressed.connect(self._on_progressed)
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
    def modified(self) -> list[str]:
        """The workspaces with unsaved work, the shown one first."""
        names = [name for name, frame in self._newest.items() if frame.modified]
        return sorted(names, key=lambda name: name != self._workspace)

    @property
    def answered(self) -> bool:
        """Whether the last frame shows everything that was posted to the shown workspace."""
        newest = self.newest
        return newest is not None and newest.applied >= self._posted.get(self._workspace, 0)

    @property
    def frames_per_second(self) -> float:
        """Frames shown within the last second."""
        now = time.monotonic()
        return float(sum(now - shown <= 1.0 for shown in self._shown_at))

    def show(self, workspace: str) -> None:
        """Make a workspace the one that iterates; the one shown before pauses."""
        self._workspace = workspace
        self._thread.show(workspace)

    def post(self, command: Command, workspace: str = "") -> int:
        """Send a command to the shown workspace, or to another one."""
        workspace = workspace or self._workspace
        number = self._thread.post(workspace, command)
        self._posted[workspace] = number
        self.sent.emit(command, number)
        if command.undoable:
            self.posted.emit(command, number)
        return number

    def ask(
        self,
        request: Request[A],
        then: Callable[[A], object],
        refused: Callable[[str], object] | None = None,
        progress: Callable[[Any], object] | None = None,
    ) -> int:
        """Ask the engine; `then` gets the answer. A refusal goes to the message bar, or to `refused`."""
        number = self._thread.ask(self._workspace, request)
        self._open[number] = (then, refused)
        if progress is not None:
            self._progress[number] = progress
        return number

    def stop(self) -> bool:
        """End the engine's thread; False if it is still loading. Answers under way find nobody any more."""
        self._open.clear()
        self._progress.clear()
        return self._thread.stop()

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

    def _on_loaded(self, engine: Loaded) -> None:
        self.engine = engine
        self.loaded.emit(engine)

    def _on_answered(self, number: int, value: Any) -> None:
        then, _ = self._open.pop(number, (None, None))
        self._progress.pop(number, None)
        if then is not None:
            then(value)

    def _on_progressed(self, number: int, value: Any) -> None:
        if number in self._progress:
            self._progress[number](value)

    def _on_refused(self, number: int, sentence: str) -> None:
        _, refused = self._open.pop(number, (None, None))
        self._progress.pop(number, None)
        (refused or self.message.emit)(sentence)
