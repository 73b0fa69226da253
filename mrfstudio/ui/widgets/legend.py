"""What the colours on the canvas mean, with units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.ui.canvas.layers import ColourScale, Layer
from mrfstudio.ui.style.colormaps import colormap
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.graph_colours import level_colours
from mrfstudio.ui.style.theme import px

LABELS = ("CONTOUR", "OUT", "IN")
LABEL_LAYERS = ("belief", "decoded", "truth", "hints")


class Legend(QWidget):
    """Swatches of the labels, and a bar with ticks for each shown map."""

    def __init__(self, layers: Sequence[Layer], labels: Sequence[str] = LABELS, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.swatches = Swatches(labels)
        self.bars = {layer.name: ColourBar(layer.title, layer.bar) for layer in layers if layer.bar is not None}
        self.clones = QLabel("Clones: a hue for each; the gallery shows which.")
        self.clones.setProperty("role", "muted")
        self.clones.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.swatches, *self.bars.values(), self.clones):
            column.addWidget(widget)
        self.setAccessibleName("Legend")
        self.set_visible_layers([layer.name for layer in layers if layer.shown])

    def set_visible_layers(self, names: Iterable[str]) -> None:
        """Explain these layers, no others."""
        shown = set(names)
        self.swatches.set_parts(
            "observed" in shown, bool(shown.intersection(LABEL_LAYERS)), "hints" in shown, "mask" in shown
        )
        for name, bar in self.bars.items():
            bar.setVisible(name in shown)
        self.clones.setVisible("clone" in shown)


class Swatches(QWidget):
    """Coloured squares with names, in as many rows as the width needs."""

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self._shown: list[tuple[str, int | str | None, bool]] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_parts(self, observed: bool, labels: bool, hints: bool, unknown: bool = False) -> None:
        """Which swatches: ink, labels, stripes of hints, unknown pixels."""
        self._shown = [("contour seen", None, False)] if observed else []
        if labels:
            self._shown += [(name, index, False) for index, name in enumerate(self.labels)]
        if hints:
            self._shown.append(("hint", len(self.labels) - 1, True))
        if unknown:
            self._shown += [("unknown", "unknown", False), ("filled in: inside the line", "accent", False)]
        self.setVisible(bool(self._shown))
        self.setAccessibleName("Colours: " + ", ".join(name for name, _, _ in self._shown))
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        rows = {row for row, _, _ in self._places(width)}
        return max(len(rows), 1) * self._row_height

    def sizeHint(self) -> QSize:
        return QSize(px(self, 200), self.heightForWidth(px(self, 200)))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), self._row_height)

    @property
    def _row_height(self) -> int:
        return round(self.fontMetrics().height() * 1.35)

    def _places(self, width: int) -> list[tuple[int, int, int]]:
        """Row, left end and width of each swatch with its name."""
        places, row, x, side = [], 0, 0, self.fontMetrics().height()
        for name, _, _ in self._shown:
            need = side + self.fontMetrics().horizontalAdvance(name) + px(self, 18)
            if x and x + need > width:
                row, x = row + 1, 0
            places.append((row, x, need))
            x += need
        return places

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours, side = colours_of(self), self.fontMetrics().height() - 2
        for (name, label, striped), (row, x, _) in zip(self._shown, self._places(self.width()), strict=True):
            top = row * self._row_height + (self._row_height - side) / 2
            square = QRectF(x + 1, top, side, side)
            painter.setPen(QPen(QColor(colours.outline), 1))
            painter.setBrush(QColor(swatch_colour(label, colours)))
            if label == "accent":  # a line on the canvas, not an area
                painter.setPen(QPen(QColor(colours.accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(square, 3, 3)
            if striped:
                _stripes(painter, square, colours)
            painter.setPen(QColor(colours.text))
            box = QRectF(square.right() + px(self, 5), row * self._row_height, self.width(), self._row_height)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


def swatch_colour(label: int | str | None, colours: Colours) -> str:
    """The colour of a label, a named colour of the theme, or ink."""
    if isinstance(label, int):
        return colours.labels[label % len(colours.labels)]
    named: str = getattr(colours, label or "ink")
    return named


class ColourBar(QWidget):
    """A colour map as a bar, with ticks and a unit."""

    def __init__(self, title: str, bar: ColourScale) -> None:
        super().__init__()
        self.title, self.bar = title, bar
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        ends = f"from {bar.ticks[0][1]} to {bar.ticks[-1][1]}"
        self.setAccessibleName(f"{title} in {bar.unit}, {ends}")

    def sizeHint(self) -> QSize:
        return QSize(px(self, 160), round(self.fontMetrics().height() * 2.2) + px(self, 14))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        painter.setPen(QColor(colours.text))
        line = metrics.height()
        text = metrics.elidedText(f"{self.title} ({self.bar.unit})", Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QPointF(0, metrics.ascent()), text)
        bar = QRectF(px(self, 4), line * 1.1, self.width() - px(self, 8), px(self, 10))
        table = np.ascontiguousarray(bar_colours(self.bar.map, colours))
        image = QImage(table.data, len(table), 1, table.nbytes, QImage.Format.Format_RGB888)
        painter.drawImage(bar, image)
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(bar)
        painter.setPen(QColor(colours.muted))
        for place, text in self.bar.ticks:
            width = metrics.horizontalAdvance(text)
            x = bar.left() + bar.width() * place
            left = min(max(x - width / 2, 0), self.width() - width)
            painter.drawText(QPointF(left, bar.bottom() + metrics.ascent() + px(self, 1)), text)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


def bar_colours(name: str, colours: Colours) -> np.ndarray:
    """The colours of a bar, (n, 3) uint8, as the canvas draws them."""
    if name == "difference":  # the orange half of the diverging map
        return colormap(f"diverging {colours.name}")[128:]
    if name == "change":
        return np.repeat(level_colours(colours), 8, axis=0)
    return colormap(f"{name} {colours.name}" if name == "diverging" else name)


def _stripes(painter: QPainter, square: QRectF, colours: Colours) -> None:
    painter.setPen(QPen(QColor(colours.ink), max(square.width() / 12, 1)))
    for offset in (-0.3, 0.0, 0.3):
        a = QPointF(
            square.left() + square.width() * max(0.15, 0.15 + offset),
            square.bottom() - square.height() * max(0.15, 0.15 - offset),
        )
        b = QPointF(
            square.right() - square.width() * max(0.15, 0.15 - offset),
            square.top() + square.height() * max(0.15, 0.15 + offset),
        )
        painter.drawLine(a, b)
