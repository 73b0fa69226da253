"""Does the window stay as it is when it is used for an hour? Random use in every workspace, memory and handles watched.

The real window, drawn nowhere, with a hand that paints and presses: strokes on whatever canvas is shown, actions,
other workspaces, examples, lanes, undo and redo. Memory is that of the process; its slope is taken after ten minutes,
or after half of a shorter run.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from mrfstudio.bench.measure import Report
from mrfstudio.bench.studio import BusyStudio, studio

MINUTES = 1.0
SETTLED = 10.0
"""Minutes after which caches are full."""
SAMPLE = 5.0
ACTIONS = (
    "undo", "redo", "play_pause", "step", "step_back", "restart", "next_example", "add_edges", "delete_contours",
    "thin", "clear_hints", "invert_mask", "hide_all", "clear_mask", "next_layer", "toggle_wipe", "next_picture",
    "zoom_in", "zoom_fit", "faster", "slower", "show_comparison", "show_messages", "show_clones", "show_units",
    "show_gallery", "to_start", "to_end", "copy_command",
)  # fmt: skip
"""Actions that open no dialog: what a person does without thinking."""


Sample = tuple[float, float, float, float]
"""Seconds since the beginning, MB, threads, handles."""


class Gaps:
    """How long the event loop was not free: counts by milliseconds, so that an hour of them takes no memory."""

    LONGEST = 10_000

    def __init__(self) -> None:
        import numpy as np

        self._counts = np.zeros(self.LONGEST + 1, np.int64)
        self.longest = 0.0

    def take(self, gaps: list[float]) -> None:
        """Count and forget some, in seconds."""
        for gap in gaps:
            self._counts[min(round(1e3 * gap), self.LONGEST)] += 1
            self.longest = max(self.longest, gap)
        gaps.clear()

    def quantile(self, part: float) -> float:
        """Seconds that so large a part of them does not exceed, to a millisecond."""
        below = self._counts.cumsum()
        return float((below < part * below[-1]).sum()) / 1e3


def run(minutes: float = MINUTES, first: int = 0) -> Report:
    """Use the window for so many minutes; `first` begins the random numbers."""
    report = Report("soak: the window after a while of random use")
    heard: list[str] = []
    rows: list[Sample] = []
    gaps = Gaps()
    with warnings.catch_warnings(), studio() as opened:
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *_, **__: heard.append(f"{category.__name__}: {message}")
        _use(opened, random.Random(first), 60 * minutes, rows, gaps)
        messages = list(opened.window.message_bar.text.text())
    for line in sorted(set(heard)):
        print(line, file=sys.stderr)
    _summed_up(report, rows, gaps, minutes)
    report.add("warnings", float(len(heard)), most=0.0)
    report.add("the last message's letters", float(len(messages)))
    return report.finish()


def _use(opened: BusyStudio, rng: random.Random, seconds: float, rows: list[Sample], gaps: Gaps) -> None:
    began = time.monotonic()
    due = began
    opened.heart.start()
    while (now := time.monotonic()) - began < seconds:
        if now >= due:
            due = now + SAMPLE
            rows.append((now - began, *_process()))
            gaps.take(opened.heart.gaps)
        chance = rng.random()
        if chance < 0.06:
            opened.window.choose_workspace(rng.choice([sign.name for sign in opened.window.signs]))
        elif chance < 0.55:
            _stroke(opened, rng)
        else:
            action = opened.window.actions_[rng.choice(ACTIONS)]
            if action.isEnabled() and action.isVisible():
                action.trigger()
        opened.live(rng.uniform(0.01, 0.08))
    rows.append((time.monotonic() - began, *_process()))
    gaps.take(opened.heart.gaps)


def _stroke(opened: BusyStudio, rng: random.Random) -> None:
    """Press, move a few times, release, anywhere on the canvas that is shown."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    canvas: Any = opened.window.workspace.canvas
    if not canvas.isVisible() or canvas.width() < 20:
        return
    at = [QPoint(rng.randrange(5, canvas.width() - 5), rng.randrange(5, canvas.height() - 5)) for _ in range(2)]
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(canvas, left, pos=at[0])
    for part in range(1, 6):
        QTest.mouseMove(canvas, at[0] + (at[1] - at[0]) * (part / 5))
        opened.live(0.01)
    QTest.mouseRelease(canvas, left, pos=at[1])


def _process() -> tuple[float, float, float]:
    """MB of memory, threads, open handles."""
    memory = 0.0
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                memory = int(line.split()[1]) / 1000
    handles = 0
    with suppress(OSError):
        handles = len(os.listdir("/proc/self/fd"))
    return memory, float(threading.active_count()), float(handles)


def _summed_up(report: Report, rows: list[Sample], gaps: Gaps, minutes: float) -> None:
    import numpy as np

    table = np.array(rows)
    from_then = min(60 * SETTLED, 30 * minutes)
    late = table[table[:, 0] >= from_then]
    slope = float(np.polyfit(late[:, 0] / 60, late[:, 1], 1)[0]) if len(late) > 2 else float("nan")
    bound = 1.0 if minutes > 2 * SETTLED else None  # a shorter run says nothing about an hour
    report.add("memory at the beginning", float(table[0, 1]), "MB")
    report.add("memory at the end", float(table[-1, 1]), "MB")
    report.add(f"more memory a minute, after {from_then / 60:.3g} minutes", slope, "MB", most=bound)
    report.add("threads at the end", float(table[-1, 2]))
    report.add("handles at the end minus those after that time", float(late[-1, 3] - late[0, 3]) if len(late) else 0.0)
    report.add("event loop not free, 99th percentile", 1e3 * gaps.quantile(0.99), "ms")
    report.add("event loop not free, longest", 1e3 * gaps.longest, "ms")
