"""Work that can be given up on the way: an iteration that a stroke overtakes is begun anew with the stroke in it.

    with interruptible(lambda: bool(queue)):
        state = algorithm.step(model, evidence, state)     # may raise Interrupted

Steps have no side effects, so giving one up leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("asked", default=None)


class Interrupted(Exception):
    """The work was given up because something more urgent waits."""


@contextmanager
def interruptible(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `breathe` give up the work within as soon as `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def breathe() -> None:
    """A good place to give up: raises `Interrupted` if that was asked for. For steps and log Z, not for beliefs."""
    asked = _asked.get()
    if asked is not None and asked():
        raise Interrupted
