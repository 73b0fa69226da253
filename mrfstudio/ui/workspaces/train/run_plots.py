"""Loss, validation, gradient norm and converged fraction over the steps of runs; marginals and calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from mrfstudio.engine.protocol.training import Snapshot
from mrfstudio.ui.plots.content import Crosshair, PlotLine
from mrfstudio.ui.plots.curve_plot import CurvePlot, Measure, lane_paint
from mrfstudio.ui.plots.probabilities import CalibrationPlot, Histogram
from mrfstudio.ui.style.colours import Colours, faded
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for
from mrfstudio.ui.workspaces.train.run_series import RunCurves, RunSeries, mean_and_range

VALIDATION = "validation/"
LOSS = Measure(
    "smoothed_loss",
    "loss",
    "",
    "What training makes smaller: of each batch (thin) and as a running mean over about fifty (thick).",
    logarithmic=True,
)
GRADIENT = Measure(
    "gradient_norm",
    "gradient",
    "",
    "The length of the gradient of each batch, before it is shortened, in powers of ten.",
    logarithmic=True,
)
CONVERGED = Measure(
    "converged",
    "converged",
    "",
    "How much of the inference had converged when it stopped: the share of variables, or of items, whose beliefs no "
    "longer changed. Falling means that couplings have grown too strong for so few iterations.",
    start=(0.0, 1.0),
)
UNKNOWN = Measure(
    VALIDATION,
    "validation",
    "",
    "What held-out items say appears here after the first validation; the plan says after how many steps that is.",
    start=(0.0, 1.0),
)
LOWEST_ONE = ("iou", "pixel_accuracy", "accuracy")
"""Metrics that lie between 0 and 1: their axis shows that from the start."""
WORDS = {"nce": "NCE", "iou": "IoU", "nll": "NLL", "kl": "KL", "mae": "MAE", "rmse": "RMSE", "pseudo": "pseudo NLL"}


class StepPlot(CurvePlot):
    """A plot over steps of runs; `raw` is drawn thin behind each line."""

    along = "step"
    choices = ("step", "second", "epoch", "image")

    def __init__(self, measure: Measure, crosshair: Crosshair | None = None, raw: str = "") -> None:
        super().__init__(measure, crosshair)
        self.raw = raw
        self._chosen: bool | None = None  # what a person chose for the heights

    def set_measure(self, measure: Measure) -> None:
        """Show another column."""
        if measure.name != self.measure.name or measure.unit != self.measure.unit:
            self.measure = measure
            content = self.content
            content.title, content.unit, content.help = measure.title, measure.unit, measure.help
            self.log_y = measure.logarithmic if self._chosen is None else self._chosen
            self.forget_range()
            self.describe()

    def set_logarithmic(self, *, x: bool | None = None, y: bool | None = None) -> None:
        self._chosen = self._chosen if y is None else y
        super().set_logarithmic(x=x, y=y)

    def points(self, series: RunSeries, name: str = "") -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """Steps and heights on the axis."""
        x, y = self._known(series, name or self.measure.name, "step")
        return x, np.log10(y) if self.log_y else y

    def _known(self, series: RunSeries, name: str, unit: str) -> tuple[np.ndarray, np.ndarray]:
        _, y = series.known(name)
        x = series.along(unit, name)
        # A loss may be negative, such as that of a density: on a logarithmic axis it has no place.
        placed = np.isfinite(x) & ((y > 0) | (not self.log_y))
        return x[placed], y[placed]

    def lines_of(self, lane: int, series: RunSeries) -> list[PlotLine]:  # type: ignore[override]
        title, unit = self.series.titles.get(lane, ""), self.content.across
        lines = [PlotLine(lane, title, *self._known(series, self.measure.name, unit), lane_paint(lane), lane)]
        if self.raw:

            def faint(colours: Colours) -> QColor:
                return faded(colours.lanes[lane % len(colours.lanes)], 0.35)

            x, y = self._known(series, self.raw, unit)
            lines.insert(0, PlotLine(lane, title, x, y, faint, width=1.0, named=False, smoothed=False))
        return lines

    def draw(self, series: RunCurves, iteration: int) -> None:  # type: ignore[override]
        """Show all runs, or means of those that differ only in their seed, and mark a step."""
        self.content.empty = f"No {self.content.across}s were noted."
        self._choose_axis(series)
        super().draw(series, iteration)  # type: ignore[arg-type]
        if any(len(group) > 1 for group in series.groups()):
            self.content.lines = [line for group in series.groups() for line in self._together(series, group)]
            self.content.tell()

    def _choose_axis(self, series: RunCurves) -> None:
        """Until a person chooses: no powers of ten where a value has no logarithm, such as the loss of a density."""
        known = (series.lanes[lane].known(self.measure.name)[1] for lane in series.lanes)
        fits = self.measure.logarithmic and all((y > 0).all() for y in known)
        if self._chosen is None and fits != self.log_y:
            self.log_y = fits
            self.zoom_x = self.zoom_y = None
            self.forget_range()

    def _together(self, series: RunCurves, group: list[int]) -> list[PlotLine]:
        if len(group) == 1:
            return self.lines_of(group[0], series.lanes[group[0]])
        lane, unit = group[0], self.content.across
        curves = [self._known(series.lanes[each], self.measure.name, unit) for each in group]
        x, mean, low, high = mean_and_range(curves)
        title = f"{series.titles[lane]}, mean of {len(group)} seeds"
        return [PlotLine(lane, title, x, mean, lane_paint(lane), lane, low=low, high=high)]

    def grow(self) -> None:
        """Batches stand out of a running mean: the range is that of the mean."""
        thin, self.content.lines = self.content.lines, [line for line in self.content.lines if line.named]
        super().grow()
        self.content.lines = thin


class RunPlots(QWidget):
    """One row of plots; everything keeps its place while steps arrive. A click on a curve picks a step."""

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.curves = RunCurves()
        cross = self.crosshair = Crosshair(self)
        self.loss = StepPlot(LOSS, cross, raw="loss")
        self.validation = [StepPlot(UNKNOWN, cross), StepPlot(UNKNOWN, cross)]
        self._expecting = False
        stands_for(self.loss, "energy")
        self.gradient = StepPlot(GRADIENT, cross)
        self.converged = StepPlot(CONVERGED, cross)
        self.histogram, self.calibration = Histogram(()), CalibrationPlot()
        self.empty = QLabel("Loss, validation and gradients appear here as soon as a run takes its first steps.")
        self.empty.setProperty("role", "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        row = QHBoxLayout(self)
        margin = px(self, 8)
        row.setContentsMargins(margin, 0, margin, margin)
        row.addWidget(self.empty, 1)
        for plot, stretch in zip(self._all(), (5, 4, 4, 4, 4, 3, 3), strict=True):
            row.addWidget(plot, stretch)
        for plot in self.step_plots():
            plot.picked.connect(self.picked)
        self.setAccessibleName("Curves of runs")
        self._show_what_is_there()

    def step_plots(self) -> list[StepPlot]:
        return [self.loss, *self.validation, self.gradient, self.converged]

    def _all(self) -> list[QWidget]:
        return [*self.step_plots(), self.histogram, self.calibration]

    def set_runs(self, curves: RunCurves, metrics: tuple[str, ...], unit: str = "", expecting: bool = False) -> None:
        """Other runs: draw these, with the first two of these metrics, the loss in this unit."""
        self.curves = curves
        self.set_metrics(metrics, unit, expecting)
        for plot in self.step_plots():
            plot.forget_range()
        self.draw(0)

    def set_metrics(self, metrics: tuple[str, ...], unit: str, expecting: bool = False) -> None:
        """The metrics of a run are known only after its first validation; one that is expected has its place before."""
        self._expecting = expecting and not metrics
        self.loss.set_measure(replace(LOSS, unit=unit))
        for index, plot in enumerate(self.validation):
            plot.setEnabled(index < len(metrics))
            plot.set_measure(_validation(metrics[index]) if index < len(metrics) else UNKNOWN)

    def draw(self, step: int) -> None:
        """Show what has arrived and mark a step."""
        each_batch = any(CONVERGED.name in series.names for series in self.curves.lanes.values())
        self.converged.set_measure(CONVERGED if each_batch else replace(CONVERGED, name=VALIDATION + CONVERGED.name))
        for plot in self.step_plots():
            plot.draw(self.curves, step)
        self._show_what_is_there()

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        """Marginals and calibration of a snapshot."""
        if snapshot is not None:
            self.histogram.labels = snapshot.labels
        self.histogram.set_shares(None if snapshot is None else snapshot.histogram)
        self.calibration.set_points(None if snapshot is None else snapshot.calibration)
        self._show_what_is_there()

    def _show_what_is_there(self) -> None:
        any_steps = any(len(series) for series in self.curves.lanes.values())
        for plot in (self.loss, self.gradient):
            plot.setVisible(any_steps)
        for plot in self.validation:
            plot.setVisible(any_steps and (self._expecting or (plot.isEnabled() and plot.has_data)))
        self.converged.setVisible(any_steps and self.converged.has_data)
        self.histogram.setVisible(self.histogram.shares is not None)
        self.calibration.setVisible(self.calibration.points is not None)
        self.empty.setVisible(all(widget.isHidden() for widget in self._all()))


def _validation(name: str) -> Measure:
    """A metric of the validation as a plot."""
    unit = "bits" if "bits" in name.split("_") else ""
    start = (0.0, 1.0) if name.startswith(LOWEST_ONE) else None
    help = "Measured on held-out items that training never sees."
    return Measure(VALIDATION + name, metric_words(name), unit, help, start=start)


def metric_words(name: str) -> str:
    """`iou_without_evidence` as a person reads it."""
    words = name.removesuffix("_bits").split("_")
    return " ".join(WORDS.get(word, word) for word in words)
