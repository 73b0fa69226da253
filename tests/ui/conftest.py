"""Every test of the window must leave nothing behind: no thread, timer, process or widget, no warning in any log."""

from __future__ import annotations

import gc
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QMessageLogContext,
    QMetaObject,
    QObject,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import SignalBlocker
from shiboken6 import Shiboken, isValid

import mrfstudio.ui  # before the first call of Qt: see there
from mrfstudio.ui.style.theme import Theme
from tests.ui.helpers.processes import child_processes
from tests.ui.helpers.studio import Studio, shared_studio

assert mrfstudio.ui.__doc__

GRACE = 30.0  # seconds that threads and processes have to end after a test
GARBAGE = 100_000  # objects made since the last collection, after which another one is worth its time
PATIENCE = 120_000  # milliseconds to wait for what must come, also where ten others use the machine
# What Qt says about the platform that draws nowhere, and what no test can change.
PLATFORM_NOISE = re.compile(
    r"This plugin does not support|propagateSizeHints|Cannot open file .*fonts|Populating font family aliases|raise\(\)"
)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """No automatic collection during tests of the window, as in the window itself (`ui/window/garbage.py`).

    Where Python collects in the midst of a call that connects or disconnects a signal, an object of Qt that dies there
    waits for the lock which that call holds, for ever. Between tests nobody holds one.
    """
    if Path(__file__).parent not in item.path.parents:
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if gc.get_count()[0] > GARBAGE:
        gc.collect()
    if was_enabled:
        gc.enable()


class PatientBot(QtBot):
    """Waits longer than the five seconds that are usual: no test may fail because the machine is busy."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE) -> None:
        super().waitUntil(callback, timeout=max(timeout, PATIENCE))

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE, **more: Any) -> SignalBlocker:
        return super().waitSignal(signal, timeout=max(timeout, PATIENCE), **more)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(autouse=True)
def small_galleries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clones are measured on three pictures: a test need not see forty."""
    monkeypatch.setattr("mrfstudio.engine.workspaces.segment.service.GALLERY_IMAGES", 3)


@pytest.fixture(autouse=True)
def _nothing_left_behind(qapp: QApplication, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Compares the world before and after; runs after pytest-qt has closed the widgets it was given.

    A test that provokes warnings checks them and calls `caplog.clear()`.
    """
    threads, processes = _threads(), child_processes()
    widgets, timers = set(_top_level_widgets()), set(map(id, _active_timers()))
    said: list[str] = []

    def hear(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not PLATFORM_NOISE.search(message):
            said.append(message)

    before = qInstallMessageHandler(hear)
    try:
        yield
        _settle(lambda: set(_top_level_widgets()) <= widgets)
    finally:
        qInstallMessageHandler(before)
    left = [f"Qt said: {message}" for message in said]
    left += [f"a warning was logged: {line}" for line in _warnings(caplog)]
    left += [f"a widget is left: {widget!r}" for widget in set(_top_level_widgets()) - widgets]
    left += [f"a timer still runs: {timer!r}" for timer in _active_timers() if id(timer) not in timers]
    left += [f"Python holds a {name} that Qt made and deletes without a word" for name in _borrowed()]
    left += [f"a thread still runs: {name}" for name in _after_grace(lambda: _threads() - threads)]
    left += [f"a process still runs: {number}" for number in _after_grace(lambda: child_processes() - processes)]
    if left:
        pytest.fail("The test left something behind: " + "; ".join(left), pytrace=False)


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [record for when in ("setup", "call", "teardown") for record in caplog.get_records(when)]
    return [record.getMessage() for record in records if record.levelno >= logging.WARNING]


def _settle(done: Callable[[], bool]) -> None:
    """Delete what waits for deletion; only where that is not enough, break cycles, which takes longer."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    if not done():
        gc.collect()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _top_level_widgets() -> list[QWidget]:
    return [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]


def _active_timers() -> list[QTimer]:
    """Timers that run; none are looked for while another thread runs.

    `gc.get_objects` takes a reference to every object, also to a tuple that another thread is just filling; Python then
    refuses to resize it, and that thread dies of a SystemError.
    """
    if len(_threads()) > 1:
        return []
    return [each for each in gc.get_objects() if type(each) is QTimer and isValid(each) and each.isActive()]


def _borrowed() -> list[str]:
    """Kinds of objects that Qt made, owns and deletes without telling Python, such as the items of a layout.

    Python's object for one stays in shiboken's table when Qt deletes it. The next one that Qt deletes at that address
    is then released twice, into freed memory: the process dies at some later allocation. QObjects do tell.
    """
    held = [each for each in Shiboken.getAllValidWrappers() if not isinstance(each, QObject | QMetaObject)]
    return [
        type(each).__name__
        for each in held
        if isValid(each) and not Shiboken.ownedByPython(each) and not Shiboken.createdByPython(each)
    ]


def _threads() -> set[str]:
    # A dummy stands for a thread of Qt or torch that once ran Python; it never ends in the eyes of `threading`.
    real = (thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread))
    return {f"{thread.name} {thread.ident}" for thread in real}


def _after_grace(left: Callable[[], set]) -> set:
    end = time.monotonic() + GRACE
    while left() and time.monotonic() < end:
        time.sleep(0.01)
    return left()


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The studio's look on the whole application, taken back afterwards."""
    font, palette = qapp.font(), qapp.palette()
    result = Theme(qapp, "light")
    yield result
    result.set_mode("system")
    qapp.styleHints().colorSchemeChanged.disconnect(result._apply)
    result.deleteLater()
    qapp.setStyleSheet("")
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.fixture(scope="module")
def shared(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One window for most tests of a file: opening one takes longer than most of them."""
    with shared_studio(qapp, tmp_path_factory.mktemp("studio")) as studio:
        yield studio


@pytest.fixture
def studio(shared: Studio, qtbot: QtBot) -> Iterator[Studio]:
    """The shared window as at the first start."""
    shared.begin(qtbot)
    yield shared
    shared.tidy()
