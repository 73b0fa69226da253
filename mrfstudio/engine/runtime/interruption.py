"""Work that can be interrupted: a stroke does not wait for the end of an iteration.

    with interruptible(lambda: bool(queue)):
        state = algorithm.step(model, evidence, state)     # may raise Interrupted

Steps have no side effects, so an interrupted one leaves nothing behind. A kernel whose steps take long says with the
exception how far it was: `Interrupted.state` is the state it was given with the work done so far in `partial`. A step
from that state, with the same model and evidence, goes on from there and ends with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("asked", default=None)
_told: ContextVar[Callable[[float], None] | None] = ContextVar("told", default=None)


class Interrupted(Exception):
    """The work stopped on its way because something more urgent waits. `state`: where to go on from, if anywhere."""

    def __init__(self, state: Any = None) -> None:
        super().__init__()
        self.state = state


@contextmanager
def interruptible(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `stop_if_interrupted` stop the work within as soon as `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def ending(over: Callable[[], bool], problem: type[Exception]) -> Iterator[None]:
    """Let `stop_if_interrupted` also raise `problem` as soon as `over()` is true; interrupting stays possible."""
    outer = _asked.get()

    def asked() -> bool:
        if over():
            raise problem
        return outer is not None and outer()

    with interruptible(asked):
        yield


def stop_if_interrupted() -> None:
    """Raises `Interrupted` if that was asked for. For steps and log Z, not for beliefs."""
    if asked_to_stop():
        raise Interrupted


def asked_to_stop() -> bool:
    """Whether `stop_if_interrupted` would stop: for work that first has to gather what it has done."""
    asked = _asked.get()
    return asked is not None and asked()


@contextmanager
def followed(told: Callable[[float], None]) -> Iterator[None]:
    """Let `told` hear from the work within what part of it is done, from 0 to 1; by raising it ends that work."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def tell(part: float) -> None:
    """What part of the work is done, for whoever follows it."""
    told = _told.get()
    if told is not None:
        told(part)
