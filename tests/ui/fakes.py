"""A desk and a session without torch, for tests of the thread, the controller and the window's shell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from mrfstudio.engine.answers import Aside, Loaded, NotYet
from mrfstudio.engine.catalogue import Catalogue
from mrfstudio.engine.commands import Command, Pause, Play, Step
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.frames import Frame, LaneFrame, Scalars


class FakeSession:
    """Counts iterations; every `advance` makes as many as `per_advance`."""

    def __init__(self, workspace: str, per_advance: int = 3, seconds: float = 0.0) -> None:
        self.workspace, self.per_advance, self.seconds = workspace, per_advance, seconds
        self.applied: list[tuple[int, Command]] = []
        self.playing = False
        self.iteration = 0
        self.serial = 0
        self.threads: set[str] = set()
        self.fail_next = ""
        self.answer_first = False

    def apply(self, command: Command, number: int | None = None) -> None:
        self.threads.add(threading.current_thread().name)
        self.applied.append((number or 0, command))
        self.answer_first = command.undoable
        if isinstance(command, Play):
            self.playing = True
        elif isinstance(command, Pause):
            self.playing = False
        elif isinstance(command, Step):
            self.iteration += command.count

    def advance(self, budget: float, interrupted: Callable[[], bool] | None = None) -> Frame | None:
        if self.fail_next:
            text, self.fail_next = self.fail_next, ""
            raise RuntimeError(text)
        first = self.iteration
        if self.answer_first:  # an edit is shown before the next iteration
            self.answer_first = False
        elif self.playing:
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                if interrupted is not None and interrupted():
                    return None
                time.sleep(0.001)
            self.iteration += self.per_advance
        self.serial += 1
        scalars = tuple(Scalars(i + 1, 1 / (i + 1)) for i in range(first, self.iteration))
        lane = LaneFrame(0, "fake", "bp", self.iteration, "running", 0.1, {}, scalars)
        number = self.applied[-1][0] if self.applied else 0
        layers = {"observed": np.ones((4, 4), np.uint8)}
        whole = (0, 0, 4, 4)
        return Frame(self.serial, self.workspace, number, (4, 4), whole, layers, (lane,), iteration=self.iteration)

    @property
    def wait(self) -> float | None:
        return 0.0 if self.playing else None


class FakeDesk:
    """Loads at once, or when `release` is set."""

    def __init__(self, **session: Any) -> None:
        self.sessions: dict[str, FakeSession] = {}
        self.options = session
        self.release = threading.Event()
        self.release.set()
        self.gate = threading.Event()
        self.looks = 0
        self.warmed_by = ""
        self.settled: list[str] = []
        self.load_error: Exception | None = None

    def make(self) -> FakeDesk:
        """What importing torch takes the place of."""
        self.release.wait(10)
        if self.load_error is not None:
            raise self.load_error
        return self

    def settle(self, workspace: str) -> None:
        self.settled.append(workspace)

    def warm_up(self) -> None:
        self.warmed_by = threading.current_thread().name

    def load(self) -> Loaded:
        return Loaded(Catalogue(), (), (), "fake device")

    def session(self, workspace: str) -> FakeSession:
        if workspace not in self.sessions:
            self.sessions[workspace] = FakeSession(workspace, **self.options)
        return self.sessions[workspace]

    def keep(self) -> list[Aside]:
        """There is nothing to lose."""
        return []

    def close(self) -> None:
        """There is nothing to end."""

    def double(self, workspace: str, number: int) -> int:
        return 2 * number

    def refuse(self, workspace: str) -> None:
        raise StudioError("The file is missing: choose another.")

    def crash(self, workspace: str) -> None:
        raise ZeroDivisionError("a fault")

    def aside(self, workspace: str, number: int) -> Aside:
        """An answer that is not there before `gate` opens."""

        def work() -> int:
            self.gate.wait(10)
            return number

        return Aside(work)

    def aside_that_refuses(self, workspace: str) -> Aside:
        return Aside(lambda: self.refuse(workspace))

    def waits_for_a_job(self, workspace: str, looks: int) -> Generator[object, None, int]:
        for _ in range(looks):
            self.looks += 1
            yield NotYet(0.02)
        return self.looks

    def count_to(self, workspace: str, number: int) -> Generator[int, None, str]:
        yield from range(number)
        return "done"
