"""pyqtgraph takes half a second to import: the window loads it behind its first picture, everybody else at once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

from PySide6.QtCore import QTimer

NAME = "pyqtgraph"
DRAWS = "mrfstudio.ui.plots.drawing.body"
_deferred = False
_waiting: list[Callable[[], None]] = []


def defer() -> None:
    """From now on plots wait for `ready`, unless the library is there already."""
    global _deferred
    _deferred = NAME not in sys.modules


def load() -> None:
    """Import the library and what draws with it; on any thread, because no widgets are made."""
    importlib.import_module(DRAWS)


def ready() -> None:
    """It is there: build the plots that wait, on the window's thread.

    One in each round of the event loop: a dozen in one go would hold up the mouse for half a second.
    """
    global _deferred
    _deferred = False
    if _waiting:
        _waiting.pop(0)()
        QTimer.singleShot(0, ready)


def built() -> bool:
    """Whether no plot waits any more."""
    return not _deferred and not _waiting


def when_loaded(build: Callable[[], None]) -> None:
    """Call `build` as soon as plots can be built, which may be now."""
    if _deferred:
        _waiting.append(build)
    else:
        build()
