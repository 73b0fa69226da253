"""A small panel with a title above and probabilities from 0 to 1 across: what marginals and calibration share."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.theme import px


class ProbabilityPanel(QWidget):
    """Draws title, ground and axis; `paint_inside` draws what a kind of panel shows."""

    title: ClassVar[str]
    across: ClassVar[str]
    """What the axis counts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        raise NotImplementedError

    def sizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), px(self, 90))

    def area(self) -> QRectF:
        """Where the panel draws; the same margins as those of a curve, so that a row of them is level."""
        metrics = self.fontMetrics()
        top, bottom = round(metrics.height() * 1.5) + px(self, 2), metrics.height() + px(self, 3)
        return QRectF(px(self, 4), top, self.width() - px(self, 8), max(self.height() - top - bottom, 1))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics, area = colours_of(self), self.fontMetrics(), self.area()
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.text))
        painter.drawText(QPointF(px(self, 4), metrics.ascent() + px(self, 1)), self.title)
        painter.setFont(self.font())
        painter.fillRect(area, QColor(colours.surface))
        painter.save()
        self.paint_inside(painter, area)
        painter.restore()
        painter.setPen(QColor(colours.muted))
        below = QRectF(area.left(), area.bottom() + px(self, 2), area.width(), metrics.height())
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, "0")
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, self.across)
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, "1")
