"""One small plot over iterations: a measure of all lanes, a line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QPointF, Signal

from mrfstudio.ui.plots.axes import next_end, roomy
from mrfstudio.ui.plots.content import Content, Crosshair, Paint, PlotLevel, PlotLine, PlotMark, Range
from mrfstudio.ui.plots.coordinates import SMALLEST
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.plots.series import AllSeries, Series
from mrfstudio.ui.widgets.lane_names import LETTERS, lane_colour


@dataclass(frozen=True)
class Measure:
    """What one plot shows."""

    name: str
    title: str
    unit: str
    help: str
    logarithmic: bool = False
    sign: float = 1.0
    start: Range | None = None
    """The range before anything is known; it only ever grows. Exponents of ten on a logarithmic axis."""


WHOLE = ("iteration", "step", "image")
"""Units of which there are no halves."""


def lane_paint(lane: int) -> Paint:
    """The colour of a lane, in any theme."""
    return lambda colours: lane_colour(lane, colours)


class CurvePlot(Plot):
    """One measure of all lanes, in each lane's colour and dashes. A click picks an iteration.

    Ranges grow in round steps and never shrink by themselves: nothing jumps while points arrive.
    """

    picked = Signal(int)
    along: ClassVar[str] = "iteration"
    """What the horizontal axis counts at first."""
    choices: ClassVar[tuple[str, ...]] = ("iteration", "second")

    def __init__(self, measure: Measure, crosshair: Crosshair | None = None) -> None:
        super().__init__(Content(measure.title, measure.unit, measure.help, self.along), crosshair)
        self.measure = measure
        self.series = AllSeries()
        self.iteration = 0
        self.end: float = next_end(0)
        """The right end of the horizontal axis."""
        self.range: Range | None = measure.start
        self.log_y, self.whole_numbers, self.units = measure.logarithmic, True, self.choices
        self.level: tuple[str, float] | None = None
        """A value to compare with, and what it is called: a dashed line across."""
        self.describe()

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        return any(len(series.known(self.measure.name)[0]) for series in self.series.lanes.values())

    def draw(self, series: AllSeries, iteration: int) -> None:
        """Show all lanes and mark an iteration."""
        self.series, self.iteration = series, iteration
        content = self.content
        content.lines = [line for lane, each in series.lanes.items() for line in self.lines_of(lane, each)]
        content.levels = [] if self.level is None or not self.has_data else [PlotLevel(*self.level)]
        content.present = self.counted(iteration)
        content.marks = [PlotMark(at, mark.words) for mark in self.marks() if (at := self.counted(mark.x)) is not None]
        self.grow()
        content.tell()

    def marks(self) -> list[PlotMark]:
        return self.series.marks

    def counted(self, iteration: float) -> float | None:
        """Where an iteration stands on the horizontal axis; None where that is not known."""
        if self.content.across == self.along:
            return float(iteration)
        series = next(iter(self.series.lanes.values()), None)
        if series is None or not len(series):
            return None
        at = np.interp(iteration, series.counted(self.along), series.counted(self.content.across))
        return float(at) if np.isfinite(at) else None

    def iteration_at(self, x: float) -> float | None:
        """The other way round: which iteration stands there."""
        if self.content.across == self.along:
            return x
        series = next(iter(self.series.lanes.values()), None)
        if series is None or not len(series):
            return None
        at = np.interp(x, series.counted(self.content.across), series.counted(self.along))
        return float(at) if np.isfinite(at) else None

    def lines_of(self, lane: int, series: Series) -> list[PlotLine]:
        """The lines of a lane: one, or with companions."""
        x, y = series.known(self.measure.name, self.content.across)
        title = f"{LETTERS[lane % len(LETTERS)]} {self.series.titles.get(lane, '')}".strip()
        sign, ends = self.measure.sign, series.ends(self.measure.name)
        low, high = ends if sign > 0 else (sign * ends[1], sign * ends[0])
        return [PlotLine(lane, title, x, y if sign == 1 else y * sign, lane_paint(lane), lane, ends=(low, high))]

    def grow(self) -> None:
        """Make room for all that is shown."""
        whole = self.whole_numbers
        for line in self.lines():
            low, high = self.upwards(np.array(line.extremes)).tolist()
            reach = float(line.x[-1])
            self.end = max(self.end, next_end(int(reach)) if whole else reach * 1.25 if reach > self.end else 0.0)
            self.range = roomy(self.range, low, high, whole=self.log_y)
        if self.level is not None and self.has_data:
            level = float(self.upwards(np.array([self.level[1]]))[0])
            self.range = roomy(self.range, level, level)
        if self.content.across == self.along:
            self.end = max(self.end, next_end(self.iteration))

    def set_level(self, level: tuple[str, float] | None) -> None:
        """Show a value across the plot, or none; the next `draw` makes room for it."""
        self.level = level

    def forget_range(self) -> None:
        """Let the axes shrink again."""
        self.end = next_end(0) if self.whole_numbers else 1e-6
        self.range = self.measure.start if self.log_y == self.measure.logarithmic else None

    def set_unit(self, unit: str) -> None:
        """Count iterations, or seconds of computing."""
        self.content.across = unit
        self.whole_numbers = unit in WHOLE
        self.zoom_x = self.zoom_y = None
        self.forget_range()
        self.end = next_end(0) if self.whole_numbers else 1e-6
        self.draw(self.series, self.iteration)

    def points(self, series: Series) -> tuple[np.ndarray, np.ndarray]:
        """Iterations and heights on the axis."""
        x, y = series.known(self.measure.name)
        y = y * self.measure.sign
        return x, np.log10(np.maximum(y, SMALLEST)) if self.log_y else y

    def whole_x(self) -> Range:
        if self.log_x:
            first = [float(line.x[line.x > 0][0]) for line in self.lines() if (line.x > 0).any()]
            return float(np.log10(min(first, default=1.0))), float(np.log10(max(self.end, 10.0)))
        return 0.0, float(self.end)

    def whole_y(self) -> Range:
        return self.range or (0.0, 1.0)

    # Hands ------------------------------------------------------------------------------------------------------------

    def on_click(self, point: QPointF) -> None:
        super().on_click(point)
        x = self.at(point)[0]
        iteration = self.iteration_at(min(max(10**x if self.log_x else x, 0.0), self.end))
        if iteration is not None:
            self.picked.emit(round(iteration))
