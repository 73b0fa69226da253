"""The log file: what happened, and where the program was when it crashed.

Two files in the system's folder for logs: `mrfstudio.log`, which rotates, and `crash.log`, into which faulthandler
writes the stack of every thread when the interpreter itself dies (a segmentation fault in Qt or torch).
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import logging.handlers
import platform
import sys
from pathlib import Path
from typing import TextIO

from mrfstudio import __version__
from mrfstudio.places import log_folder

LARGEST_FILE = 1_000_000  # bytes; with two older files the log never takes more than 3 MB
OLDER_FILES = 2
LINE = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
# Warnings of libraries belong into the log too, not between the lines of a command's output.
LOGGERS = ("mrfstudio", "py.warnings")

_crash_file: TextIO | None = None  # faulthandler needs an open file for as long as the program lives
_handlers: list[logging.Handler] = []
_said: set[str] = set()


class _Rotating(logging.handlers.RotatingFileHandler):
    """A rotating file that never disturbs the program."""

    def rotate(self, source: str, dest: str) -> None:
        # Windows refuses to rename the file while a second studio has it open: go on writing to it.
        with contextlib.suppress(OSError):
            super().rotate(source, dest)

    def handleError(self, record: logging.LogRecord) -> None:
        _say_once(f"The log file {self.baseFilename!r} cannot be written any more: {sys.exc_info()[1]}.")


def setup_logging(verbose: bool = False, folder: Path | None = None) -> Path | None:
    """Send log records and crash reports into files in `folder` (default: the system's place for logs).

    Returns the log file, or None when the folder cannot be written: then warnings go to standard error, which is
    said once, and the program goes on. `verbose` also shows every record on standard error.
    """
    folder = folder or log_folder()
    path: Path | None = folder / "mrfstudio.log"
    level = logging.DEBUG if verbose else logging.INFO
    handlers: list[logging.Handler] = []
    try:
        handlers.append(_open_files(folder))
    except OSError as error:
        path = None
        _crashes_to_stderr()
        _say_once(f"The log folder {str(folder)!r} cannot be written ({error.strerror}): warnings are shown here.")
    if (verbose or path is None) and sys.stderr is not None:
        shown = logging.StreamHandler(sys.stderr)
        shown.setLevel(level if verbose else logging.WARNING)
        handlers.append(shown)
    _install(handlers, level)
    versions = (__version__, platform.python_version(), platform.platform())
    logging.getLogger("mrfstudio").info("mrfstudio %s, Python %s, %s", *versions)
    return path


def _open_files(folder: Path) -> logging.Handler:
    folder.mkdir(parents=True, exist_ok=True)
    handler = _Rotating(
        folder / "mrfstudio.log", maxBytes=LARGEST_FILE, backupCount=OLDER_FILES, encoding="utf-8", errors="replace"
    )
    try:
        _crashes_to_file(folder / "crash.log")
    except OSError:
        handler.close()
        raise
    return handler


def _crashes_to_file(path: Path) -> None:
    global _crash_file
    if _crash_file is None and faulthandler.is_enabled():
        return  # a developer or a test runner asked for the reports elsewhere
    crash_file = path.open("a", encoding="utf-8")
    faulthandler.enable(crash_file)
    if _crash_file is not None:
        _crash_file.close()
    _crash_file = crash_file


def _crashes_to_stderr() -> None:
    # There may be no standard error with a file behind it: under pythonw, in a notebook.
    with contextlib.suppress(AttributeError, ValueError, RuntimeError, OSError):
        faulthandler.enable()


def _install(handlers: list[logging.Handler], level: int) -> None:
    """Put these in the place of an earlier call's handlers: calling twice must not write every line twice."""
    logging.captureWarnings(True)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        for old in _handlers:
            logger.removeHandler(old)
        for new in handlers:
            new.setFormatter(logging.Formatter(LINE))
            logger.addHandler(new)
    for old in _handlers:
        old.close()
    _handlers[:] = handlers


def _say_once(sentence: str) -> None:
    if sentence not in _said and sys.stderr is not None:
        _said.add(sentence)
        print(sentence, file=sys.stderr)
