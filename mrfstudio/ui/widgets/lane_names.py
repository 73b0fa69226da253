"""How lanes are called and coloured, everywhere the same: a letter, a colour, a name."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.engine.protocol.catalogue import Entry
from mrfstudio.engine.protocol.frames import LaneFrame
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px

LETTERS = "ABCDEF"
SHOWN = 2  # parameters that fit beside an algorithm's name


def lane_colour(lane: int, colours: Colours) -> QColor:
    return QColor(colours.lanes[lane % len(colours.lanes)])


def lane_title(lane: LaneFrame, entries: Mapping[str, Entry]) -> str:
    """What a person called the lane, or its algorithm with what is not as usual: `alpha-bp, alpha 0.3`."""
    if lane.title:
        return lane.title
    entry = entries.get(lane.algorithm)
    if entry is None:
        return lane.algorithm
    unusual = [f for f in entry.fields if f.name in lane.parameters and lane.parameters[f.name] != f.default]
    values = [f"{f.name.replace('_', ' ')} {_value(lane.parameters[f.name])}" for f in unusual[:SHOWN]]
    return ", ".join([lane.algorithm, *values])


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class LaneChip(QWidget):
    """A square in the lane's colour with its letter."""

    def __init__(self, lane: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"Lane {LETTERS[lane]}")
        self.setToolTip(f"Lane {LETTERS[lane]}: its curves and points have this colour.")

    def sizeHint(self) -> QSize:
        return QSize(px(self, 22), px(self, 22))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = colours_of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(lane_colour(self.lane, colours))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours.surface))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, LETTERS[self.lane])
