"""The engine's thread. torch is loaded, sessions are stepped and files are read in it; only this file knows of threads.

The window posts commands and asks questions; the thread answers with signals:

    loaded      the catalogue, the shipped models and the device, once torch is there
    woken       frames wait in the mailbox
    answered    (number, value) of a question
    progressed  (number, value) of a question that takes longer
    refused     (number, sentence): a command or question that a person can mend
    failed      (sentence): a fault of the program, already in the log; the thread goes on
    prepared    what `prepare` was given is done
    warm        all that is imported ahead of its need is there
"""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.protocol.commands import Command, Pause
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import Background, NotYet, Reply, Request
from mrfstudio.ui.engine.mailbox import CommandQueue, Mailbox, Posted, Question

BUDGET = 0.03
"""Seconds of iterations between two frames; whoever wants something interrupts them."""
STOP_WITHIN = 0.1
SWITCH = 0.001
"""Seconds that the thread may keep the interpreter from the window; Python's own 5 ms are a third of a frame."""
PAINTING = 0.2
"""Seconds after the last brush segment in which a stroke is taken to go on."""
LOAD_WITHIN = 2.0
"""Seconds that the first picture may take before the catalogue is loaded all the same."""
ANSWER = 0.01
"""Seconds of a long answer between two looks at the queue."""
NOBODY = 0
"""The number of a question that nobody asked."""
FRAME_TIME = 0.03
"""Seconds between two frames while nothing but iterations happen; what a person did is shown at once."""

log = logging.getLogger(__name__)


class Steppable(Protocol):
    """What the thread needs of a session."""

    def apply(self, command: Command, number: int | None = ...) -> Command | None: ...

    def advance(self, budget: float, interrupted: Callable[[], bool] | None = ...) -> Frame | None: ...

    @property
    def wait(self) -> float | None:
        """Seconds until the next iteration is due: 0 now, None never."""
        ...


class Engine(Protocol):
    """The engine as the thread sees it: everything behind it may import torch."""

    def load(self) -> Any: ...

    def warm_up(self) -> None:
        """Import what only later questions need, on another thread than theirs: they will not wait for it."""
        ...

    def session(self, workspace: str) -> Steppable: ...

    def answer(self, workspace: str, request: Request[Any]) -> Reply[Any]:
        """Answer a question that was asked while `workspace` was shown."""
        ...

    def keep(self) -> list[Background[None]]:
        """Keep what was done where a crash cannot reach it; returns what takes longer."""
        ...

    @property
    def wait_to_keep(self) -> float | None:
        """Seconds until `keep` is to be asked again though nothing happens; None: not before something does."""
        ...

    def close(self) -> None: ...


def _sooner(one: float | None, other: float | None) -> float | None:
    """The shorter of two waits; None is for ever."""
    return other if one is None else one if other is None else min(one, other)


class EngineThread(QObject):
    """Owns the thread, the queue and the mailbox. All public methods are called from the window's thread."""

    loaded = Signal(object)
    woken = Signal()
    answered = Signal(int, object)
    progressed = Signal(int, object)
    refused = Signal(int, str)
    failed = Signal(str)
    prepared = Signal()
    warm = Signal()

    def __init__(self, make_engine: Callable[[], Engine] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._make_engine = make_engine or _real_engine
        self._queue = CommandQueue()
        self._mailbox = Mailbox()
        self._changed = threading.Condition()
        self._stopping = False
        self._visible = ""
        self._broken: set[str] = set()
        self._woken_at = 0.0
        self._woken_for = -1
        self._unseen = False
        self._painted_at = 0.0
        self._tasks: deque[tuple[int, Generator[Any, None, Any]]] = deque()
        self._look_at = 0.0  # when the answers that wait for a job are looked at again
        self._beside: deque[tuple[int, Background[Any]]] = deque()
        self._helper: threading.Thread | None = None
        self._preparing: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Import torch, then work. After the first paint: loading libraries side by side makes Qt wait for its own."""
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._thread.start()

    def prepare(self, work: Callable[[], None]) -> None:
        """Do something beside the sessions once the first picture is there, such as loading a library of the window."""
        self._preparing = work

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def post(self, workspace: str, command: Command) -> int:
        """Queue a command; frames whose `applied` is at least the returned number show its effect."""
        with self._changed:
            number = self._queue.post(workspace, command)
            self._changed.notify()
            return number

    def ask(self, workspace: str, request: Request[Any]) -> int:
        """Queue a question; `answered` or `refused` comes with the returned number."""
        with self._changed:
            number = self._queue.ask(workspace, request)
            self._changed.notify()
            return number

    def show(self, workspace: str) -> None:
        """Step this workspace from now on; the others pause."""
        with self._changed:
            self._visible = workspace
            self._changed.notify()

    def take(self) -> list[Frame]:
        """The frames that wait."""
        with self._changed:
            return self._mailbox.take()

    def stop(self, timeout: float = STOP_WITHIN) -> bool:
        """End the thread after the iteration it is in; False if it has not ended within `timeout` seconds."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout)
            sys.setswitchinterval(self._interval)
        helper = self._helper
        if helper is not None and not self.alive:
            helper.join(timeout)
        return not self.alive and (helper is None or not helper.is_alive())

    # In the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            _preload_torch()
            engine = self._make_engine()
        except Exception as error:
            log.exception("The engine could not be loaded")
            self._emit(self.failed, f"The engine could not be loaded: {error}")
            return
        try:
            self._work(engine)
        finally:
            engine.close()

    def _work(self, engine: Engine) -> None:
        wait: float | None = 0.0
        load_by = time.monotonic() + LOAD_WITHIN
        while self._idle(wait):
            try:
                self._work_off(engine)
                wait = self._advance(engine)
                self._wake_late()
                self._beside.extend((NOBODY, work) for work in engine.keep())
                wait = _sooner(self._continue_task(wait), engine.wait_to_keep)
                # The first picture comes before the rest of the libraries is loaded.
                if load_by and (wait is None or time.monotonic() > load_by):
                    load_by = 0.0
                    self._emit(self.loaded, engine.load())
                    if self._preparing is not None:
                        self._beside.append((NOBODY, Background(self._prepare)))
                    self._beside.append((NOBODY, Background(lambda: self._warm_up(engine))))
            except Exception as error:  # never a silent death: whatever comes is logged and shown
                log.exception("The engine's thread met an unexpected error")
                self._emit(self.failed, f"Unexpected error: {error}")
                wait = None
        for _, task in self._tasks:
            task.close()  # ends the job it waits for

    def _idle(self, wait: float | None) -> bool:
        """Wait for something to do, at most `wait` seconds; False when the thread is to end."""
        with self._changed:
            beside = bool(self._beside) and self._helper is None
            if wait != 0 and not self._stopping and not len(self._queue) and not beside:
                self._changed.wait(min(wait or 3600.0, FRAME_TIME) if self._unseen else wait)
            return not self._stopping

    def _work_off(self, engine: Engine) -> None:
        """Apply everything that waits, in order."""
        while not self._stopping:
            with self._changed:
                item = self._queue.take()
            if item is None:
                return
            try:
                if isinstance(item, Posted):
                    self._broken.discard(item.workspace)
                    engine.session(item.workspace).apply(item.command, item.number)
                    if item.command.stroke is not None:
                        self._painted_at = time.monotonic()
                else:
                    self._answer(engine, item)
            except Exception as error:
                self._refuse(item.number, error)

    def _refuse(self, number: int, error: Exception) -> None:
        if isinstance(error, StudioError):
            self._emit(self.refused, number, str(error))
        else:
            log.error("Command or question %d failed", number, exc_info=error)
            self._emit(self.refused, number, f"Unexpected error, written to the log: {error}")

    def _answer(self, engine: Engine, item: Question) -> None:
        value = engine.answer(item.workspace, item.request)
        if isinstance(value, Generator):
            self._tasks.append((item.number, value))
        elif isinstance(value, Background):
            self._beside.append((item.number, value))
            self._start_beside()
        else:
            self._emit(self.answered, item.number, value)

    def _start_beside(self) -> None:
        """Have the next background answer computed, one at a time."""
        if self._helper is not None or not self._beside or self._stopping:
            return
        number, work = self._beside.popleft()
        self._helper = threading.Thread(target=self._work_beside, args=(number, work), name="background", daemon=True)
        self._helper.start()

    def _work_beside(self, number: int, background: Background[Any]) -> None:
        try:
            value = background.work()
            if number != NOBODY:
                self._emit(self.answered, number, value)
        except Exception as error:
            self._refuse(number, error)
        with self._changed:
            self._helper = None
            self._changed.notify()

    def _prepare(self) -> None:
        assert self._preparing is not None
        self._preparing()
        self._emit(self.prepared)

    def _warm_up(self, engine: Engine) -> None:
        engine.warm_up()
        self._emit(self.warm)

    def _continue_task(self, wait: float | None) -> float | None:
        """Go on with a long answer for a while; less long while a session iterates too. Returns the next wait."""
        self._start_beside()
        if not self._tasks:
            return wait
        if time.monotonic() < self._look_at:
            rest = self._look_at - time.monotonic()
            return rest if wait is None else min(wait, rest)
        number, task = self._tasks[0]
        until = time.monotonic() + (ANSWER / 2 if wait == 0 else ANSWER)
        try:
            while time.monotonic() < until and not self._stopping and not len(self._queue):
                progress = next(task)
                if isinstance(progress, NotYet):
                    self._tasks.rotate(-1)  # another answer need not wait for the same job
                    self._look_at = time.monotonic() + progress.seconds
                    break
                self._emit(self.progressed, number, progress)
        except StopIteration as end:
            self._tasks.popleft()
            self._emit(self.answered, number, end.value)
        except Exception as error:
            self._tasks.popleft()
            self._refuse(number, error)
        return 0.0

    def _advance(self, engine: Engine) -> float | None:
        """Step the visible workspace within the budget; returns the seconds until it wants to be stepped again."""
        workspace = self._visible
        if not workspace or workspace in self._broken:
            return None
        try:
            session = engine.session(workspace)
        except StudioError:  # nothing is open there; whoever posts a command is told
            return None
        try:
            # One iteration at a time while somebody paints: the next segment is near.
            budget = 0.0 if time.monotonic() < self._painted_at + PAINTING else BUDGET
            frame = session.advance(budget, lambda: self._stopping or len(self._queue) > 0)
        except Exception as error:
            self._give_up(workspace, session, error)
            return None
        if frame is not None:
            with self._changed:
                self._mailbox.put(frame)
            self._unseen = True
            # At once what somebody did, and the last picture of a run.
            if frame.applied != self._woken_for or session.wait is None:
                self._woken_for = frame.applied
                self._wake()
        return session.wait

    def _wake_late(self) -> None:
        """Tell the window of frames that only show more iterations, thirty times a second at most."""
        if self._unseen and time.monotonic() - self._woken_at >= FRAME_TIME:
            self._wake()

    def _wake(self) -> None:
        self._unseen = False
        self._woken_at = time.monotonic()
        self._emit(self.woken)

    def _give_up(self, workspace: str, session: Steppable, error: Exception) -> None:
        """A session that cannot step is left alone until the next command, or it would fail for ever."""
        self._broken.add(workspace)
        if not isinstance(error, StudioError):
            log.exception("The session of %s could not be stepped", workspace)
        self._emit(self.failed, str(error) if isinstance(error, StudioError) else f"Unexpected error: {error}")
        with suppress(Exception):
            session.apply(Pause())

    def _emit(self, signal: Any, *values: Any) -> None:
        # The window may have gone while a long call ran.
        with suppress(RuntimeError):
            if not self._stopping:
                signal.emit(*values)


def _real_engine() -> Engine:
    from mrfstudio.engine.session.recovery import RecoveryKeeper
    from mrfstudio.engine.workspaces.studio import Studio

    return Studio(keeper=RecoveryKeeper())


def _preload_torch() -> None:
    """Load torch's shared library outside the interpreter's lock.

    `import torch` holds that lock for the whole of `dlopen`, about 300 ms in which the window could not repaint. A
    foreign call through ctypes gives it up; the import then finds the library loaded.
    """
    if "torch" in sys.modules or sys.platform == "win32":
        return
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return
    folder = Path(spec.submodule_search_locations[0], "lib")
    ending = "dylib" if sys.platform == "darwin" else "so"
    with suppress(OSError, AttributeError):
        dlopen = ctypes.CDLL(None).dlopen
        dlopen.restype = ctypes.c_void_p
        dlopen.argtypes = (ctypes.c_char_p, ctypes.c_int)
        for name in ("libtorch_cpu", "libtorch"):
            dlopen(str(folder / f"{name}.{ending}").encode(), 2)  # 2 is RTLD_NOW on Linux and macOS
