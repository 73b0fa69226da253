"""How soon is a picture segmented in the window, how soon is each iteration in sight, and how soon does it settle?"""

from __future__ import annotations

import statistics

import numpy as np
from numpy.typing import NDArray

from mrfstudio.bench.measure import Report
from mrfstudio.bench.studio import BusyStudio, quantile, studio
from mrfstudio.engine.data.drawn.figure_drawing import any_kind, scene
from mrfstudio.engine.data.drawn.figures import DENSITY, labelled, seen_of
from mrfstudio.engine.data.pictures.border_noise import DELETION
from mrfstudio.engine.protocol.commands import Pause, Play, Restart, SetImage, SetLimits, SetModel, SetSpeed, Step

Picture = NDArray[np.uint8]
ITERATIONS = 15
REPEATS = 9
SETTLED = {64: 300, 128: 1000, 256: 3000}
"""Milliseconds within which a drawing settles, by the side of its canvas, on two cores."""
ANY_SIZE = "grid-any"
DRAWINGS = 3
LAST = 128
"""Iterations after which a drawing counts as settled although messages swing: what they swing about is held back."""
ENDED = ("converged", "settled", "iteration limit", "diverging")


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
        for side, limit in SETTLED.items():
            for name, deletion, density in (("clean", 0.0, 0.0), ("noisy", DELETION, DENSITY)):
                each = [settled(window, drawing(side, number, deletion, density)) for number in range(DRAWINGS)]
                what = f"{side}×{side}, settled, {ANY_SIZE}, {name}, median of {DRAWINGS}"
                report.add(what, 1e3 * statistics.median(each), "ms", most=limit)
    return report.finish()


def drawing(side: int, number: int, deletion: float, density: float) -> Picture:
    """A figure that fills half of a canvas, of one of many kinds."""
    draw = np.random.default_rng([side, number])
    found = scene(any_kind(draw), draw, float(draw.uniform(0.4, 0.8)) * side, side)
    return seen_of(labelled(found.figure), draw, deletion, density)


def settled(window: BusyStudio, observed: Picture) -> float:
    """Seconds from Restart to the painted picture of the iteration that has converged, or is the last of 128."""
    present(window, observed, ANY_SIZE, SetLimits(LAST, 1e-4))

    def begin() -> None:
        window.controller.post(Restart())
        window.controller.post(Play())

    return window.to_painted(begin, lambda: window.controller.answered and window.frame().lanes[0].status in ENDED)


def show(window: BusyStudio, side: int, model: str) -> None:
    """A square of contours of that size, and the model; paused at the first iteration."""
    observed = np.ones((side, side), np.uint8)
    low, high = side // 5, side - side // 5
    observed[low, low : high + 1] = observed[high, low : high + 1] = 0
    observed[low : high + 1, low] = observed[low : high + 1, high] = 0
    present(window, observed, model, SetLimits(ITERATIONS, 0.0))


def present(window: BusyStudio, observed: Picture, model: str, limits: SetLimits) -> None:
    """A picture and a model; paused at the first iteration."""
    for command in (Pause(), SetModel(0, model), SetImage(observed, name="drawing"), limits, SetSpeed(None), Restart()):
        window.controller.post(command)
    window.controller.post(Pause())
    window.wait(lambda: window.controller.answered and window.frame().shape == observed.shape)


def _one_iteration(window: BusyStudio) -> float:
    """Seconds from Step to the painted picture of the next iteration."""
    if window.frame().iteration >= ITERATIONS:
        window.controller.post(Restart())
        window.controller.post(Pause())
        window.wait(lambda: window.controller.answered and window.frame().iteration < ITERATIONS)
    before = window.frame().iteration
    return window.to_painted(lambda: window.controller.post(Step(1)), lambda: window.frame().iteration > before)
