"""Below the canvas: the curves of all lanes and the histogram of marginals."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from mrfstudio.engine.frames import Frame
from mrfstudio.ui.panels.curves import Curves
from mrfstudio.ui.panels.histogram import Histogram
from mrfstudio.ui.theme import px


class CurvesPanel(QWidget):
    """One row; everything in it keeps its place while frames arrive."""

    command = Signal(object)

    def __init__(self, labels: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.curves, self.histogram = Curves(), Histogram(labels)
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
