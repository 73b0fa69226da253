"""Calibration: of all answers given with 70 %, do 70 % come true? Dots on the diagonal say yes."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.theme import px


class CalibrationPlot(QWidget):
    """Predicted probability across, observed frequency up; larger dots stand for more answers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points: np.ndarray | None = None
        """(bins, 3): predicted, observed, share."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Calibration")
        self.setToolTip(
            "<b>Calibration</b><br>Of all answers given with a probability (across), how many came true (up)? Dots on "
            "the line are honest; below it the model is too sure. Larger dots stand for more answers."
        )

    def set_points(self, points: np.ndarray | None) -> None:
        self.points = points
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 150), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), px(self, 90))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.text))
        painter.drawText(QPointF(px(self, 4), metrics.ascent() + px(self, 1)), "calibration")
        painter.setFont(self.font())
        top, bottom = round(metrics.height() * 1.5) + px(self, 2), metrics.height() + px(self, 3)
        area = QRectF(px(self, 4), top, self.width() - px(self, 8), max(self.height() - top - bottom, 1))
        painter.fillRect(area, QColor(colours.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours.outline), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QLineF(area.bottomLeft(), area.topRight()))
        if self.points is not None:
            self._paint_points(painter, area.adjusted(3, 3, -3, -3))
        painter.setPen(QColor(colours.muted))
        below = QRectF(area.left(), area.bottom() + px(self, 2), area.width(), metrics.height())
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, "0")
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, "predicted")
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, "1")

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
