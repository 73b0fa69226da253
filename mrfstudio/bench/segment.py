"""How soon is a picture segmented in the window, and how soon is each iteration in sight?"""

from __future__ import annotations

import statistics

import numpy as np

from mrfstudio.bench.measure import Report
from mrfstudio.bench.studio import BusyStudio, quantile, studio
from mrfstudio.engine.protocol.commands import Pause, Restart, SetImage, SetLimits, SetModel, SetSpeed, Step

ITERATIONS = 15
REPEATS = 9


def run() -> Report:
    """30×30 and 128×128 pixels, with every shipped grid model; times end when the canvas has been painted."""
    report = Report("pictures in the Segment workspace, real window, drawn nowhere")
    with studio() as window:
        for model in (*window.other_models(), "grid-border-16"):
            show(window, 30, model)
            whole = statistics.median(window.whole_answer(ITERATIONS) for _ in range(REPEATS))
            report.add(f"30×30, {ITERATIONS} iterations, {model}", 1e3 * whole, "ms", most=100)
            show(window, 128, model)
            each = [_one_iteration(window) for _ in range(2 * REPEATS)]
            report.add(f"128×128, one iteration in sight, {model}, median", 1e3 * statistics.median(each), "ms")
            report.add(f"128×128, one iteration in sight, {model}, 95 %", 1e3 * quantile(each, 0.95), "ms", most=100)
    return report.finish()


def show(window: BusyStudio, side: int, model: str) -> None:
    """A square of contours of that size, and the model; paused at the first iteration."""
    observed = np.ones((side, side), np.uint8)
    low, high = side // 5, side - side // 5
    observed[low, low : high + 1] = observed[high, low : high + 1] = 0
    observed[low : high + 1, low] = observed[low : high + 1, high] = 0
    for command in (
        Pause(),
        SetModel(0, model),
        SetImage(observed, name="square"),
        SetLimits(ITERATIONS, 0.0),
        SetSpeed(None),
        Restart(),
        Pause(),
    ):
        window.controller.post(command)
    window.wait(lambda: window.controller.answered and window.frame().shape == (side, side))


def _one_iteration(window: BusyStudio) -> float:
    """Seconds from Step to the painted picture of the next iteration."""
    if window.frame().iteration >= ITERATIONS:
        window.controller.post(Restart())
        window.controller.post(Pause())
        window.wait(lambda: window.controller.answered and window.frame().iteration < ITERATIONS)
    before = window.frame().iteration
    return window.to_painted(lambda: window.controller.post(Step(1)), lambda: window.frame().iteration > before)
