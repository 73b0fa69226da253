"""Marginals of all lanes against those of a reference: what is exact lies on the diagonal."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.frames import Comparison
from mrfstudio.ui.plots.content import Content, Dots, Paint, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.plots.probabilities import diagonal
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.lane_names import LETTERS, lane_colour

DRAWN = 6000
"""Points of all lanes together that are drawn at most."""
MANY = 400
"""Points of a lane from which on they are small and see-through."""


class MarginalScatter(Plot):
    """A point for each probability: across the reference's, up the lane's, in the lane's colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        content = Content("marginals", "", "", "exact", "lane")
        content.help = (
            "A point for each probability of a node: across what the reference says, up what the "
            "lane says. Points on the diagonal agree."
        )
        content.empty = "nothing to compare with yet"
        content.shapes = (diagonal(),)
        super().__init__(content, None, parent)
        self.comparison: Comparison | None = None
        self.square = True
        self.setAccessibleName("Marginals of the lanes against the reference")

    def set_comparison(self, comparison: Comparison | None) -> None:
        self.comparison = comparison
        scores = () if comparison is None or comparison.marginals is None else comparison.scores
        clouds = {score.lane: self.points(score.lane) for score in scores}
        self.content.dots = [
            Dots(lane, LETTERS[lane], points[:, 0], points[:, 1], _paint(lane, len(points)), _size(len(points)))
            for lane, points in clouds.items()
            # The reference against itself is the diagonal.
            if len(points) and comparison is not None and lane != comparison.lane
        ]
        self.content.empty = "nothing to compare with yet" if comparison is None else comparison.text
        if comparison is not None:
            exact = comparison.reference == "exact"
            self.content.across = "exact" if exact else f"lane {LETTERS[comparison.lane or 0]}"
        self.content.tell()

    def points(self, lane: int) -> np.ndarray:
        """What is drawn of a lane, (n, 2) in [0, 1]: the reference's and its own probabilities."""
        found = self.comparison
        if found is None or found.marginals is None:
            return np.zeros((0, 2))
        own = next((score.marginals for score in found.scores if score.lane == lane), None)
        if own is None or len(own) != len(found.marginals):
            return np.zeros((0, 2))
        step = -(-len(own) * len(found.scores) // DRAWN) or 1
        return np.stack([found.marginals[::step], own[::step]], 1)

    def whole_x(self) -> Range:
        return 0.0, 1.0

    def whole_y(self) -> Range:
        return 0.0, 1.0

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 200))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 130), px(self, 120))


def _paint(lane: int, count: int) -> Paint:
    def paint(colours: Colours) -> QColor:
        colour = lane_colour(lane, colours)
        colour.setAlphaF(1.0 if count < MANY else 0.5)
        return colour

    return paint


def _size(count: int) -> float:
    return 5.0 if count < MANY else 3.5
