"""Loss, validation, gradient norm and converged fraction over the steps of runs; marginals and calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QPainter, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from mrfstudio.engine.training_frames import Snapshot
from mrfstudio.ui.colours import colours_of, faded
from mrfstudio.ui.panels.axes import thinned
from mrfstudio.ui.panels.calibration import CalibrationPlot
from mrfstudio.ui.panels.histogram import Histogram
from mrfstudio.ui.panels.plot import CurvePlot, Measure
from mrfstudio.ui.panels.run_series import RunCurves, RunSeries
from mrfstudio.ui.theme import px

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
WORDS = {"nce": "NCE", "iou": "IoU", "nll": "NLL", "kl": "KL", "mae": "MAE", "rmse": "RMSE"}


class StepPlot(CurvePlot):
    """A plot over steps whose axis can be logarithmic; `raw` is drawn thin behind each line."""

    along = "step"

    def __init__(self, measure: Measure, raw: str = "", can_be_logarithmic: bool = False) -> None:
        super().__init__(measure)
        self.raw = raw
        self.log: QToolButton | None = None
        if can_be_logarithmic:
            self.log = QToolButton(self)
            self.log.setText("log")
            self.log.setProperty("role", "small")
            self.log.setCheckable(True)
            self.log.setChecked(measure.logarithmic)
            self.log.setToolTip(
                "Show powers of ten at equal distances: small values then change as visibly as large ones."
            )
            self.log.setAccessibleName(f"Logarithmic axis of {measure.title}")
            self.log.toggled.connect(self._set_logarithmic)

    def set_measure(self, measure: Measure) -> None:
        """Show another column."""
        if measure.name != self.measure.name or measure.unit != self.measure.unit:
            self.measure = replace(measure, logarithmic=self.measure.logarithmic if self.log else measure.logarithmic)
            self.forget_range()
            self.describe()

    def points(self, series: RunSeries, name: str = "") -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        x, y = series.known(name or self.measure.name)
        if not self.measure.logarithmic:
            return x, y
        positive = y > 0  # a loss may be negative, such as that of a density; on this axis it has no place
        return x[positive], np.log10(y[positive])

    def _set_logarithmic(self, on: bool) -> None:
        self.measure = replace(self.measure, logarithmic=on)
        self.forget_range()
        self.draw(self.series, self.iteration)

    def _paint_line(self, painter: QPainter, lane: int, series: RunSeries) -> None:  # type: ignore[override]
        if self.raw:
            self._paint_raw(painter, lane, series)
        super()._paint_line(painter, lane, series)  # type: ignore[arg-type]

    def _paint_raw(self, painter: QPainter, lane: int, series: RunSeries) -> None:
        x, y = self.points(series, self.raw)
        if not len(x):
            return
        area, colours = self.area(), colours_of(self)
        x, y = thinned(x, y, int(area.width()))
        low, high = self.range or (0.0, 1.0)
        across = area.left() + area.width() * x / self.end
        down = area.bottom() - area.height() * (y - low) / (high - low)
        polygon = QPolygonF([QPointF(a, b) for a, b in zip(across.tolist(), down.tolist(), strict=True)])
        painter.setPen(QPen(faded(colours.lanes[lane % len(colours.lanes)], 0.35), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(polygon)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_log()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._place_log()

    def heading_width(self) -> int:
        return self.width() if self.log is None else self.log.x() - px(self, 4)

    def _place_log(self) -> None:
        if self.log is not None:
            self.log.adjustSize()
            self.log.move(self.width() - self.log.width() - px(self, 2), 0)


class RunPlots(QWidget):
    """One row of plots; everything keeps its place while steps arrive. A click on a curve picks a step."""

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.curves = RunCurves()
        self.loss = StepPlot(LOSS, raw="loss", can_be_logarithmic=True)
        self.validation = [StepPlot(UNKNOWN), StepPlot(UNKNOWN)]
        self._expecting = False
        self.gradient = StepPlot(GRADIENT)
        self.converged = StepPlot(CONVERGED)
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
            plot.draw(self.curves, step)  # type: ignore[arg-type]
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
    unit = "bits" if name.startswith("nce_bits") else ""
    start = (0.0, 1.0) if name.startswith(LOWEST_ONE) else None
    help = "Measured on held-out items that training never sees."
    return Measure(VALIDATION + name, metric_words(name), unit, help, start=start)


def metric_words(name: str) -> str:
    """`iou_without_evidence` as a person reads it."""
    words = name.removesuffix("_bits").split("_")
    return " ".join(WORDS.get(word, word) for word in words)
