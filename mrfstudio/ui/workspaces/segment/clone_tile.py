"""One clone in the gallery: its average patch, an arrow to the side of IN, its number, hue and use."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.ui.canvas.overlays import MOST_CLONES, LayerStyle, belief
from mrfstudio.ui.plots.content import Content, PlotPicture
from mrfstudio.ui.plots.heat_map import MapPlot, on_paper
from mrfstudio.ui.plots.map_tile import Index, MapTile
from mrfstudio.ui.plots.tile_menu import larger
from mrfstudio.ui.style.colormaps import clone_colours
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.legend import LABELS

CLONE = Qt.ItemDataRole.UserRole
"""The clone's number."""


class CloneTile(MapTile):
    """Draws tiles."""

    def key(self, index: Index) -> tuple[int, int]:
        return id(_gallery(index)), int(index.data(CLONE))

    def picture(self, index: Index) -> PlotPicture:
        return clone_picture(_gallery(index), int(index.data(CLONE)))

    def field(self, place: QRectF, index: Index) -> QRectF:
        margin = px(self._view, 6)
        side = place.width() - 2 * margin
        return QRectF(place.left() + margin, place.top() + margin, side, side)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        wide, words = px(self._view, 74), 2 * self._view.fontMetrics().height() + px(self._view, 6)
        wide = round(wide * larger(self._view, index.model().rowCount(), wide, wide + words))
        return QSize(wide, wide + words)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        gallery = _gallery(index)
        clone: int = index.data(CLONE)
        colours = colours_of(self._view)
        place = QRectF(option.rect)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QPen(QColor(colours.accent if chosen else colours.border), 2 if chosen else 1))
            painter.setBrush(QColor(colours.accent_soft if chosen else colours.raised))
            painter.drawRoundedRect(place.adjusted(1, 1, -1, -1), 4, 4)
        square = self.field(place, index)
        self.paint_map(painter, square, index)
        self._paint_frame(painter, square, float(gallery.ownership[clone]), colours)
        self._paint_text(painter, place, square, gallery, clone, colours)
        painter.restore()

    def _paint_frame(self, painter: QPainter, square: QRectF, angle: float, colours: Colours) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.drawRect(square)
        if not math.isnan(angle):
            _arrow(painter, square, angle, colours)

    def _paint_text(
        self, painter: QPainter, place: QRectF, square: QRectF, gallery: CloneGallery, clone: int, colours: Colours
    ) -> None:
        line, gap = self._view.fontMetrics().height(), px(self._view, 4)
        swatch = QRectF(square.left(), square.bottom() + gap, line * 0.7, line * 0.7)
        painter.setPen(QPen(QColor(colours.outline), 1))
        painter.setBrush(QColor(*clone_colours(MOST_CLONES, colours.name == "dark")[clone % MOST_CLONES].tolist()))
        painter.drawRect(swatch)
        painter.setPen(QColor(colours.text))
        text = QRectF(swatch.right() + gap, square.bottom() + gap - line * 0.15, place.width(), line)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, str(clone))
        use = float(gallery.use[clone])
        painter.setPen(QColor(colours.muted))
        below = QRectF(square.left(), text.bottom(), square.width(), line)
        painter.drawText(below, Qt.AlignmentFlag.AlignVCenter, f"{use:.1%}")
        most = max(float(gallery.use.max()), 1e-12)
        bar = QRectF(square.left(), below.bottom() + px(self._view, 1), square.width() * use / most, px(self._view, 3))
        painter.fillRect(bar, QColor(colours.accent))


def _arrow(painter: QPainter, square: QRectF, angle: float, colours: Colours) -> None:
    """A short arrow from the middle towards the side of IN."""
    length = square.width() * 0.3
    along = QPointF(math.cos(angle), -math.sin(angle)) * length
    across = QPointF(-along.y(), along.x()) * 0.35
    start, tip = square.center(), square.center() + along
    for colour, width in ((QColor(colours.paper), 4.5), (QColor(colours.text), 1.8)):
        painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(start, tip)
        painter.drawLine(tip, tip - along * 0.45 + across)
        painter.drawLine(tip, tip - along * 0.45 - across)


def clone_map(gallery: CloneGallery | None, clone: int) -> MapPlot:
    """The average patch of a clone as a plot that says its probabilities."""
    plot = MapPlot(Content(f"Clone {clone}"))
    if gallery is not None:
        plot.set_picture(clone_picture(gallery, clone))
    return plot


def clone_picture(gallery: CloneGallery, clone: int) -> PlotPicture:
    """The average patch as a map in the colours of labels."""
    patch = gallery.patches[clone]

    def colour(values: np.ndarray, colours: Colours) -> np.ndarray:
        return on_paper(belief(values, LayerStyle(dark=colours.name == "dark")), colours)

    def describe(row: int, column: int, _: float) -> str:
        shares = zip(LABELS, patch[row, column], strict=False)
        return f"row {row}, column {column}: " + ", ".join(f"{name} <b>{share:.1%}</b>" for name, share in shares)

    high, wide = patch.shape[:2]
    return PlotPicture(patch, (0.0, wide), (0.0, high), colour, describe)


def _gallery(index: Index) -> CloneGallery:
    gallery: CloneGallery = index.model().gallery  # type: ignore[attr-defined]  # the browser's own model
    return gallery
