"""The badge: converged, running, iteration limit or diverging, with the residual; a shape and a word, not just hue."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from mrfstudio.engine.protocol.frames import SO_FAR, LaneFrame, Status
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided

HELP: dict[str, str] = {
    "idle": "Nothing has been computed yet.",
    "running": "Messages still change; each iteration is shown as it comes.",
    "paused": "The run waits. Space goes on, a full stop computes one iteration.",
    "converged": "No message changes by more than the tolerance, and beliefs agree: the answer of the algorithm.",
    "settled": "All levels, coarse to fine, are done and nothing moves any more: this is the answer.",
    "iteration limit": "The iterations, or the time, of this run are over. After iterations, step or play to go on.",
    "diverging": "Messages grow apart or swing to and fro. More damping often helps.",
    "stopped": "An error ended the run; the last good state is shown.",
}
LONGEST = "iteration limit after 88888 iterations, residual 8.8e-88"


class Badge(QWidget):
    """State of one lane in one line: `● converged in 12 iterations, residual 3e-7`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.mark = StatusShape(self)
        self.label = Elided(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.mark)
        row.addWidget(self.label, 1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.set_status("idle")

    @property
    def text(self) -> str:
        return self.label.text()

    def set_lane(self, lane: LaneFrame, title: str = "") -> None:
        """Show a lane; `title` names it where there are several."""
        # A limit counts from the last edit on: the number said is the one that the form has.
        since = lane.base if lane.status == "iteration limit" else 0
        self.set_status(lane.status, lane.iteration - since, lane.residual, lane.message, title)

    def set_status(
        self, status: Status, iteration: int = 0, residual: float | None = None, message: str = "", title: str = ""
    ) -> None:
        """Show a state; `message` explains an error."""
        words = sentence(status, iteration, residual, message)
        self.set_words(status, f"{title}: {words}" if title else words, message or HELP[status])

    def set_words(self, status: Status, text: str, help: str) -> None:
        """Show any words with the mark of a state."""
        if text != self.label.text():
            self.label.setText(text)
            self.setAccessibleName(text)
            self.setToolTip(f"{text}\n{help}")
        self.mark.set_status(status)

    def sizeHint(self) -> QSize:
        """Wide enough for the longest usual text, so that the line does not move while numbers change."""
        hint = super().sizeHint()
        room = self.label.fontMetrics().horizontalAdvance(LONGEST) + self.mark.sizeHint().width() + px(self, 8)
        return QSize(max(hint.width(), room), hint.height())


class StatusShape(QWidget):
    """A small drawn shape: tick, triangle, bars, square, warning sign, cross, circle."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._status: Status = "idle"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_status(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 16), px(self, 16))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = min(self.width(), self.height())
        painter.scale(side / 16, side / 16)
        colours = colours_of(self)
        colour = QColor(status_colour(self._status, colours))
        painter.setBrush(colour)
        painter.setPen(QPen(colour, 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        _draw(painter, self._status, QColor(colours.window))


def sentence(status: Status, iteration: int, residual: float | None, message: str = "") -> str:
    """The state in words."""
    if status == "idle":
        return "nothing computed yet"
    if status == "stopped":
        return f"stopped at iteration {iteration}: {message}" if message else f"stopped at iteration {iteration}"
    steps = f"{iteration} iteration{'' if iteration == 1 else 's'}"
    link = {
        "converged": f"converged in {steps}",
        "settled": f"settled in {steps}",
        "iteration limit": f"iteration limit after {steps}",
    }
    start = link.get(status, f"{status} at iteration {iteration}")
    if residual is not None and not math.isnan(residual):
        start = f"{start}, residual {short(residual)}"
    # What the answer is worth, such as chains that disagree; while a run goes on most of it would only flicker.
    return f"{start}. {message}" if message and (status in link or message.startswith(SO_FAR)) else start


def short(number: float) -> str:
    """A number in two digits, without the zeros that computers print: 3e-7, 0.012."""
    if not math.isfinite(number):
        return "infinite"
    if number == 0 or 1e-3 <= abs(number) < 1e4:
        return f"{number:.2g}"
    digits, exponent = f"{number:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(exponent)}"


def status_colour(status: Status, colours: Colours) -> str:
    """The colour that goes with a state."""
    return {
        "converged": colours.good,
        "settled": colours.good,
        "running": colours.accent,
        "iteration limit": colours.warn,
        "diverging": colours.bad,
        "stopped": colours.bad,
    }.get(status, colours.muted)


def _draw(painter: QPainter, status: Status, background: QColor) -> None:
    """Draw a state's shape in a square of 16."""
    if status == "running":
        painter.drawPolygon(QPolygonF([QPointF(4, 3), QPointF(13, 8), QPointF(4, 13)]))
    elif status == "paused":
        painter.drawRect(QRectF(3.5, 3, 3, 10))
        painter.drawRect(QRectF(9.5, 3, 3, 10))
    elif status == "iteration limit":
        painter.drawRect(QRectF(3.5, 3.5, 9, 9))
    elif status == "diverging":
        painter.drawPolygon(QPolygonF([QPointF(8, 2), QPointF(14.5, 13.5), QPointF(1.5, 13.5)]))
        painter.setPen(QPen(background, 1.8))
        painter.drawLine(QPointF(8, 6.5), QPointF(8, 9.8))
        painter.drawPoint(QPointF(8, 12))
    elif status == "stopped":
        painter.drawLine(QPointF(4, 4), QPointF(12, 12))
        painter.drawLine(QPointF(12, 4), QPointF(4, 12))
    elif status in ("converged", "settled"):
        painter.drawEllipse(QPointF(8, 8), 6.2, 6.2)
        painter.setPen(QPen(background, 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawPolyline(QPolygonF([QPointF(5.2, 8.3), QPointF(7.3, 10.4), QPointF(10.9, 6)]))
    else:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QPointF(8, 8), 5.2, 5.2)
