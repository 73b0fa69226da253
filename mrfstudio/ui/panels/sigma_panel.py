"""The map of σ_max over (α, coupling): where convergence is certain, and where we are. A click goes there."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.engine.answers import SigmaMap
from mrfstudio.ui.canvas.colormaps import colormap
from mrfstudio.ui.canvas.layers import Bar
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.panels.axes import tick_texts, ticks
from mrfstudio.ui.panels.legend import ColourBar
from mrfstudio.ui.theme import Width, px

OCTAVES = 2.0
"""Powers of two around 1 that the colours cover."""
EMPTY = "The map appears here for graphs of two states and pairwise factors."
STEP = 1 / 32
Key = Qt.Key


class SigmaPanel(QWidget):
    """Map, legend and a line that says how far it is."""

    chosen = Signal(float, float)
    """α and coupling to go to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map, self.state = MapView(), QLabel(EMPTY, wordWrap=True)
        self._refining = False
        self.state.setProperty("role", "muted")
        ticks_ = ((0.0, "¼"), (0.25, "½"), (0.5, "1"), (0.75, "2"), (1.0, "4"))
        self.legend = ColourBar("σ_max", Bar("diverging", "below 1: guaranteed", ticks_))
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        for widget in (self.map, self.legend, self.state):
            column.addWidget(widget)
        column.addStretch(1)
        Width(self, 260)
        self.map.chosen.connect(self.chosen)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        others = self.legend.sizeHint().height() + 4 * self.fontMetrics().height()
        self.map.setFixedHeight(max(min(event.size().width(), event.size().height() - others), px(self, 160)))

    def set_map(self, found: SigmaMap | None, refining: bool = False) -> None:
        """Show a map; None where there is none yet."""
        self._refining = refining
        self.map.set_map(found)
        if found is None:
            self.state.setText("Computing the map…" if refining else EMPTY)
            return
        size = f"{found.sigma_max.shape[1]} × {found.sigma_max.shape[0]} points"
        self.state.setText(f"{size}, refining…" if refining else f"{size}. Click, or arrows and Enter, to go there.")

    @property
    def complete(self) -> bool:
        """Whether no finer map is on its way."""
        return self.map.found is not None and not self._refining

    def say(self, sentence: str) -> None:
        """Why there is no map."""
        self.map.set_map(None)
        self.state.setText(sentence)

    def set_point(self, alpha: float | None, coupling: float) -> None:
        """Where the chosen lane is now; no α is that of an algorithm without one."""
        self.map.set_point(alpha, coupling)


class MapView(QWidget):
    """Colours, the line where σ_max is 1, and the present point."""

    chosen = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: SigmaMap | None = None
        self.point: tuple[float | None, float] = (None, 0.0)
        self._cursor: QPointF | None = None  # in parts of the area
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Map of σ_max over α and coupling")
        self.setToolTip(
            "How the guarantee depends on α and on the coupling strength. Blue is guaranteed; the ring is where the "
            "chosen lane is. Click to go elsewhere."
        )

    def sizeHint(self) -> QSize:
        return QSize(px(self, 260), px(self, 240))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 180), px(self, 160))

    def set_map(self, found: SigmaMap | None) -> None:
        self.found = found
        self.update()

    def set_point(self, alpha: float | None, coupling: float) -> None:
        if (alpha, coupling) != self.point:
            self.point = (alpha, coupling)
            self.update()

    # Geometry ---------------------------------------------------------------------------------------------------------

    def area(self) -> QRectF:
        metrics = self.fontMetrics()
        left, bottom = metrics.horizontalAdvance("8.8") + metrics.height() + px(self, 10), 2 * metrics.height()
        top, right = px(self, 8), px(self, 10)
        return QRectF(left, top, max(self.width() - left - right, 1), max(self.height() - top - bottom - 4, 1))

    def _ends(self) -> tuple[float, float, float, float]:
        found = self.found
        if found is None:
            return 0.05, 1.5, 0.0, 2.0
        return float(found.alphas[0]), float(found.alphas[-1]), float(found.couplings[0]), float(found.couplings[-1])

    def place(self, alpha: float, coupling: float) -> QPointF:
        area, (a0, a1, c0, c1) = self.area(), self._ends()
        return QPointF(
            area.left() + area.width() * (alpha - a0) / (a1 - a0),
            area.bottom() - area.height() * (coupling - c0) / (c1 - c0),
        )

    def value_at(self, point: QPointF) -> tuple[float, float]:
        """α and coupling under a point, kept inside the map."""
        area, (a0, a1, c0, c1) = self.area(), self._ends()
        across = min(max((point.x() - area.left()) / area.width(), 0.0), 1.0)
        up = min(max((area.bottom() - point.y()) / area.height(), 0.0), 1.0)
        return float(f"{a0 + across * (a1 - a0):.3g}"), float(f"{c0 + up * (c1 - c0):.3g}")

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, area = colours_of(self), self.area()
        painter.fillRect(area, QColor(colours.raised))
        if self.found is not None:
            pixels = np.ascontiguousarray(colours_of_sigma(self.found.sigma_max, colours.name)[::-1])
            height, width = pixels.shape[:2]
            image = QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, width > 8)
            # Values stand at the corners of the area: half a cell is cut on every side.
            inner = QRectF(0.5, 0.5, max(width - 1, 1), max(height - 1, 1))
            painter.drawImage(area, image, inner)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(colours.text), 1.5))
            painter.drawLines(self._contour(self.found))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area)
        self._paint_axes(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_point(painter)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _contour(self, found: SigmaMap) -> list[QLineF]:
        """Where σ_max crosses 1, cell by cell along rows and columns of the map."""
        values = np.log(np.maximum(found.sigma_max, 1e-9))
        lines: list[QLineF] = []
        below = values < 0
        mixed = (below[:-1, :-1] != below[1:, :-1]) | (below[:-1, :-1] != below[:-1, 1:]) | (
            below[:-1, :-1] != below[1:, 1:]
        )  # fmt: skip
        for row, column in np.argwhere(mixed).tolist():
            points = []
            corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
            for (r0, c0), (r1, c1) in zip(corners, corners[1:] + corners[:1], strict=True):
                a, b = values[r0, c0], values[r1, c1]
                if (a < 0) != (b < 0):
                    part = a / (a - b)
                    alpha = found.alphas[c0] + part * (found.alphas[c1] - found.alphas[c0])
                    coupling = found.couplings[r0] + part * (found.couplings[r1] - found.couplings[r0])
                    points.append(self.place(float(alpha), float(coupling)))
            if len(points) >= 2:
                lines.append(QLineF(points[0], points[1]))
        return lines

    def _paint_axes(self, painter: QPainter) -> None:
        colours, area, metrics = colours_of(self), self.area(), self.fontMetrics()
        a0, a1, c0, c1 = self._ends()
        painter.setPen(QColor(colours.muted))
        along = ticks((a0, a1), max(int(area.width() / (4 * metrics.averageCharWidth() + px(self, 16))), 1))
        for value, text in zip(along, tick_texts(along), strict=True):
            x = self.place(value, c0).x()
            box = QRectF(x - 40, area.bottom() + 2, 80, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, text)
        up = ticks((c0, c1), max(int(area.height() / (2 * metrics.height())), 1))
        for value, text in zip(up, tick_texts(up), strict=True):
            y = self.place(a0, value).y()
            box = QRectF(0, y - metrics.height() / 2, area.left() - px(self, 4), metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.setPen(QColor(colours.text))
        below = QRectF(area.left(), area.bottom() + metrics.height(), area.width(), metrics.height() + 4)
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, "α")
        painter.save()
        painter.translate(metrics.height(), area.center().y())
        painter.rotate(-90)
        painter.drawText(
            QRectF(-100, -metrics.height(), 200, metrics.height()), Qt.AlignmentFlag.AlignCenter, "coupling"
        )
        painter.restore()

    def _paint_point(self, painter: QPainter) -> None:
        colours, (alpha, coupling) = colours_of(self), self.point
        if alpha is not None:
            area, at = self.area(), self.place(alpha, coupling)
            at = QPointF(min(max(at.x(), area.left()), area.right()), min(max(at.y(), area.top()), area.bottom()))
            for width, colour in ((4.5, colours.paper), (2.0, colours.text)):
                painter.setPen(QPen(QColor(colour), width))
                painter.drawEllipse(at, px(self, 6), px(self, 6))
        if self._cursor is not None and self.hasFocus():
            area = self.area()
            x = area.left() + self._cursor.x() * area.width()
            y = area.top() + self._cursor.y() * area.height()
            painter.setPen(QPen(QColor(colours.text), 1, Qt.PenStyle.DashLine))
            painter.drawLines([QLineF(x, area.top(), x, area.bottom()), QLineF(area.left(), y, area.right(), y)])

    # Input ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.found is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(*self.value_at(event.position()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Key.Key_Left: (-1, 0), Key.Key_Right: (1, 0), Key.Key_Up: (0, -1), Key.Key_Down: (0, 1)}
        key = Qt.Key(event.key())
        area = self.area()
        if key in steps:
            here = self._cursor or self._start()
            x, y = here.x() + STEP * steps[key][0], here.y() + STEP * steps[key][1]
            self._cursor = QPointF(min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0))
            self.update()
        elif key in (Key.Key_Return, Key.Key_Enter) and self._cursor is not None and self.found is not None:
            x, y = area.left() + self._cursor.x() * area.width(), area.top() + self._cursor.y() * area.height()
            self.chosen.emit(*self.value_at(QPointF(x, y)))
        else:
            super().keyPressEvent(event)

    def _start(self) -> QPointF:
        area, (alpha, coupling) = self.area(), self.point
        at = self.place(1.0 if alpha is None else alpha, coupling)
        return QPointF((at.x() - area.left()) / area.width(), (at.y() - area.top()) / area.height())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._cursor = None
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()


def colours_of_sigma(values: np.ndarray, theme: str) -> np.ndarray:
    """(rows, columns, 3) uint8: blue below 1, orange above, on a logarithmic scale."""
    part = 0.5 + np.log2(np.maximum(values, 1e-9)) / (2 * OCTAVES)
    return colormap(f"diverging {theme}")[np.clip(part * 255 + 0.5, 0, 255).astype(np.uint8)]
