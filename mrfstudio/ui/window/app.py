"""Opens the window: Qt first, torch behind it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QMessageLogContext, QtMsgType, Signal, qInstallMessageHandler
from PySide6.QtGui import QFileOpenEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from mrfstudio import __version__
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.engine.engine_thread import EngineThread
from mrfstudio.ui.plots import loading
from mrfstudio.ui.style.icons import tinted
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.window.display import has_display
from mrfstudio.ui.window.garbage import GarbageCollector
from mrfstudio.ui.window.settings import Settings

if TYPE_CHECKING:
    from mrfstudio.engine.protocol.requests import Request
    from mrfstudio.ui.window.main_window import MainWindow

log = logging.getLogger(__name__)
TOUR_FOLDER = "mrfstudio-tour"
LOADING_SECONDS = 30.0
"""How long the process waits, without a window, for a thread that was loading torch when the window was closed."""


def open_window(file: Path | None = None, shown: Request[str] | None = None) -> int:
    """Show the window until it is closed; returns the exit status. Without a display, render the tour instead."""
    if file is not None and not file.exists():
        raise StudioError(f"{file} does not exist: expected a session, picture, model or graph.")
    if not has_display():
        return _tour_instead()
    app = make_app()
    start = Startup(app, file=file, shown=shown)
    status = app.exec()
    start.finish()
    return status


class StudioApplication(QApplication):
    """Also hears of files that the system hands over: macOS does so for a double click, also while the window runs."""

    file_opened = Signal(Path)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(Path(event.file()))
            return True
        return super().event(event)


def make_app() -> QApplication:
    """The one QApplication, with names and icon."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    qInstallMessageHandler(_log_qt)
    app = StudioApplication(sys.argv[:1])
    app.setApplicationName("MRF Studio")
    app.setApplicationVersion(__version__)
    QGuiApplication.setDesktopFileName("mrfstudio")
    app.setWindowIcon(tinted("studio", "#0b5cad", "#0b5cad"))
    return app


class Startup:
    """Builds the window, shows it, and only then lets the engine's thread import torch."""

    def __init__(
        self,
        app: QApplication,
        *,
        file: Path | None = None,
        shown: Request[str] | None = None,
        settings: Settings | None = None,
        make_engine: Callable[[], Any] | None = None,
    ) -> None:
        self._collector = GarbageCollector()
        self._collector.start()  # first of all: nothing that is loaded and built from here on is garbage
        from mrfstudio.ui.window.main_window import MainWindow

        self.settings = settings or Settings()
        self.theme = Theme(app, self.settings.theme, self.settings.font_scale)
        self.thread = EngineThread(make_engine)
        loading.defer()  # before the first plot is made: the library takes half a second
        self.thread.prepare(loading.load)
        self.thread.prepared.connect(loading.ready)
        self.controller = Controller(self.thread)
        self.window: MainWindow = MainWindow(self.controller, self.settings, self.theme)
        self._hooks = ExceptionHooks(self.window)
        self._file, self._painted = file, False
        if isinstance(app, StudioApplication):
            app.file_opened.connect(self.open_file)
        self.window.first_painted.connect(lambda: self._after_first_paint(shown))
        self.window.show()

    def open_file(self, path: Path) -> None:
        """A file that the system hands over: what the window begins with, or opened in it."""
        if self._painted:
            self.window.files.open(path)
        else:
            self._file = path

    def _after_first_paint(self, shown: Request[str] | None) -> None:
        self._painted = True
        self.window.after_first_paint(self._file, shown)
        self.thread.warm.connect(self._collector.settle)
        self.controller.loaded.connect(lambda _: self.window.recovery_offer.look())
        self.thread.start()

    def finish(self) -> None:
        """After the window was closed: give the interpreter back, and wait for a thread that still loads."""
        self._hooks.remove()
        self._collector.stop()
        if not self.thread.stop(LOADING_SECONDS):
            log.error("The engine's thread did not end; leaving without it")
            logging.shutdown()
            os._exit(1)


class ExceptionHooks:
    """Uncaught exceptions of any thread go to the log and, once, into a dialog; Ctrl+C in the terminal ends."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._box: QMessageBox | None = None
        self._old = (sys.excepthook, threading.excepthook)
        sys.excepthook = self.on_exception
        threading.excepthook = lambda args: log.error(
            "Uncaught in thread %s",
            args.thread,
            exc_info=(args.exc_type, args.exc_value, args.exc_traceback),  # type: ignore[arg-type]
        )
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)

    def remove(self) -> None:
        sys.excepthook, threading.excepthook = self._old

    def on_exception(self, kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        """What Python calls for an exception that nobody caught, such as one in a slot."""
        log.critical("Uncaught", exc_info=(kind, value, trace))
        if self._box is not None:  # one dialog is enough; the log has the rest
            return
        self._box = QMessageBox(self._window)
        self._box.setIcon(QMessageBox.Icon.Warning)
        self._box.setWindowTitle("MRF Studio")
        self._box.setText("Something went wrong in the program. Your work is still there; save it to be safe.")
        self._box.setInformativeText(f"{kind.__name__}: {value}\n\nHelp → Open log folder has the details.")
        self._box.setDetailedText("".join(traceback.format_exception(kind, value, trace)))
        self._box.finished.connect(self._forget)
        self._box.open()

    def _forget(self) -> None:
        self._box = None


def _log_qt(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    """What Qt has to say goes into the log, not between the lines of a terminal."""
    if "propagateSizeHints" in message:  # said for every window by the platform that draws nowhere
        return
    level = {
        QtMsgType.QtDebugMsg: logging.DEBUG,
        QtMsgType.QtInfoMsg: logging.INFO,
        QtMsgType.QtWarningMsg: logging.WARNING,
    }.get(kind, logging.ERROR)
    log.log(level, "Qt: %s", message)


def _tour_instead() -> int:
    from mrfstudio.ui.export.tour import render

    folder = Path(TOUR_FOLDER).absolute()
    print("There is no display here, so the window is drawn into pictures instead.", file=sys.stderr)
    paths = render(folder)
    print(f"{len(paths)} pictures are in {folder}")
    return 0
