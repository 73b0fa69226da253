"""What is believed of one pixel of a grey picture: its histogram, mean and deviation, and what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.plots.content import Content, PlotBars, PlotMark, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import faded
from mrfstudio.ui.style.theme import px

EMPTY = "Point at a pixel to see what the model believes there. A click with the Inspect tool (I) keeps it."
WHITE = 255


class PixelInspector(QWidget):
    """Shows the `details` of a lane. It keeps its size, so that nothing moves while the pointer does."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(wordWrap=True)
        self.given, self.believed = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.histogram = PixelHistogram()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.heading, self.histogram, self.believed, self.given):
            column.addWidget(widget)
        self.set_details({})

    def set_details(self, details: Mapping[str, object]) -> None:
        """`pixel`, `mean`, `deviation`, `histogram`, `unknown`, `strength`, `picture`, `truth`; {} shows nothing."""
        pixel = details.get("pixel")
        if not isinstance(pixel, tuple):
            self.heading.setText(EMPTY)
            self.believed.setText("")
            self.given.setText("")
            self.histogram.show_shares((), None, None)
            return
        mean, deviation = _level(details["mean"]), _level(details["deviation"])
        truth = details.get("truth")
        self.heading.setText(f"<b>Pixel</b> row {pixel[0]}, column {pixel[1]}")
        self.believed.setText(f"Mean {mean:.0f}, deviation {deviation:.1f} grey levels")
        self.given.setText(_given(details))
        shares = details["histogram"]
        assert isinstance(shares, Sequence)
        self.histogram.show_shares(shares, mean, None if truth is None else _level(truth))


class PixelHistogram(Plot):
    """Bars over the grey scale, a line at the mean and a mark at the original."""

    def __init__(self, parent: QWidget | None = None) -> None:
        content = Content("", "", "", "grey level", "probability")
        content.help = (
            "How probable each part of the grey scale is at this pixel, from black to white. The line is the mean, the "
            "triangle the original."
        )
        content.legend = False
        super().__init__(content, None, parent)
        self.axes = (False, True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Histogram of a pixel")
        self.setWhatsThis(f"<b>Histogram</b><br>{content.help}")

    def show_shares(self, shares: Sequence[float], mean: float | None, truth: float | None) -> None:
        """Probabilities of equal parts of the scale; mean and truth in grey levels from 0 to 255."""
        edges = np.linspace(0, WHITE, len(shares) + 1)
        content, heights = self.content, np.asarray(shares, np.float64)
        content.bars = [PlotBars(0, "probability", edges, heights, lambda colours: faded(colours.accent, 0.75))]
        content.present = mean
        content.marks = [] if truth is None else [PlotMark(truth, f"original {truth:.0f}")]
        described = "" if mean is None else f"Mean {mean:.0f}" + ("" if truth is None else f", original {truth:.0f}")
        self.setAccessibleDescription(described)
        content.tell()

    def whole_x(self) -> Range:
        return 0.0, float(WHITE)

    def whole_y(self) -> Range:
        return 0.0, 1.08 * max((float(bars.heights.max(initial=0.0)) for bars in self.content.bars), default=0.0) or 1.0

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 90) + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())


def _level(fraction: object) -> float:
    assert isinstance(fraction, float | int)
    return float(fraction) * WHITE


def _given(details: Mapping[str, object]) -> str:
    """What the person said about the pixel, and the truth."""
    picture, strength = _level(details["picture"]), details["strength"]
    assert isinstance(strength, float)
    if details["unknown"]:
        truth = details.get("truth")
        return "Unknown" if truth is None else f"Unknown; the original has {_level(truth):.0f}"
    if strength < 1:
        return f"Doubtful: {picture:.0f}, trusted by {strength:.0%}"
    return f"Known: {picture:.0f}"
