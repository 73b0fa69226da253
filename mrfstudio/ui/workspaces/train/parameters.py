"""Parameters of a run over time: the histogram of every tensor at every snapshot, and the norm of its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.requests.train import ReadParameters
from mrfstudio.engine.protocol.training import ParameterHistory, TensorHistory
from mrfstudio.ui.plots.content import Content, Crosshair, PlotPicture, PlotShapes, centres
from mrfstudio.ui.plots.curve_plot import WHOLE, Measure
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colormaps import colormap
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.train.run_plots import GRADIENT, StepPlot
from mrfstudio.ui.workspaces.train.run_series import RunCurves, RunSeries

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.train.view import TrainView

CELLS = 240
"""Columns of a picture; each shows the snapshot nearest to it."""
BY_TENSOR = "gradient/"
EMPTY = "How the parameters spread out appears here with the first snapshot of a run."
ROW = 150
"""Design pixels of a tensor, at least."""


class SpreadPlot(Plot):
    """The numbers of one tensor: steps across, values up, darker where more of them are; the median is a line."""

    def __init__(self, name: str, crosshair: Crosshair) -> None:
        content = Content(name.replace("_", " "), "", "", StepPlot.along, "value")
        content.help = (
            f"How the numbers of {name} spread out while it learns: each column is a histogram, darker where more of "
            "them are. The line is their median; 90 % lie between the dashed ones."
        )
        super().__init__(content, crosshair)
        self.tensor: TensorHistory | None = None
        self.series = RunSeries()
        self.units, self.whole_numbers = StepPlot.choices, True
        self.describe()

    def set_history(self, tensor: TensorHistory, series: RunSeries) -> None:
        """Show a tensor over the snapshots of the run whose curves these are."""
        self.tensor, self.series = tensor, series
        self._draw()

    def set_unit(self, unit: str) -> None:
        self.content.across, self.whole_numbers = unit, unit in WHOLE
        self.zoom_x = self.zoom_y = None
        self._draw()

    def _places(self, steps: np.ndarray) -> np.ndarray:
        """(n,): where steps (n,) stand on the axis; all begins at 0."""
        if self.content.across == StepPlot.along or not len(self.series):
            return steps.astype(float)
        known, counted = self.series.counted(StepPlot.along), self.series.counted(self.content.across)
        return np.interp(steps, np.insert(known, 0, 0.0), np.insert(counted, 0, 0.0))

    def _draw(self) -> None:
        tensor, content = self.tensor, self.content
        content.picture, content.shapes = None, ()
        places = np.zeros(0) if tensor is None else self._places(tensor.steps)
        if tensor is None or not np.isfinite(places).all():
            content.empty = f"This run has noted no {content.across}s."
        else:
            end = float(places[-1]) or 1.0
            between = (places[1:] + places[:-1]) / 2
            content.picture = self._picture(tensor, np.searchsorted(between, centres(0.0, end, CELLS)), end)
            content.shapes = [
                _lines(places, tensor.quantiles[:, index], dashed=index != 1)
                for index in range(tensor.quantiles.shape[1])
            ]
        content.tell()

    @staticmethod
    def _picture(tensor: TensorHistory, cells: np.ndarray, end: float) -> PlotPicture:
        most = float(tensor.shares.max()) or 1.0

        def colour(shares: np.ndarray, colours: Colours) -> np.ndarray:
            blues = colormap(f"diverging {colours.name}")[127::-1]  # from paper to blue
            # Square roots, as in other histograms: a few numbers far away are seen too.
            part = np.sqrt(np.clip(shares / most, 0, 1))
            return blues[np.round(part * (len(blues) - 1)).astype(np.intp)]

        def describe(row: int, column: int, share: float) -> str:
            step, low, high = tensor.steps[cells[column]], tensor.edges[row], tensor.edges[row + 1]
            return f"step {step:,}<br>{low:.4g} to {high:.4g}: <b>{share:.3%}</b> of {tensor.size:,} numbers"

        ends = float(tensor.edges[0]), float(tensor.edges[-1])
        return PlotPicture(tensor.shares[cells].T, (0.0, end), ends, colour, describe=describe)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 180), px(self, ROW))


def _lines(x: np.ndarray, y: np.ndarray, *, dashed: bool) -> PlotShapes:
    """A curve through x (n,), y (n,), as pairs of ends."""
    order = np.repeat(np.arange(len(x)), 2)[1:-1] if len(x) > 1 else np.zeros(0, dtype=int)

    def paint(colours: Colours) -> QColor:
        return QColor(colours.text)

    return PlotShapes(x[order], y[order], paint, 1.0 if dashed else 1.6, dashed)


class ParameterPlots(QScrollArea):
    """A row for each tensor: its histogram over time, and the norm of its gradient."""

    def __init__(self, crosshair: Crosshair | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.crosshair = crosshair or Crosshair(self)
        self.spreads: dict[str, SpreadPlot] = {}
        self.gradients: dict[str, StepPlot] = {}
        self.empty = QLabel(EMPTY, wordWrap=True)
        self.empty.setProperty("role", "muted")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.same = QLabel(wordWrap=True)
        self.same.setProperty("role", "muted")
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, px(self, 6), 0, 0)
        self._grid = QGridLayout()
        self._grid.setColumnStretch(0, 3)
        self._grid.setColumnStretch(1, 2)
        column.addWidget(self.empty, 1)
        column.addLayout(self._grid, 1)
        column.addWidget(self.same)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the plots in it take it
        self.setAccessibleName("Parameters of the run")

    def set_history(self, history: ParameterHistory, curves: RunCurves, shown: RunSeries) -> None:
        """Show the tensors of the run that is looked at, and the gradients of all runs that are drawn."""
        moving = [tensor for tensor in history.tensors if tensor.changes]
        names, same = [tensor.name for tensor in moving], [t.name for t in history.tensors if not t.changes]
        if names != list(self.spreads):
            self._build(names)
        for tensor in moving:
            self.spreads[tensor.name].set_history(tensor, shown)
        self.empty.setVisible(not names)
        self.same.setVisible(bool(names and same))
        self.same.setText(f"Not changed by this run: {', '.join(same)}.".replace("_", " "))
        self.draw(curves)

    def _build(self, names: list[str]) -> None:
        for old in (*self.spreads.values(), *self.gradients.values()):
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.spreads = {name: SpreadPlot(name, self.crosshair) for name in names}
        self.gradients = {name: StepPlot(_gradient_of(name), self.crosshair) for name in names}
        for row, name in enumerate(names):
            self._grid.addWidget(self.spreads[name], row, 0)
            self._grid.addWidget(self.gradients[name], row, 1)

    def draw(self, curves: RunCurves) -> None:
        """Show what has arrived; a tensor that is not trained has no gradient."""
        step = max((series.last_step for series in curves.lanes.values()), default=0)
        for name, plot in self.gradients.items():
            by_tensor = any(BY_TENSOR + name in series.names for series in curves.lanes.values())
            plot.set_measure(_gradient_of(name) if by_tensor or len(self.gradients) > 1 else GRADIENT)
            plot.draw(curves, step)
            plot.setVisible(plot.has_data)


def _gradient_of(name: str) -> Measure:
    words = name.replace("_", " ")
    help = f"The length of the gradient of {words} in each batch, before it is shortened, in powers of ten."
    return Measure(BY_TENSOR + name, f"gradient of {words}", "", help, logarithmic=True)


class ShownParameters(QObject):
    """Asks how the parameters of the run that is looked at have spread out, while somebody looks."""

    def __init__(self, workspace: TrainView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.plots = ParameterPlots()
        self._asking = False
        self._shown: tuple[str, tuple[int, ...]] = ("", ())
        workspace.tabs.currentChanged.connect(lambda _: self.refresh())
        workspace.shown_run.moved.connect(self.refresh)

    def refresh(self) -> None:
        """Draw what has arrived, and ask again where there are other snapshots; one question at a time."""
        workspace = self._workspace
        if workspace.tabs.currentWidget() is not self.plots:
            return
        run, wanted = workspace.shown_run.run, (workspace.shown_run.run, workspace.snapshots.steps)
        if not run or self._asking or wanted == self._shown:
            if not run:
                self._show(ParameterHistory())
            self.plots.draw(workspace.runs.curves())
            return
        self._asking = True

        def answered(history: ParameterHistory) -> None:
            self._asking, self._shown = False, wanted
            if workspace.shown_run.run == run:
                self._show(history)
            self.refresh()

        def refused(sentence: str) -> None:
            self._asking, self._shown = False, wanted
            workspace.controller.message.emit(sentence)
            self.refresh()

        workspace.controller.ask(ReadParameters(run), answered, refused)

    def _show(self, history: ParameterHistory) -> None:
        workspace = self._workspace
        series = workspace.series.get(workspace.shown_run.run, RunSeries())
        self.plots.set_history(history, workspace.runs.curves(), series)
