"""An engine and a session without torch, for tests of the thread, the controller and the window's shell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Catalogue
from mrfstudio.engine.protocol.commands import Command, Pause, Play, Step
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame, LaneFrame, Scalars
from mrfstudio.engine.protocol.requests import Background, NotYet, Request


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


@dataclass(frozen=True)
class Double(Request[int]):
    number: int


@dataclass(frozen=True)
class Refuse(Request[None]):
    """Answered with a sentence for a person."""


@dataclass(frozen=True)
class Crash(Request[None]):
    """Answered with a fault of the program."""


@dataclass(frozen=True)
class Behind(Request[int]):
    """An answer in the background that is not there before `gate` opens."""

    number: int


@dataclass(frozen=True)
class BehindRefuse(Request[None]):
    """Refused in the background."""


@dataclass(frozen=True)
class WaitForJob(Request[int]):
    looks: int


@dataclass(frozen=True)
class CountTo(Request[str]):
    number: int


class FakeEngine:
    """Loads at once, or when `release` is set."""

    def __init__(self, **session: Any) -> None:
        self.sessions: dict[str, FakeSession] = {}
        self.options = session
        self.release = threading.Event()
        self.release.set()
        self.gate = threading.Event()
        self.looks = 0
        self.warmed_by = ""
        self.asked_from: list[str] = []
        self.load_error: Exception | None = None

    def make(self) -> FakeEngine:
        """What importing torch takes the place of."""
        self.release.wait(10)
        if self.load_error is not None:
            raise self.load_error
        return self

    def warm_up(self) -> None:
        self.warmed_by = threading.current_thread().name

    def load(self) -> Loaded:
        return Loaded(Catalogue(), (), (), "fake device")

    def session(self, workspace: str) -> FakeSession:
        if workspace not in self.sessions:
            self.sessions[workspace] = FakeSession(workspace, **self.options)
        return self.sessions[workspace]

    def keep(self) -> list[Background[None]]:
        """There is nothing to lose."""
        return []

    @property
    def wait_to_keep(self) -> float | None:
        return None

    def close(self) -> None:
        """There is nothing to end."""

    def answer(self, workspace: str, request: Request[Any]) -> Any:
        self.asked_from.append(workspace)
        match request:
            case Double(number):
                return 2 * number
            case Refuse():
                return self.refuse()
            case Crash():
                raise ZeroDivisionError("a fault")
            case Behind(number):
                return Background(lambda: self.after_the_gate(number))
            case BehindRefuse():
                return Background(self.refuse)
            case WaitForJob(looks):
                return self.waits_for_a_job(looks)
            case CountTo(number):
                return self.count_to(number)
        raise AssertionError(request)

    def refuse(self) -> None:
        raise StudioError("The file is missing: choose another.")

    def after_the_gate(self, number: int) -> int:
        self.gate.wait(10)
        return number

    def waits_for_a_job(self, looks: int) -> Generator[object, None, int]:
        for _ in range(looks):
            self.looks += 1
            yield NotYet(0.02)
        return self.looks

    def count_to(self, number: int) -> Generator[int, None, str]:
        yield from range(number)
        return "done"
