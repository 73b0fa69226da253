"""The real window, drawn nowhere, with its engine busy: what the measurements of the window share."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mrfstudio.places import HOME

SIDE = 100
SMALL = "grid-border-16"
STROKES = 150
BETWEEN = (0.008, 0.04)  # seconds between two segments of a stroke, at random: mice send them at 25 to 125 a second
BEAT = 0.002  # seconds between two beats that show whether the event loop is free
PATIENCE = 60.0


@dataclass
class Measured:
    """Seconds from a mouse event to the painted answer, and how long the event loop was not free."""

    answers: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    iterations: float = 0.0


class Heart:
    """A timer that beats every 2 ms; a late beat is time in which the window could not answer."""

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.gaps: list[float] = []
        self._last = 0.0
        self._timer = QTimer(interval=round(1e3 * BEAT))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self.gaps.clear()
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> list[float]:
        self._timer.stop()
        return self.gaps

    def _beat(self) -> None:
        now = time.perf_counter()
        self.gaps.append(max(0.0, now - self._last - BEAT))
        self._last = now


class BusyStudio:
    """The window with its engine busy, and a hand that paints."""

    def __init__(self, folder: Path) -> None:
        from mrfstudio.ui.window.app import Startup, make_app
        from mrfstudio.ui.window.settings import Settings

        self.app = make_app()
        self.start = Startup(self.app, settings=Settings(folder / "settings.ini"))
        self.window, self.controller = self.start.window, self.start.controller
        self.heart = Heart()
        self._rows = 0
        self.wait(lambda: self.controller.newest is not None and self.controller.engine is not None)
        self._keep_busy()

    def _keep_busy(self) -> None:
        import numpy as np

        from mrfstudio.engine.protocol.commands import Play, SetImage, SetLimits, SetSpeed

        observed = np.ones((SIDE, SIDE), np.uint8)
        observed[20, 20:80] = observed[80, 20:81] = observed[20:80, 20] = observed[20:80, 80] = 0
        for command in (SetImage(observed, name="square"), SetLimits(10_000, 0.0), SetSpeed(None), Play()):
            self.controller.post(command)
        self.use_model(SMALL)

    def other_models(self) -> list[str]:
        """Shipped grid models besides the small one, the largest first."""
        assert self.controller.engine is not None
        return [note.name for note in self.controller.engine.models if note.kind == "grid" and note.name != SMALL]

    def use_model(self, name: str) -> None:
        """Iterate with another model, and be past its first iterations."""
        from mrfstudio.engine.protocol.commands import SetModel

        self.controller.post(SetModel(0, name))
        self.wait(lambda: self.controller.answered and self.frame().lanes[0].model == name)
        first = self.frame().iteration
        self.wait(lambda: self.frame().shape == (SIDE, SIDE) and self.frame().iteration > first + 20)

    def frame(self) -> Any:
        assert self.controller.newest is not None
        return self.controller.newest

    def strokes(self) -> Measured:
        """Paint one long stroke, segment by segment, and time the answer to each."""
        from PySide6.QtCore import QCoreApplication, QEvent, Qt
        from PySide6.QtGui import QMouseEvent

        from mrfstudio.ui.workspaces.segment.view import SegmentView

        workspace = self.window.workspace
        assert isinstance(workspace, SegmentView)
        canvas = workspace.canvas
        left, plain = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        measured = Measured()
        posted: dict[int, float] = {}
        moved = 0.0

        def number(command: Any, at: int) -> None:
            posted[at] = moved

        def answered(frame: Any) -> None:
            shown = [at for at in posted if at <= frame.applied]
            if shown:
                canvas.repaint()  # at once, so that the time includes the painting
                now = time.perf_counter()
                measured.answers += [now - posted.pop(at) for at in shown]

        pauses = random.Random(0)
        shift, self._rows = self._rows, self._rows + 10
        self.live(0.1)  # frames that came while nobody looked
        first = self.frame().iteration
        self.controller.posted.connect(number)
        self.controller.frame.connect(answered)
        self.heart.start()
        began = time.perf_counter()
        for step in range(STROKES + 1):
            # A new pixel at each step, so that every segment changes something; the last event lets go.
            point = canvas.transform.to_widget(22.5 + step % 50, 25.5 + 2 * (step // 50) + shift)
            kind = QEvent.Type.MouseButtonPress if step == 0 else QEvent.Type.MouseMove
            kind = QEvent.Type.MouseButtonRelease if step == STROKES else kind
            moved = time.perf_counter()
            QCoreApplication.postEvent(canvas, QMouseEvent(kind, point, canvas.mapToGlobal(point), left, left, plain))
            self.live(pauses.uniform(*BETWEEN))
        self.wait(lambda: not posted)
        measured.gaps = list(self.heart.stop())
        measured.iterations = (self.frame().iteration - first) / (time.perf_counter() - began)
        self.controller.posted.disconnect(number)
        self.controller.frame.disconnect(answered)
        return measured

    def to_painted(self, act: Callable[[], Any], done: Callable[[], bool]) -> float:
        """Seconds from an act to the painted canvas of the frame with which it is done.

        The event loop runs as it does for a person: looking at every moment whether something has come would keep the
        engine's thread from the interpreter.
        """
        from PySide6.QtCore import QEventLoop, QTimer

        loop = QEventLoop()
        ended: list[float] = []

        def look(frame: Any) -> None:
            if not ended and done():
                canvas: Any = self.window.workspace.canvas
                canvas.repaint()
                ended.append(time.perf_counter())
                loop.quit()

        impatient = QTimer(singleShot=True, interval=round(1e3 * PATIENCE))
        impatient.timeout.connect(loop.quit)
        impatient.start()
        self.controller.frame.connect(look)
        began = time.perf_counter()
        act()
        loop.exec()
        self.controller.frame.disconnect(look)
        if not ended:
            raise RuntimeError(f"Nothing came within {PATIENCE:.0f} s.")
        return ended[0] - began

    def whole_answer(self, iterations: int) -> float:
        """Seconds from Restart to the painted picture of the last iteration."""
        from mrfstudio.engine.protocol.commands import Play, Restart

        def begin() -> None:
            self.controller.post(Restart())
            self.controller.post(Play())

        return self.to_painted(begin, lambda: self.controller.answered and self.frame().iteration >= iterations)

    def switch(self) -> float:
        """Seconds until another workspace shows its first frame."""
        from mrfstudio.engine.protocol.requests.converge import OpenGraph

        path = Path(self.start.settings.folder or tempfile.gettempdir(), "two.uai")
        path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n2 1 1 2\n", encoding="ascii")
        self.window.files.replace_by(OpenGraph(str(path), "two"))
        self.wait(lambda: self._shows("graph"))
        self.window.show_workspace("segment")
        self.wait(lambda: self._shows("segment"))
        path.unlink()
        seen = self.frame().serial

        def back() -> None:
            self.window.show_workspace("graph")
            self.window.show_workspace("segment")

        return seconds_to(back, lambda: self._shows("segment") and self.frame().serial > seen, self.turn)

    def _shows(self, workspace: str) -> bool:
        return self.controller.workspace == workspace and self.controller.newest is not None

    @contextmanager
    def train(self) -> Iterator[None]:
        """The workspace Train, with the run that Start begins there, past its first steps and its first answers."""
        from mrfstudio.ui.workspaces.train.view import TrainView

        self.window.show_workspace("train")
        train = self.window.workspace
        assert isinstance(train, TrainView)
        self.wait(train.bar.start_button.isEnabled)
        train.bar.start_button.click()
        self.wait(lambda: train.active is not None and train.active.step > 5 and bool(train.snapshots.steps))
        yield
        train.stop_training()
        self.wait(lambda: train.active is None)
        self.window.show_workspace("segment")

    def beats(self, seconds: float) -> list[float]:
        """Seconds by which beats of the event loop were late, over a while in which nobody touches the window."""
        self.heart.start()
        self.live(seconds)
        return list(self.heart.stop())

    def close(self) -> float:
        """Seconds until the window is gone and the engine's thread has ended."""
        self.window.files.discard()
        return seconds_to(self.window.close, lambda: not self.start.thread.alive, self.turn)

    def turn(self) -> None:
        self.app.processEvents()

    def live(self, seconds: float) -> None:
        """Let the event loop run as `exec` would, for a while."""
        from PySide6.QtCore import QEventLoop, QTimer

        loop = QEventLoop()
        QTimer.singleShot(round(1e3 * seconds), loop.quit)
        loop.exec()

    def wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > end:
                raise RuntimeError(f"The window did not answer within {PATIENCE:.0f} s.")
            self.live(0.01)


@contextmanager
def studio() -> Iterator[BusyStudio]:
    """The window on a folder of its own, closed in the end."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as folder:
        # Runs of its own: a measurement neither shows nor adds to what a person has trained.
        home, os.environ[HOME] = os.environ.get(HOME), folder
        opened = BusyStudio(Path(folder))
        try:
            yield opened
        finally:
            opened.window.files.discard()
            opened.window.close()
            opened.start.finish()
            os.environ.pop(HOME)
            if home is not None:
                os.environ[HOME] = home


def seconds_to(act: Callable[[], Any], done: Callable[[], bool], turn: Callable[[], None] = lambda: None) -> float:
    began = time.perf_counter()
    act()
    while not done():
        if time.perf_counter() - began > PATIENCE:
            raise RuntimeError(f"Nothing came within {PATIENCE:.0f} s.")
        turn()
        time.sleep(0.0005)
    return time.perf_counter() - began


def quantile(values: Sequence[float], part: float) -> float:
    return statistics.quantiles(values, n=1000, method="inclusive")[round(part * 1000) - 1]
