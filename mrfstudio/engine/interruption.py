"""Work that can be interrupted: a stroke does not wait for the end of an iteration.

    with interruptible(lambda: bool(queue)):
        state = algorithm.step(model, evidence, state)     # may raise Interrupted

Steps have no side effects, so an interrupted one leaves nothing behind. A kernel whose steps take long remembers how
far it was, and goes on from there when it is asked for the same step again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], bool] | None] = ContextVar("asked", default=None)


class Interrupted(Exception):
    """The work stopped on its way because something more urgent waits."""


@contextmanager
def interruptible(asked: Callable[[], bool]) -> Iterator[None]:
    """Let `breathe` stop the work within as soon as `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def breathe() -> None:
    """A good place to stop: raises `Interrupted` if that was asked for. For steps and log Z, not for beliefs."""
    asked = _asked.get()
    if asked is not None and asked():
        raise Interrupted
