"""The real window without a display, and a saved session as an animation made in it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QSize
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.pages.run import CURVES, PageRun
from mrfstudio.ui.export.paper import Paper, save_figure
from mrfstudio.ui.export.pictures import ExportError
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.window.app import Startup, make_app
from mrfstudio.ui.window.main_window import MainWindow
from mrfstudio.ui.window.settings import Settings

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
        settings = Settings(Path(folder, "settings.ini"))
        settings.card_seen = True  # nobody is there to click it away
        start = Startup(app, file=file, settings=settings)
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


FILM_SIZE = (1280, 800)
FILM_PATIENCE = 3600.0
"""Seconds that a film may take: messages that were too large to store are computed again."""


@contextmanager
def window_on(session: Path) -> Iterator[tuple[MainWindow, list[str]]]:
    """The window on a session that it has opened, and what it says. Raises `StudioError`."""
    with headless_window(session) as window:
        window.resize(*FILM_SIZE)
        said: list[str] = []
        window.controller.message.connect(said.append)
        wait_until(lambda: bool(said) or window.files.path == session, said, FILM_PATIENCE)
        if window.files.path != session:
            raise StudioError(said[-1])
        wait_until(lambda: window.controller.answered or window.controller.newest is not None, said, FILM_PATIENCE)
        yield window, said


def film(session: Path, out: Path) -> None:
    """Draw the canvas of a session at every iteration, as the window would export it."""
    with window_on(session) as (window, said):
        recorder = window.workspace.recorder
        if recorder is None:
            raise StudioError(f"The workspace {window.workspace.title} has no canvas to film.")
        ended: list[str] = []
        recorder.finished.connect(ended.append)
        recorder.record(out)
        wait_until(lambda: bool(ended), said, FILM_PATIENCE)
        if not ended[-1]:
            raise StudioError(said[-1])


def draw_again(session: Path, out: Path, paper: Paper, plots: str, canvas: str, command: str) -> None:
    """The figure that *Export figure…* made of a session; words as in `recipe.py`. Raises `StudioError`."""
    from mrfstudio.ui.export.recipe import canvas_size, chosen

    size = canvas_size(canvas)
    with window_on(session) as (window, said):

        def there() -> bool:
            frame = window.controller.newest
            return frame is not None and frame.seeking is None and window.controller.answered

        wait_until(there, said, FILM_PATIENCE)
        if size is not None:
            _give_canvas(window, size)
        drawing = None if size is None else window.showing.canvas_on_paper()
        try:
            save_figure(chosen(window.showing.plots(hidden=True), plots), drawing, paper, out, command)
        except ExportError as error:
            raise StudioError(str(error)) from error


def _give_canvas(window: MainWindow, size: QSize) -> None:
    """Make the window as large as it must be for a canvas of this size."""
    for _ in range(3):
        drawing = window.workspace.canvas_drawing()
        if drawing is None or drawing.size == size:
            return
        window.resize(window.size() + size - drawing.size)
        for _ in range(3):  # layouts settle in steps
            QApplication.processEvents()


def draw_figure(run: PageRun, out: Path, paper: Paper, command: str) -> None:
    """The curves of a run for paper, without a window. Raises `StudioError`."""
    if QApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    make_app()
    try:
        save_figure(contents_of(run), None, paper, out, command)
    except ExportError as error:
        raise StudioError(str(error)) from error


def contents_of(run: PageRun) -> list[Content]:
    """A plot for each curve that the run has, with all its lanes; heights of residuals as powers of ten."""
    found = []
    x = np.array(run.iterations, dtype=np.float64)
    for name, (title, logarithmic) in CURVES.items():
        content = Content(f"log₁₀ {title}" if logarithmic else title, "", "", "iteration")
        lines = []
        for lane, each in enumerate(run.lanes):
            y = each.curves.get(name, np.full(len(x), np.nan))
            known = np.isfinite(y) & ((y > 0) | (not logarithmic))
            heights = np.log10(y[known]) if logarithmic else y[known]
            lines.append(PlotLine(lane, each.name, x[known], heights, lane_paint(lane), lane))
        content.lines = lines
        if content.anything:
            found.append(content)
    return found
