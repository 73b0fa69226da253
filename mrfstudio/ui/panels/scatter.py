"""Marginals of all lanes against those of a reference: what is exact lies on the diagonal."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.engine.frames import Comparison
from mrfstudio.ui.colours import colours_of, faded
from mrfstudio.ui.panels.lane_names import LETTERS, lane_colour
from mrfstudio.ui.theme import px

DRAWN = 6000
"""Points of all lanes together that are drawn at most: a redraw stays below ten milliseconds."""


class MarginalScatter(QWidget):
    """A point for each probability: across the reference's, up the lane's, in the lane's colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.comparison: Comparison | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Marginals of the lanes against the reference")
        self.setToolTip(
            "<b>marginals</b><br>A point for each probability of a node: across what the reference says, up what the "
            "lane says. Points on the diagonal agree."
        )

    def set_comparison(self, comparison: Comparison | None) -> None:
        self.comparison = comparison
        self.update()

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

    # Geometry ---------------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 200))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 170), px(self, 180))

    def area(self) -> QRectF:
        """A square as large as there is room for."""
        metrics = self.fontMetrics()
        left, top = metrics.horizontalAdvance("0.5") + px(self, 10), round(metrics.height() * 1.5) + px(self, 2)
        bottom = metrics.height() * 1.1 + px(self, 3)
        side = max(min(self.width() - left - px(self, 10), self.height() - top - bottom), 1)
        return QRectF(left + (self.width() - left - px(self, 10) - side) / 2, top, side, side)

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours, area, found = colours_of(self), self.area(), self.comparison
        painter.fillRect(area, QColor(colours.surface))
        self._heading(painter)
        if found is None or found.marginals is None:
            painter.setPen(QColor(colours.muted))
            room = QRectF(px(self, 4), area.top(), self.width() - px(self, 8), area.height())
            words = "nothing to compare with yet" if found is None else found.text
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, words)
            return
        self._axes(painter, area, found)
        painter.setClipRect(area.adjusted(-3, -3, 3, 3))
        for score in found.scores:
            if score.lane != found.lane:  # the reference against itself is the diagonal
                self._cloud(painter, score.lane, area)

    def _axes(self, painter: QPainter, area: QRectF, found: Comparison) -> None:
        colours, metrics = colours_of(self), self.fontMetrics()
        painter.setPen(QPen(faded(colours.outline, 0.28), 1))
        painter.drawRect(area)
        middle = area.center()
        painter.drawLine(QLineF(area.left(), middle.y(), area.right(), middle.y()))
        painter.drawLine(QLineF(middle.x(), area.top(), middle.x(), area.bottom()))
        painter.setPen(QPen(QColor(colours.outline), 1, Qt.PenStyle.DashLine))
        painter.drawLine(area.bottomLeft(), area.topRight())
        painter.setPen(QColor(colours.muted))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for value in (0.0, 0.5, 1.0):
            y = area.bottom() - area.height() * value
            box = QRectF(0, y - metrics.height() / 2, area.left() - px(self, 4), metrics.height())
            painter.drawText(box, right, f"{value:g}")
        below = QRectF(area.left(), area.bottom() + px(self, 2), area.width(), metrics.height())
        name = "exact" if found.reference == "exact" else f"lane {LETTERS[found.lane or 0]}"
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, name)
        if area.width() > 2 * metrics.horizontalAdvance(name):
            painter.drawText(below, Qt.AlignmentFlag.AlignLeft, "0")
            painter.drawText(below, Qt.AlignmentFlag.AlignRight, "1")

    def _cloud(self, painter: QPainter, lane: int, area: QRectF) -> None:
        points = self.points(lane)
        if not len(points):
            return
        across = area.left() + area.width() * points[:, 0]
        up = area.bottom() - area.height() * points[:, 1]
        # Several points on one pixel are one.
        pixels = np.unique(np.rint(np.stack([across, up], 1) * 2), axis=0) / 2
        polygon = QPolygonF([QPointF(x, y) for x, y in pixels.tolist()])
        colour = lane_colour(lane, colours_of(self))
        colour.setAlphaF(0.85 if len(pixels) < 400 else 0.5)
        size = px(self, 4.5 if len(pixels) < 400 else 3)
        painter.setPen(QPen(colour, size, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawPoints(polygon)

    def _heading(self, painter: QPainter) -> None:
        colours, metrics = colours_of(self), self.fontMetrics()
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.text))
        x, baseline = float(px(self, 4)), float(metrics.ascent() + px(self, 1))
        painter.drawText(QPointF(x, baseline), "marginals")
        x += painter.fontMetrics().horizontalAdvance("marginals") + px(self, 7)
        found = self.comparison
        for score in () if found is None else found.scores:
            if score.marginals is not None and found is not None and score.lane != found.lane:
                painter.setPen(lane_colour(score.lane, colours))
                painter.drawText(QPointF(x, baseline), LETTERS[score.lane])
                x += painter.fontMetrics().horizontalAdvance(LETTERS[score.lane]) + px(self, 3)
        painter.setFont(self.font())
