"""Residual, free energy, IoU and NCE over iterations, a line for each lane."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from mrfstudio.engine.protocol.commands import Scrub
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.plots.content import Crosshair
from mrfstudio.ui.plots.curve_plot import CurvePlot, Measure
from mrfstudio.ui.plots.probabilities import Histogram
from mrfstudio.ui.plots.series import AllSeries
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for

MEASURES = (
    Measure(
        "residual",
        "residual",
        "",
        "The largest change of a message in one iteration, as a probability; converged means below the tolerance.",
        logarithmic=True,
        start=(-5.0, 0.0),
    ),
    Measure("log_partition", "free energy", "nats", "Minus log Z as the algorithm estimates it.", sign=-1.0),
    Measure("iou", "IoU", "", "Overlap of what is inside with the truth: intersection over union.", start=(0.0, 1.0)),
    Measure(
        "nce_bits",
        "NCE",
        "bits",
        "How surprised the beliefs are by the truth, per pixel; lower is better.",
        start=(0.0, 1.0),
    ),
    Measure("mse", "MSE", "", "Mean squared error of the hidden pixels, grey levels from 0 to 1.", start=(0.0, 0.02)),
)
AGAINST_TRUTH = ("iou", "nce_bits", "mse")


class CurvePlots(QWidget):
    """A row of plots. Those that have nothing to show are left out; clicking one goes to that iteration."""

    command = Signal(object)

    def __init__(self, measures: Sequence[str] | None = None, parent: QWidget | None = None) -> None:
        """All measures, or those of these names."""
        super().__init__(parent)
        self.series = AllSeries()
        self._serial = 0
        wanted = (measure for measure in MEASURES if measures is None or measure.name in measures)
        self.crosshair = Crosshair(self)
        self.plots = {measure.name: CurvePlot(measure, self.crosshair) for measure in wanted}
        for name, symbol in (("log_partition", "energy"), ("residual", "message")):
            if name in self.plots:
                stands_for(self.plots[name], symbol)
        self.empty = QLabel("Curves appear here as soon as inference runs.")
        self.empty.setProperty("role", "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(px(self, 4), 0, px(self, 4), 0)
        row.addWidget(self.empty, 1)
        for plot in self.plots.values():
            row.addWidget(plot, 1)
            plot.picked.connect(lambda iteration: self.command.emit(Scrub(iteration)))
            plot.hide()
        self.setAccessibleName("Curves")

    def set_frame(self, frame: Frame) -> None:
        """Add every scalar of a frame and mark the present iteration."""
        if frame.serial < self._serial:  # frames of a session are numbered: this is another one
            self.series.clear()
        self._serial = frame.serial
        before = set(self.series.lanes)
        self.series.take(frame)
        again = frame.cut is not None and frame.cut <= 0
        if again or before != set(self.series.lanes):
            for plot in self.plots.values():
                plot.forget_range()
        log_z = None if frame.comparison is None else frame.comparison.log_partition
        if "log_partition" in self.plots:
            self.plots["log_partition"].set_level(None if log_z is None else ("exact", -log_z))
        for plot in self.plots.values():
            plot.draw(self.series, frame.iteration)
        self._show_what_is_there(truth="observed" not in frame.layers or "truth" in frame.layers)

    def clear(self) -> None:
        """Another session: forget everything."""
        self._serial = 0
        self.series.clear()
        for plot in self.plots.values():
            plot.forget_range()
            plot.draw(self.series, 0)
        self._show_what_is_there()

    def to_csv(self) -> str:
        """All numbers as a table."""
        return self.series.to_csv()

    def _show_what_is_there(self, truth: bool = True) -> None:
        """`truth` is whether the picture has one to compare with, or may get one."""
        # A plot that had data stays until the session changes: its place must not come and go with a restart.
        for plot in self.plots.values():
            if plot.has_data:
                plot.show()
            elif not self.series.lanes or (plot.measure.name in AGAINST_TRUTH and not truth):
                plot.hide()
        self.empty.setVisible(all(plot.isHidden() for plot in self.plots.values()))


class CurvesPanel(QWidget):
    """Below a canvas, in one row: the curves of all lanes and the histogram of marginals.

    Everything in it keeps its place while frames arrive.
    """

    command = Signal(object)

    def __init__(self, labels: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.curves, self.histogram = CurvePlots(), Histogram(labels)
        self.curves.command.connect(self.command)
        row = QHBoxLayout(self)
        margin = px(self, 8)
        row.setContentsMargins(margin, 0, margin, margin)
        row.addWidget(self.curves, 4)
        row.addWidget(self.histogram, 1)

    def set_frame(self, frame: Frame) -> None:
        self.curves.set_frame(frame)
        if frame.lanes:
            self.histogram.set_lane(frame.lanes[0])

    def to_csv(self) -> str:
        return self.curves.to_csv()
