"""The map of σ_max over (α, coupling): where convergence is certain, and where we are. A click goes there."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import SigmaMap
from mrfstudio.ui.canvas.layers import ColourScale
from mrfstudio.ui.plots.content import Content, Dots, PlotPicture, PlotShapes, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colormaps import colormap
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.legend import ColourBar

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
        self.legend = ColourBar("σ_max", ColourScale("diverging", "below 1: guaranteed", ticks_))
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        for widget in (self.map, self.legend, self.state):
            column.addWidget(widget)
        column.addStretch(1)
        MinimumWidth(self, 260)
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


class MapView(Plot):
    """Colours, the line where σ_max is 1, and the present point. A click, or arrows and Enter, go elsewhere."""

    chosen = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        content = Content("σ_max", "", "", "α", "coupling")
        content.help = (
            "How the guarantee depends on α and on the coupling strength. Blue is guaranteed; the ring is where the "
            "chosen lane is. Click to go elsewhere."
        )
        super().__init__(content, None, parent)
        self.found: SigmaMap | None = None
        self.point: tuple[float | None, float] = (None, 0.0)
        self._cursor: tuple[float, float] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Map of σ_max over α and coupling")
        self.clicked.connect(self._choose)

    def sizeHint(self) -> QSize:
        return QSize(px(self, 260), px(self, 240))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 180), px(self, 160))

    def set_map(self, found: SigmaMap | None) -> None:
        self.found = found
        self.content.shapes = () if found is None else (_contour(found),)
        self.content.picture = None if found is None else _picture(found)
        self._mark()

    def set_point(self, alpha: float | None, coupling: float) -> None:
        if (alpha, coupling) != self.point:
            self.point = (alpha, coupling)
            self._mark()

    def _mark(self) -> None:
        """The ring, and the cross of the keyboard."""
        (a0, a1), (c0, c1) = self.whole_x(), self.whole_y()
        alpha, coupling = self.point
        self.content.dots = []
        if alpha is not None:
            x, y = np.array([min(max(alpha, a0), a1)]), np.array([min(max(coupling, c0), c1)])
            halo = Dots(1, "", x, y, lambda colours: QColor(colours.paper), 17.0, ring=True)
            ring = Dots(0, "here", x, y, lambda colours: QColor(colours.text), 13.0, ring=True)
            self.content.dots = [halo, ring]
        contour = self.content.shapes[:1]
        self.content.shapes = contour
        if self._cursor is not None and self.hasFocus():
            a, c = self._cursor
            x, y = np.array([a, a, a0, a1]), np.array([c0, c1, c, c])
            cross = PlotShapes(x, y, lambda colours: QColor(colours.text), dashed=True)
            self.content.shapes = (*contour, cross)
        self.content.tell()

    def whole_x(self) -> Range:
        found = self.found
        return (0.05, 1.5) if found is None else (float(found.alphas[0]), float(found.alphas[-1]))

    def whole_y(self) -> Range:
        found = self.found
        return (0.0, 2.0) if found is None else (float(found.couplings[0]), float(found.couplings[-1]))

    def value_at(self, point: QPointF) -> tuple[float, float]:
        """α and coupling under a point, kept inside the map."""
        return self._kept(*self.at(point))

    def _kept(self, alpha: float, coupling: float) -> tuple[float, float]:
        (a0, a1), (c0, c1) = self.whole_x(), self.whole_y()
        return float(f"{min(max(alpha, a0), a1):.3g}"), float(f"{min(max(coupling, c0), c1):.3g}")

    def _choose(self, alpha: float, coupling: float) -> None:
        if self.found is not None:
            self.chosen.emit(*self._kept(alpha, coupling))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Key.Key_Left: (-1, 0), Key.Key_Right: (1, 0), Key.Key_Up: (0, 1), Key.Key_Down: (0, -1)}
        key, (a0, a1), (c0, c1) = Qt.Key(event.key()), self.whole_x(), self.whole_y()
        if key in steps:
            alpha, coupling = self._cursor or (1.0 if self.point[0] is None else self.point[0], self.point[1])
            alpha += STEP * steps[key][0] * (a1 - a0)
            coupling += STEP * steps[key][1] * (c1 - c0)
            self._cursor = min(max(alpha, a0), a1), min(max(coupling, c0), c1)
            self._mark()
        elif key in (Key.Key_Return, Key.Key_Enter) and self._cursor is not None:
            self._choose(*self._cursor)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._cursor = None
        self._mark()


def _picture(found: SigmaMap) -> PlotPicture:
    """Values stand at the middles of cells, so that the outer cells reach half a step beyond the ends."""
    rows, columns = found.sigma_max.shape
    across = float(found.alphas[-1] - found.alphas[0]) / max(columns - 1, 1) / 2
    up = float(found.couplings[-1] - found.couplings[0]) / max(rows - 1, 1) / 2

    def describe(row: int, column: int, value: float) -> str:
        return f"α {found.alphas[column]:.3g}, coupling {found.couplings[row]:.3g}<br>σ_max <b>{value:.5g}</b>"

    return PlotPicture(
        found.sigma_max,
        (float(found.alphas[0]) - across, float(found.alphas[-1]) + across),
        (float(found.couplings[0]) - up, float(found.couplings[-1]) + up),
        lambda values, colours: colours_of_sigma(values, colours.name),
        describe=describe,
    )


def _contour(found: SigmaMap) -> PlotShapes:
    """Where σ_max crosses 1, cell by cell along rows and columns of the map."""
    values = np.log(np.maximum(found.sigma_max, 1e-9))
    below = values < 0
    mixed = (below[:-1, :-1] != below[1:, :-1]) | (below[:-1, :-1] != below[:-1, 1:]) | (
        below[:-1, :-1] != below[1:, 1:]
    )  # fmt: skip
    ends: list[tuple[float, float]] = []
    for row, column in np.argwhere(mixed).tolist():
        points = []
        corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
        for (r0, c0), (r1, c1) in zip(corners, corners[1:] + corners[:1], strict=True):
            a, b = values[r0, c0], values[r1, c1]
            if (a < 0) != (b < 0):
                part = a / (a - b)
                alpha = found.alphas[c0] + part * (found.alphas[c1] - found.alphas[c0])
                coupling = found.couplings[r0] + part * (found.couplings[r1] - found.couplings[r0])
                points.append((float(alpha), float(coupling)))
        ends += points[:2] if len(points) >= 2 else []
    pairs = np.array(ends).reshape(-1, 2)
    return PlotShapes(pairs[:, 0], pairs[:, 1], lambda colours: QColor(colours.text), 1.5)


def colours_of_sigma(values: np.ndarray, theme: str) -> np.ndarray:
    """(rows, columns, 3) uint8: blue below 1, orange above, on a logarithmic scale."""
    part = 0.5 + np.log2(np.maximum(values, 1e-9)) / (2 * OCTAVES)
    return colormap(f"diverging {theme}")[np.clip(part * 255 + 0.5, 0, 255).astype(np.uint8)]
