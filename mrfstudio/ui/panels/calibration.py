"""Calibration: of all answers given with 70 %, do 70 % come true? Dots on the diagonal say yes."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.panels.probability_panel import ProbabilityPanel
from mrfstudio.ui.theme import px


class CalibrationPlot(ProbabilityPanel):
    """Predicted probability across, observed frequency up; larger dots stand for more answers."""

    title, across = "calibration", "predicted"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points: np.ndarray | None = None
        """(bins, 3): predicted, observed, share."""
        self.setAccessibleName("Calibration")
        self.setToolTip(
            "<b>Calibration</b><br>Of all answers given with a probability (across), how many came true (up)? Dots on "
            "the line are honest; below it the model is too sure. Larger dots stand for more answers."
        )

    def set_points(self, points: np.ndarray | None) -> None:
        self.points = points
        self.update()

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours_of(self).outline), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QLineF(area.bottomLeft(), area.topRight()))
        if self.points is not None:
            self._paint_points(painter, area.adjusted(3, 3, -3, -3))

    def _paint_points(self, painter: QPainter, area: QRectF) -> None:
        assert self.points is not None
        colours = colours_of(self)
        known = [row for row in self.points.tolist() if math.isfinite(row[0]) and math.isfinite(row[1])]
        places = [QPointF(area.left() + area.width() * x, area.bottom() - area.height() * y) for x, y, _ in known]
        painter.setPen(QPen(QColor(colours.accent), 1.5))
        painter.drawPolyline(QPolygonF(places))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.accent))
        for place, (_, _, share) in zip(places, known, strict=True):
            radius = px(self, 2) + px(self, 5) * math.sqrt(share)
            painter.drawEllipse(place, radius, radius)
