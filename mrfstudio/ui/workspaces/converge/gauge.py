"""The gauge: what the contraction matrix says about convergence. Only what is certain is called guaranteed."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Guarantee, GuaranteedAlphas
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px

BOUNDS = (
    ("sigma_max", "σ_max(M)", "The largest singular value of the contraction matrix, from above."),
    ("spectral_radius", "ρ(M)", "The spectral radius, from above: the tightest of the four."),
    ("norm_1", "‖M‖₁", "The largest column sum; Corollary 3.1 of Liu (2020)."),
    ("norm_inf", "‖M‖∞", "The largest row sum; Corollary 3.1 of Liu (2020)."),
)
WIDEST = 2.5
"""Where the bars end; larger numbers are written beside a full bar."""
GUARANTEED = "Guaranteed to converge"
NOT_GUARANTEED = "No guarantee"
NOTHING = "…"


class Gauge(QWidget):
    """The verdict in words, four bars against 1, and the α for which convergence is certain."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.verdict, self.explanation, self.interval = QLabel(NOTHING), QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.verdict.setProperty("role", "heading")
        for label in (self.explanation, self.interval):
            label.setProperty("role", "muted")
        self.bars = BoundBars()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 4))
        for widget in (self.verdict, self.bars, self.interval, self.explanation):
            column.addWidget(widget)
        self.shown: Guarantee | None = None
        self.setToolTip(
            "α-BP converges to one fixed point, from any start, if any of these four numbers is below 1. Each is an "
            "upper bound. At 1 or above nothing is known: the run may converge all the same."
        )

    def set_guarantee(self, found: Guarantee | None) -> None:
        """Show a verdict; None while nothing is known."""
        self.shown = found
        if found is None or found.reason:
            self.verdict.setText(NOTHING if found is None else "No contraction matrix")
            self.explanation.setText("" if found is None else found.reason)
            self.bars.set_values({})
            self.bars.setVisible(found is None)
            self.interval.setVisible(found is None)
            return
        self.bars.show()
        self.interval.show()
        self.verdict.setText(f"{'✓ ' + GUARANTEED if found.guaranteed else '○ ' + NOT_GUARANTEED}")
        self.verdict.setAccessibleName(self.verdict.text())
        self.bars.set_values({name: getattr(found, name) for name, _, _ in BOUNDS})
        if found.guaranteed:
            text = f"A bound is below 1: α = {found.alpha:g} leads to one fixed point from any start, however slowly."
        else:
            text = "No bound is below 1: it may converge all the same, or swing, or depend on its start."
        self.explanation.setText(text)

    def set_interval(self, found: GuaranteedAlphas | None) -> None:
        """Show for which α convergence is certain; None while it is being computed."""
        if found is None:
            self.interval.setText("Guaranteed for α: …")
        elif found.high <= 0:
            self.interval.setText("Guaranteed for α: none")
        else:
            low, high = math.ceil(found.low * 1000) / 1000, math.floor(found.high * 1000) / 1000  # never beyond it
            self.interval.setText(f"Guaranteed for α: {low:g} to {high:g}")


class BoundBars(QWidget):
    """Four numbers as bars on one axis, with a line at 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: dict[str, float | None] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_values(self, values: dict[str, float | None]) -> None:
        if values != self._values:
            self._values = values
            named = ((title, values.get(name)) for name, title, _ in BOUNDS)
            self.setAccessibleName(", ".join(f"{title} {number(value)}" for title, value in named))
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), len(BOUNDS) * self._row + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), self.sizeHint().height())

    @property
    def _row(self) -> int:
        return round(self.fontMetrics().height() * 1.35)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        left = metrics.horizontalAdvance("σ_max(M)") + px(self, 8)
        right = metrics.horizontalAdvance("88.888") + px(self, 6)
        width = max(self.width() - left - right, 1)
        one = left + width / WIDEST
        for index, (name, title, _) in enumerate(BOUNDS):
            row = QRectF(0, index * self._row, self.width(), self._row)
            painter.setPen(QColor(colours.text))
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, title)
            track = QRectF(left, row.center().y() - px(self, 4), width, px(self, 8))
            painter.fillRect(track, QColor(colours.raised))
            value = self._values.get(name)
            if value is not None:
                good = value < 1
                track.setWidth(width * min(value, WIDEST) / WIDEST)
                painter.fillRect(track, QColor(colours.good if good else colours.warn))
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, number(value))
        bottom = len(BOUNDS) * self._row
        painter.setPen(QPen(QColor(colours.text), 1.5))
        painter.drawLine(QLineF(one, 0, one, bottom))
        painter.setPen(QColor(colours.muted))
        label = QRectF(one - px(self, 60), bottom, px(self, 120), metrics.height())
        painter.drawText(label, Qt.AlignmentFlag.AlignHCenter, "1")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


def number(value: float | None) -> str:
    """Three decimals, cut upwards: a bound of 0.99996 must not read 1.000, nor 1.00004."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:.3g}"
    text = f"{value:.3f}"
    return f"{value:.6f}" if (float(text) < 1) != (value < 1) else text
