"""The line between before and after: drawn over the picture, with a grip that the hand can drag, and a slider."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QWidget

from mrfstudio.ui.canvas.marks import two_tone
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px

GRIP = 11.0  # half the width of the grip, in logical pixels
WORDS = ("before", "after")


def grip_at(picture: QRectF, widget: QRectF, wipe: float) -> QPointF:
    """The tip of the grip: on the lower edge of the picture, or of the widget where that lies beyond it."""
    x = picture.left() + picture.width() * wipe
    bottom = min(picture.bottom(), widget.bottom() - 2 * GRIP)
    return QPointF(min(max(x, widget.left() + GRIP), widget.right() - GRIP), bottom)


def hits(picture: QRectF, widget: QRectF, wipe: float, point: QPointF) -> bool:
    """Whether a point lies on the grip. The line itself lets the brush through."""
    tip = grip_at(picture, widget, wipe)
    return QRectF(tip.x() - GRIP - 3, tip.y() - 2, 2 * GRIP + 6, 2 * GRIP + 6).contains(point)


def wipe_at(picture: QRectF, x: float) -> float:
    """The part of the picture left of a position of the widget, from 0 to 1."""
    return min(max((x - picture.left()) / max(picture.width(), 1.0), 0.0), 1.0)


def paint(
    painter: QPainter, picture: QRectF, widget: QRectF, wipe: float, colours: Colours, *, named: bool, lit: bool
) -> None:
    """Line and grip; `named` writes before and after beside it, `lit` while it is pointed at or dragged."""
    tip = grip_at(picture, widget, wipe)
    x = picture.left() + picture.width() * wipe
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if 0 < wipe < 1:
        for pen in two_tone():
            painter.setPen(pen)
            painter.drawLine(QPointF(x, max(picture.top(), widget.top())), QPointF(x, tip.y()))
    painter.setPen(QPen(QColor(colours.accent_text if lit else colours.outline), 1.5))
    painter.setBrush(QColor(colours.accent if lit else colours.surface))
    top = tip.y() + 1
    shape = [(0, 0), (GRIP, 7), (GRIP, 2 * GRIP - 1), (-GRIP, 2 * GRIP - 1), (-GRIP, 7)]
    painter.drawPolygon(QPolygonF([QPointF(tip.x() + dx, top + dy) for dx, dy in shape]))
    painter.setPen(QPen(QColor(colours.accent_text if lit else colours.text), 1.6))
    middle = top + GRIP + 3
    for side in (-1, 1):  # two small arrows: it moves sideways
        end = QPointF(tip.x() + side * 7, middle)
        painter.drawPolyline([end + QPointF(-side * 3.2, -3.2), end, end + QPointF(-side * 3.2, 3.2)])
    if named:
        _paint_words(painter, tip, colours)
    painter.restore()


def _paint_words(painter: QPainter, tip: QPointF, colours: Colours) -> None:
    metrics = QFontMetrics(painter.font())
    height, gap = metrics.height() + 4, GRIP + 6
    for word, side in zip(WORDS, (-1, 1), strict=True):
        width = metrics.horizontalAdvance(word) + 10
        left = tip.x() + gap if side > 0 else tip.x() - gap - width
        box = QRectF(left, tip.y() + GRIP - height / 2 + 2, width, height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.surface))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(QColor(colours.text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, word)


STEPS = 100
HELP = "<b>Wipe</b><br>How much of the picture, from the left, is shown as it was before. W goes to either end."


class WipeBar(QWidget):
    """One row; the canvas draws the line."""

    moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(10)
        self.slider.setAccessibleName("Wipe between after and before")
        self.slider.setToolTip(HELP)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.valueChanged.connect(lambda value: self.moved.emit(value / STEPS))
        row = QHBoxLayout(self)
        row.setContentsMargins(px(self, 8), 0, px(self, 8), 0)
        for word in ("after", "before"):
            label = QLabel(word)
            label.setProperty("role", "muted")
            label.setToolTip(HELP)
            row.addWidget(label)
            if word == "after":
                row.addWidget(self.slider, 1)

    def show_wipe(self, wipe: float) -> None:
        """Follow the canvas; nothing is emitted."""
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(wipe * STEPS))
