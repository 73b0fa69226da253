"""The real window with the real engine and no display, for commands that draw."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.errors import StudioError
from mrfstudio.ui.app import Start, make_app
from mrfstudio.ui.main_window import MainWindow
from mrfstudio.ui.settings import Settings

HOME = "MRFSTUDIO_HOME"
PATIENCE = 120.0
"""Seconds for one step: a busy machine may take long to load torch."""


@contextmanager
def headless_window(file: Path | None = None) -> Iterator[MainWindow]:
    """A window, on a file if one is given. What a person has set or trained is neither shown nor changed."""
    if QApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    app = make_app()
    with tempfile.TemporaryDirectory(prefix="mrfstudio-") as folder:
        home, os.environ[HOME] = os.environ.get(HOME), folder
        start = Start(app, file=file, settings=Settings(Path(folder, "settings.ini")))
        try:
            yield start.window
        finally:
            start.window.files.discard()
            start.window.close()
            start.finish()
            start.window.deleteLater()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            if home is None:
                del os.environ[HOME]
            else:
                os.environ[HOME] = home


def wait_until(ready: Callable[[], bool], messages: list[str], patience: float = PATIENCE) -> None:
    """Let the window live until `ready`; says what it last said if that takes too long."""
    end = time.monotonic() + patience
    while not ready():
        if time.monotonic() > end:
            raise StudioError(f"The window took longer than {patience:.0f} s. {' '.join(messages[-1:])}")
        QApplication.processEvents()
        time.sleep(0.002)
