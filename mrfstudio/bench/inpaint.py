"""How soon is a face filled in in the window, after a stroke and from the beginning?"""

from __future__ import annotations

import statistics

from mrfstudio.bench.measure import Report
from mrfstudio.bench.studio import BusyStudio, studio
from mrfstudio.engine.protocol.commands import ClearLayer, Invert, Paint, Pause, Play, SetLimits, SetModel, SetSpeed

ITERATIONS = 50
REPEATS = 9
HALF = Paint("mask", 1, ((5.0, 2.0), (5.0, 26.0)), 5.0)
"""About half of a face of 28×20 pixels."""


def run() -> Report:
    """Every shipped model of faces, real window, drawn nowhere; times end when the canvas has been painted."""
    report = Report("a face in the Inpaint workspace, real window, drawn nowhere")
    with studio() as window:
        window.window.choose_workspace("inpaint")
        window.wait(lambda: window.controller.newest is not None and window.frame().workspace == "inpaint")
        for command in (SetLimits(ITERATIONS, 0.0), SetSpeed(None)):
            window.controller.post(command)
        for model in _models(window):
            window.controller.post(SetModel(0, model))
            for name, edit in (("half of the face hidden", HALF), ("all of it hidden", Invert("mask"))):
                window.controller.post(ClearLayer("mask"))
                window.controller.post(edit)
                window.wait(lambda: window.controller.answered and not window.frame().playing)
                whole = statistics.median(window.whole_answer(ITERATIONS) for _ in range(REPEATS))
                limit = 150.0 if edit is HALF else None
                report.add(f"{ITERATIONS} iterations, {name}, {model}", 1e3 * whole, "ms", most=limit)
        first = statistics.median(_first_answer(window) for _ in range(REPEATS))
        report.add("first picture after a stroke", 1e3 * first, "ms")
    return report.finish()


def _models(window: BusyStudio) -> list[str]:
    """Shipped models of pictures of the size that is shown, the one that is shown first."""
    assert window.controller.engine is not None
    notes = [note for note in window.controller.engine.models if note.kind == "grbm"]
    return [note.name for note in notes if note.shape == window.frame().shape]


def _first_answer(window: BusyStudio) -> float:
    """Seconds from a stroke to a painted picture with one more iteration."""
    window.controller.post(ClearLayer("mask"))
    window.controller.post(Pause())
    window.wait(lambda: window.controller.answered and not window.frame().playing)
    before = window.frame().iteration

    def begin() -> None:
        window.controller.post(HALF)
        window.controller.post(Play())

    return window.to_painted(begin, lambda: window.controller.answered and window.frame().iteration > before)
