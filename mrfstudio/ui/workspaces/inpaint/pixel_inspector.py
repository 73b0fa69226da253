"""What is believed of one pixel of a grey picture: its histogram, mean and deviation, and what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.style.colours import colours_of, faded
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


class PixelHistogram(QWidget):
    """Bars over the grey scale, a line at the mean and a mark at the truth."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shares: tuple[float, ...] = ()
        self.mean: float | None = None
        self.truth: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Histogram of a pixel")
        self.setToolTip(
            "<b>Histogram</b><br>How probable each part of the grey scale is at this pixel, from black to white. "
            "The line is the mean, the triangle the original."
        )

    def show_shares(self, shares: Sequence[float], mean: float | None, truth: float | None) -> None:
        """Probabilities of equal parts of the scale; mean and truth in grey levels from 0 to 255."""
        self.shares, self.mean, self.truth = tuple(shares), mean, truth
        described = "" if mean is None else f"Mean {mean:.0f}" + ("" if truth is None else f", original {truth:.0f}")
        self.setAccessibleDescription(described)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 78) + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        area = QRectF(
            px(self, 3), px(self, 8), self.width() - px(self, 6), self.height() - metrics.height() - px(self, 12)
        )
        painter.fillRect(area, QColor(colours.surface))
        top = max(self.shares, default=0.0)
        width = area.width() / max(len(self.shares), 1)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(faded(colours.accent, 0.75))
        for index, share in enumerate(self.shares):
            tall = share / top * (area.height() - 2) if top > 0 else 0.0
            if tall >= 0.3:
                painter.drawRect(QRectF(area.left() + index * width, area.bottom() - tall, max(width - 0.5, 1), tall))
        painter.setPen(QPen(QColor(colours.border), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.mean is not None:
            x = self._x(area, self.mean)
            painter.setPen(QPen(QColor(colours.text), 1.5))
            painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
        if self.truth is not None:
            x, side = self._x(area, self.truth), px(self, 5)
            painter.setPen(QPen(QColor(colours.surface), 1))
            painter.setBrush(QColor(colours.highlight))
            corners = [(x - side, area.top() - side), (x + side, area.top() - side), (x, area.top() + side)]
            painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
        painter.setPen(QColor(colours.muted))
        below = QRectF(area.left(), area.bottom() + px(self, 1), area.width(), metrics.height())
        for text, place in (("0", Qt.AlignmentFlag.AlignLeft), ("grey level", Qt.AlignmentFlag.AlignHCenter)):
            painter.drawText(below, place, text)
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, "255")

    def _x(self, area: QRectF, level: float) -> float:
        return area.left() + area.width() * min(max(level / WHITE, 0.0), 1.0)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


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
