"""How the label probabilities are spread over the pixels: certain pixels pile up at both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.frames import LaneFrame
from mrfstudio.ui.colours import Colours, colours_of, faded
from mrfstudio.ui.panels.legend import LABELS
from mrfstudio.ui.panels.probability_panel import ProbabilityPanel


class Histogram(ProbabilityPanel):
    """One row of bars for each label. Heights are square roots of shares, so that few undecided pixels are seen."""

    title, across = "marginals", "probability"

    def __init__(self, labels: Sequence[str] = LABELS, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.labels = tuple(labels)
        self.colour_of: Callable[[int, int, Colours], tuple[int, int, int]] | None = None
        """The colour of a label among so many; None takes the colours of labels."""
        self.shares: np.ndarray | None = None
        self.setAccessibleName("Histogram of marginals")
        self.setToolTip(
            "<b>Marginals</b><br>How many pixels give each label which probability, from 0 (left) to 1 (right). "
            "Bars are square roots of shares, so that few undecided pixels are seen."
        )

    def set_lane(self, lane: LaneFrame) -> None:
        """Show the `histogram` picture of a lane, if it has one."""
        shares = lane.pictures.get("histogram")
        if shares is not None:
            self.set_shares(shares)

    def set_shares(self, shares: np.ndarray | None) -> None:
        """(labels, bins): the share of pixels whose probability of a label falls into each bin."""
        self.shares = shares
        self.update()

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        if self.shares is None:
            painter.setPen(QColor(colours_of(self).muted))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, "no beliefs yet")
            return
        row = area.height() / len(self.shares)
        for label, shares in enumerate(self.shares):
            place = QRectF(area.left(), area.top() + row * label, area.width(), row)
            self._paint_row(painter, label, shares, place)

    def _paint_row(self, painter: QPainter, label: int, shares: np.ndarray, place: QRectF) -> None:
        colours, metrics = colours_of(self), self.fontMetrics()
        width, room = place.width() / len(shares), place.height() - 3
        if self.colour_of is not None and self.shares is not None:
            painter.setBrush(QColor(*self.colour_of(label, len(self.shares), colours)))
        else:
            painter.setBrush(QColor(colours.labels[label % len(colours.labels)]))
        painter.setPen(QPen(faded(colours.text, 0.35), 0))
        for index, height in enumerate(np.sqrt(np.clip(shares, 0, 1)).tolist()):
            if height > 0:
                tall = max(height * room, 1.0)
                painter.drawRect(QRectF(place.left() + index * width, place.bottom() - tall, width - 1, tall))
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.drawLine(place.bottomLeft(), place.bottomRight())
        if place.height() > metrics.height() * 0.9:
            name = self.labels[label] if label < len(self.labels) else str(label)
            where = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter
            # Bars in the middle reach up to the name in a low panel: they shine through, and the name stays readable.
            painter.fillRect(painter.boundingRect(place, where, name), faded(colours.surface, 0.75))
            painter.setPen(QColor(colours.muted))
            painter.drawText(place, where, name)
