"""Probabilities as bars, one a row, that can be dragged where they may be changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px

MOST_ROWS = 24
STEP = 0.05
KEYS = {Qt.Key.Key_Left: -STEP, Qt.Key.Key_Right: STEP}


class Bars(QWidget):
    """Named numbers from 0 to 1. `changed` has all of them, and a number for the gesture that changed them."""

    changed = Signal(object, object)  # a gesture has more digits than an int of Qt

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.names: tuple[str, ...] = ()
        self.values = np.zeros(0)
        self.editable = False
        self.colour_of: Callable[[int, int, Colours], tuple[int, int, int]] | None = None
        self._row: int | None = None
        self._gesture = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_values(self, names: tuple[str, ...], values: np.ndarray, editable: bool = False) -> None:
        """Show numbers (n,). Where they may be changed, the keyboard reaches them too."""
        grown = len(names) != len(self.names)
        self.names, self.values, self.editable = names, np.asarray(values, np.float64), editable
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if editable else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.SizeHorCursor if editable else Qt.CursorShape.ArrowCursor)
        listed = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, self.values, strict=True))
        self.setAccessibleName(listed)
        if grown:
            self.setFixedHeight(self.sizeHint().height())
        self.update()

    def _height(self) -> int:
        return self.fontMetrics().height() + px(self, 2)

    def sizeHint(self) -> QSize:
        rows = min(len(self.names), MOST_ROWS) + (len(self.names) > MOST_ROWS)
        return QSize(px(self, 180), max(1, rows) * self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())

    def _area(self) -> tuple[float, float]:
        """Left end and width of all bars."""
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(name) for name in self.names[:MOST_ROWS]), default=0)
        left = min(widest, self.width() * 0.4) + px(self, 6)
        return left, max(self.width() - left - metrics.horizontalAdvance("0.0000") - px(self, 8), 1.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics, (left, width) = colours_of(self), self.fontMetrics(), self._area()
        for row in range(min(len(self.names), MOST_ROWS)):
            y, value = row * self._height(), float(self.values[row])
            name = metrics.elidedText(self.names[row], Qt.TextElideMode.ElideRight, int(left - px(self, 4)))
            painter.setPen(QColor(colours.text))
            painter.drawText(QRectF(0, y, left, self._height()), Qt.AlignmentFlag.AlignVCenter, name)
            bar = QRectF(left, y + px(self, 3), width, self._height() - 2 * px(self, 3))
            painter.fillRect(bar, QColor(colours.raised))
            shade = QColor(colours.accent)
            if self.colour_of is not None:
                shade = QColor(*self.colour_of(row, len(self.names), colours))
            filled = QRectF(bar.left(), bar.top(), width * min(max(value, 0.0), 1.0), bar.height())
            painter.fillRect(filled, shade)
            if self.editable:
                painter.setPen(QPen(QColor(colours.text), 1))
                painter.drawRect(bar)
            box = QRectF(left + width + px(self, 6), y, self.width() - left - width, self._height())
            painter.setPen(QColor(colours.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, f"{value:.4f}")
        if len(self.names) > MOST_ROWS:
            painter.setPen(QColor(colours.muted))
            rest = QRectF(0, MOST_ROWS * self._height(), self.width(), self._height())
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, f"… {len(self.names) - MOST_ROWS} more")
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    # Hands ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = int(event.position().y() // self._height())
        if self.editable and row < min(len(self.names), MOST_ROWS):
            self._row, self._gesture = row, next_gesture()
            self._drag(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._row is not None:
            self._drag(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._row = None

    def _drag(self, x: float) -> None:
        left, width = self._area()
        assert self._row is not None
        self._set(self._row, (x - left) / width)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = KEYS.get(Qt.Key(event.key()))
        if not self.editable or step is None or not len(self.values):
            super().keyPressEvent(event)
            return
        self._gesture = next_gesture()
        self._set(int(self.values.argmax()), float(self.values.max()) + step)

    def _set(self, row: int, value: float) -> None:
        """One probability changes; the others share the rest as they did."""
        value = min(max(value, 0.001), 0.999)
        others = np.delete(self.values, row)
        total = others.sum()
        shares = others / total if total > 0 else np.full(len(others), 1 / max(len(others), 1))
        self.values = np.insert(shares * (1 - value), row, value)
        self.changed.emit(tuple(self.values.tolist()), self._gesture)
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.setFixedHeight(self.sizeHint().height())
            self.update()
