"""Shares of probabilities: histograms of marginals, and whether answers come true as often as they say.

The marginals of a label, from 0 to 1, make one row of a histogram. Of all answers given with probability p, a share p
should come true: the points of a calibrated model lie on the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.frames import LaneFrame
from mrfstudio.ui.plots.content import Content, Dots, Note, Paint, PlotBars, PlotLine, PlotShapes, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.legend import LABELS

ROOM = 0.06
"""Part of a row above its tallest bar."""
NAMED = 0.62
"""Part of a row that its name may take: a name as high as the row would hide the bars."""
UNIT = np.array([0.0, 1.0])


def diagonal() -> PlotShapes:
    """Where two probabilities agree."""
    return PlotShapes(UNIT, UNIT, lambda colours: QColor(colours.outline), dashed=True)


class Histogram(Plot):
    """One row of bars for each label. Heights are square roots of shares, so that few undecided pixels are seen."""

    def __init__(self, labels: Sequence[str] = LABELS, parent: QWidget | None = None) -> None:
        content = Content("marginals", "", "", "probability", "share")
        content.help = (
            "How many pixels give each label which probability, from 0 (left) to 1 (right). "
            "Bars are square roots of shares, so that few undecided pixels are seen."
        )
        content.empty, content.legend = "no beliefs yet", False  # each row has its name
        super().__init__(content, None, parent)
        self.labels = tuple(labels)
        self.colour_of: Callable[[int, int, Colours], tuple[int, int, int]] | None = None
        """The colour of a label among so many; None takes the colours of labels."""
        self.shares: np.ndarray | None = None
        self.axes = (False, True)
        self.setAccessibleName("Histogram of marginals")

    def set_lane(self, lane: LaneFrame) -> None:
        """Show the `histogram` picture of a lane, if it has one."""
        shares = lane.pictures.get("histogram")
        if shares is not None:
            self.set_shares(shares)

    def set_shares(self, shares: np.ndarray | None) -> None:
        """(labels, bins): the share of pixels whose probability of a label falls into each bin."""
        self.shares = shares
        rows = () if shares is None else tuple(shares)
        self.content.bars = [self._row(label, row, len(rows)) for label, row in enumerate(rows)]
        names = [self.name_of(label) for label in range(len(rows))]
        self.content.notes = [Note(name, 0.5, len(rows) - label, room=NAMED) for label, name in enumerate(names)]
        self.content.tell()

    def name_of(self, label: int) -> str:
        return self.labels[label] if label < len(self.labels) else str(label)

    def _row(self, label: int, shares: np.ndarray, rows: int) -> PlotBars:
        edges = np.linspace(0, 1, len(shares) + 1)
        heights = np.sqrt(np.clip(shares, 0, 1)) * (1 - ROOM)
        return PlotBars(label, self.name_of(label), edges, heights, self._paint(label, rows), rows - 1 - label, shares)

    def _paint(self, label: int, rows: int) -> Paint:
        chosen = self.colour_of
        if chosen is not None:
            return lambda colours: QColor(*chosen(label, rows, colours))
        return lambda colours: QColor(colours.labels[label % len(colours.labels)])

    def whole_x(self) -> Range:
        return 0.0, 1.0

    def whole_y(self) -> Range:
        return 0.0, float(max(len(self.content.bars), 1))

    def sizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), px(self, 76))


class CalibrationPlot(Plot):
    """Predicted probability across, observed frequency up; larger dots stand for more answers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        content = Content("calibration", "", "", "predicted", "observed")
        content.help = (
            "Of all answers given with a probability (across), how many came true (up)? Dots on "
            "the line are honest; below it the model is too sure. Larger dots stand for more answers."
        )
        content.shapes = (diagonal(),)
        super().__init__(content, None, parent)
        self.points: np.ndarray | None = None
        """(bins, 3): predicted, observed, share."""
        self.axes, self.can_be_logarithmic = (False, True), False
        self.setAccessibleName("Calibration")

    def set_points(self, points: np.ndarray | None) -> None:
        self.points = points
        known = np.zeros((0, 3)) if points is None else points[np.isfinite(points[:, :2]).all(1)]

        def paint(colours: Colours) -> QColor:
            return QColor(colours.accent)

        x, y, share = known[:, 0], known[:, 1], known[:, 2]
        self.content.lines = [PlotLine(0, "observed", x, y, paint, smoothed=False)]
        self.content.dots = [Dots(0, "observed", x, y, paint, 4 + 10 * np.sqrt(share))]
        self.content.tell()

    def whole_x(self) -> Range:
        return -0.03, 1.03

    def whole_y(self) -> Range:
        return -0.03, 1.03

    def sizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), px(self, 76))
