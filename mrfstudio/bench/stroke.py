"""Does a stroke become a frame in time, and does anything ever make the window stutter?

The real window, drawn nowhere, is driven with mouse events while the engine iterates on a 100×100 grid; once alone and
once with a training job in a child process. Then the workspace Train is watched, at rest and with its plots and answers
moving. A second process measures the start: nothing is loaded before it.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer

from mrfstudio.bench.measure import Report
from mrfstudio.bench.studio import PATIENCE, SIDE, SMALL, BusyStudio, Heart, Measured, quantile, seconds_to, studio

WATCHED = 10.0
"""Seconds for which Train is watched: fifty looks at the run, and a few rounds of answers."""


def run() -> Report:
    """Strokes alone and beside a training, the start, closing, switching and cancelling."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    report = Report(f"a stroke on a {SIDE}×{SIDE} grid while the engine iterates, in the real window, drawn nowhere")
    _report_start(report)
    with studio() as window:
        alone = window.strokes()
        _report_strokes(report, "alone", alone)
        with _training() as job:
            _report_strokes(report, "beside a training", window.strokes())
            report.add(
                "cancelling the training",
                1e3 * seconds_to(job.cancel, lambda: job.poll() != "running"),
                "ms",
                most=100,
            )
        _report_plots(report, window)
        window.window.show_workspace("train")
        window.live(1.0)  # the first time it is shown, it is made
        _report_beats(report, "in Train, nothing runs", window)
        with window.train():
            _report_beats(report, "in Train, while it trains", window)
        for large in window.other_models()[:1]:
            window.use_model(large)
            slow = window.strokes()
            report.add(f"stroke to first changed frame, {large}, median", 1e3 * statistics.median(slow.answers), "ms")
            report.add(
                f"stroke to first changed frame, {large}, 95 %", 1e3 * quantile(slow.answers, 0.95), "ms", most=33
            )
            window.use_model(SMALL)
        report.add("switching to another workspace", 1e3 * window.switch(), "ms", most=100)
        report.add("closing while iterating", 1e3 * window.close(), "ms", most=100)
    return report.finish()


# The start ------------------------------------------------------------------------------------------------------------


def _report_start(report: Report) -> None:
    """A fresh interpreter opens the window; times count from before it was started.

    Modules are compiled before, as they are wherever the studio was installed by pip or started once.
    """
    command = [sys.executable, "-c", "from mrfstudio.bench.stroke import child; child()"]
    with tempfile.TemporaryDirectory() as folder:
        known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        known["PYTHONPYCACHEPREFIX"] = folder
        subprocess.run(command, capture_output=True, env=known, timeout=120)
        started = time.time()
        done = subprocess.run(command, capture_output=True, text=True, env=known, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"The window did not open in a child process:\n{done.stderr}")
    told = json.loads(done.stdout.splitlines()[-1])
    report.add("window visible after start", told["visible"] - started, "s", most=0.85)
    report.add("first picture segmented after start", told["segmented"] - started, "s", most=2.5)
    report.add("event loop blocked while torch loads, longest", 1e3 * told["longest"], "ms", most=150)
    report.add("event loop blocked while plots are loaded, longest", 1e3 * told["plotted"], "ms", most=150)


def child() -> None:
    """What the child does: open the window as `mrfstudio` does, and say when what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        from mrfstudio.ui.plots import loading
        from mrfstudio.ui.window.app import Startup, make_app
        from mrfstudio.ui.window.settings import Settings

        app = make_app()
        told: dict[str, float] = {}
        heart = Heart()
        start = Startup(app, settings=Settings(Path(folder, "settings.ini")))

        def painted() -> None:
            told["visible"] = time.time()
            heart.start()

        def shown(frame: Any) -> None:
            if frame.name and frame.iteration and not frame.playing and "segmented" not in told:
                told["segmented"] = time.time()
                told["longest"] = max(heart.gaps, default=0.0)
                heart.start()
                plots.start()

        def look() -> None:
            if loading.built():
                plots.stop()
                told["plotted"] = max(heart.gaps, default=0.0)
                start.window.files.discard()
                start.window.close()

        plots = QTimer(interval=20)
        plots.timeout.connect(look)
        start.window.first_painted.connect(painted)
        start.controller.frame.connect(shown)
        app.exec()
        start.finish()
        heart.stop()
        print(json.dumps(told))


# Strokes --------------------------------------------------------------------------------------------------------------


def _report_strokes(report: Report, when: str, measured: Measured) -> None:
    report.add(f"stroke to first changed frame, {when}, median", 1e3 * statistics.median(measured.answers), "ms")
    report.add(f"stroke to first changed frame, {when}, 95 %", 1e3 * quantile(measured.answers, 0.95), "ms", most=33)
    report.add(f"event loop blocked, {when}, 99 %", 1e3 * quantile(measured.gaps, 0.99), "ms", most=16)
    report.add(f"event loop blocked, {when}, longest", 1e3 * max(measured.gaps), "ms", most=150)
    report.add(f"iterations a second meanwhile, {when}", measured.iterations, "/s")


def _report_beats(report: Report, when: str, window: BusyStudio) -> None:
    gaps = window.beats(WATCHED)
    report.add(f"event loop blocked, {when}, 99 %", 1e3 * quantile(gaps, 0.99), "ms", most=16)
    report.add(f"event loop blocked, {when}, longest", 1e3 * max(gaps), "ms", most=150)


def _report_plots(report: Report, window: BusyStudio) -> None:
    """Twelve plots with axes, six lanes of ten thousand points each: all change 30 times a second, a mouse points."""
    from PySide6.QtWidgets import QGridLayout, QWidget

    from mrfstudio.engine.protocol.frames import Scalars
    from mrfstudio.ui.plots.content import Crosshair
    from mrfstudio.ui.plots.curve_plot import CurvePlot
    from mrfstudio.ui.plots.curves import MEASURES
    from mrfstudio.ui.plots.series import AllSeries, Series

    series, cross, holder = AllSeries(), Crosshair(), QWidget()
    for lane in range(6):
        series.lanes[lane], series.titles[lane] = Series(), f"lane {lane}"
        rows = ((i, 1 / i + 0.1 * math.sin(i * (lane + 1)) ** 2) for i in range(1, 10_001))
        series.lanes[lane].extend(Scalars(i, y, -y, y, y, y) for i, y in rows)
    plots = [CurvePlot(MEASURES[index % len(MEASURES)], cross) for index in range(12)]
    grid = QGridLayout(holder)
    for index, plot in enumerate(plots):
        grid.addWidget(plot, *divmod(index, 4))
    holder.resize(1280, 600)
    holder.show()
    count = 10_000

    def more() -> None:
        nonlocal count
        count += 1
        for each in series.lanes.values():
            each.extend([Scalars(count, 0.1, -0.1, 0.1, 0.1, 0.1)])
        for plot in plots:
            plot.draw(series, count)

    def point() -> None:
        cross.move(float(100 * time.perf_counter() % 10_000))

    timers = QTimer(interval=33), QTimer(interval=16)
    for timer, do in zip(timers, (more, point), strict=True):
        timer.timeout.connect(do)
        timer.start()
    _report_beats(report, "twelve plots of six lanes with 10,000 points", window)
    for timer in timers:
        timer.stop()
    holder.close()
    holder.deleteLater()


@contextmanager
def _training() -> Iterator[Any]:
    """A training job on one thread, past its imports and its first step."""
    from mrfstudio.engine.runtime.jobs import Job
    from mrfstudio.engine.training.command import train_command

    with tempfile.TemporaryDirectory() as folder:
        arguments = {
            "model_name": "grid",
            "data": "border",
            "out": str(Path(folder, "model.safetensors")),
            "clones": 16,
        }
        job = Job(train_command, arguments)
        try:
            end = time.monotonic() + PATIENCE
            while not job.messages() and job.poll() == "running" and time.monotonic() < end:
                time.sleep(0.05)
            if job.poll() != "running":
                raise RuntimeError(f"The training did not start: {job.error or list(job.log)}")
            yield job
        finally:
            job.close()
