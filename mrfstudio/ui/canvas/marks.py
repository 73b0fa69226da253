"""Marks over the picture: brush ring, the pixels under it, rectangle preview, keyboard cursor, pixel grid, arrows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.style.colours import Colours, faded

SEEN_APART = 6.0
"""Pixels of the screen between lines that can still be told apart."""
GRID_FROM = 10.0  # screen pixels for one image pixel, from which on the grid helps
FOOTPRINT_FROM = 4.0
ARROWS_FROM = 12.0


def two_tone() -> tuple[QPen, QPen]:
    """A dark and a light pen: what they draw one after the other is seen on every background."""
    return QPen(QColor(0, 0, 0, 170), 3.0), QPen(QColor(255, 255, 255, 235), 1.4)


def ring(painter: QPainter, centre: QPointF, radius: float) -> None:
    """The brush: a circle of `radius` screen pixels, its line exactly on the edge of what is painted."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in two_tone():
        painter.setPen(pen)
        painter.drawEllipse(centre, radius, radius)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def target(painter: QPainter, centre: QPointF, radius: float) -> None:
    """A place that is pointed out: a dashed ring with four ticks."""
    ticks = [
        QLineF(centre + QPointF(x, y) * radius, centre + QPointF(x, y) * radius * 1.35)
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in two_tone():
        painter.setPen(pen)
        painter.drawLines(ticks)
        pen.setStyle(Qt.PenStyle.DashLine if pen.color().lightness() > 128 else Qt.PenStyle.SolidLine)
        painter.setPen(pen)
        painter.drawEllipse(centre, radius, radius)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def footprint(painter: QPainter, transform: Transform, top: int, left: int, mask: np.ndarray) -> None:
    """The outline of the pixels (h, w) that a dab here would paint; the picture's pixel (top, left) is its first."""
    if transform.scale < FOOTPRINT_FROM or not mask.any():
        return
    lines = _outline(transform, top, left, mask.shape, mask.tobytes())
    for colour, style in (
        (QColor(0, 0, 0, 150), Qt.PenStyle.SolidLine),
        (QColor(255, 255, 255, 200), Qt.PenStyle.DotLine),
    ):
        painter.setPen(QPen(colour, 1, style))
        painter.drawLines(lines)


@lru_cache(maxsize=4)
def _outline(transform: Transform, top: int, left: int, shape: tuple[int, ...], mask: bytes) -> list[QLineF]:
    """The edges between the pixels (h, w) of a mask and the others; remembered, because every frame asks again."""
    padded = np.pad(np.frombuffer(mask, bool).reshape(shape), 1)
    lines = []
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]).tolist():
        a = transform.to_widget(left + column, top + row)
        lines.append(QLineF(a, a + QPointF(transform.scale, 0)))
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]).tolist():
        a = transform.to_widget(left + column, top + row)
        lines.append(QLineF(a, a + QPointF(0, transform.scale)))
    return lines


def border(
    painter: QPainter, transform: Transform, shown: tuple[int, int, int, int], mask: np.ndarray, colours: Colours
) -> None:
    """A line around the pixels of a mask; `shown` is top, left, height, width of what it covers."""
    if mask.shape != tuple(shown[2:]) or not mask.any() or mask.all():
        return
    lines = _outline(transform, shown[0], shown[1], mask.shape, mask.tobytes())
    for colour, width in ((faded(colours.paper, 0.7), 3.0), (QColor(colours.accent), 1.4)):
        painter.setPen(QPen(colour, width))
        painter.drawLines(lines)


def box(painter: QPainter, place: QRectF) -> None:
    """A dashed rectangle being dragged."""
    _dashed(painter, lambda: painter.drawRect(place))


def oval(painter: QPainter, place: QRectF) -> None:
    """A dashed ellipse being dragged."""
    _dashed(painter, lambda: painter.drawEllipse(place))


def lasso(painter: QPainter, points: Sequence[QPointF]) -> None:
    """A dashed line being drawn around an area, closed by the shortest way."""
    _dashed(painter, lambda: painter.drawPolygon(list(points)))


def _dashed(painter: QPainter, draw: Callable[[], None]) -> None:
    """Light dashes on dark, seen on every background."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen, style in zip(two_tone(), (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine), strict=True):
        pen.setStyle(style)
        painter.setPen(pen)
        draw()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def crosshair(painter: QPainter, place: QRectF) -> None:
    """The keyboard's cursor: a frame around its pixel, with four ticks so that it is found at every zoom."""
    place = place.adjusted(-1, -1, 1, 1)
    centre, reach = place.center(), max(place.width() / 2, 3) + 6
    for pen in two_tone():
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(place)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            inner = QPointF(dx * (place.width() / 2 + 1), dy * (place.height() / 2 + 1))
            painter.drawLine(centre + inner, centre + QPointF(dx * reach, dy * reach))


def grid(
    painter: QPainter,
    transform: Transform,
    shown: tuple[int, int, int, int],
    colours: Colours,
    smallest: float = GRID_FROM,
) -> None:
    """Lines between pixels, once they are large enough; `shown` is top, left, height, width."""
    if transform.scale < smallest:
        return
    top, left, height, width = shown
    painter.setPen(QPen(faded(colours.grid, 0.35), 0))
    place = transform.rectangle(top, left, height, width)
    x = [place.left() + column * transform.scale for column in range(width + 1)]
    y = [place.top() + row * transform.scale for row in range(height + 1)]
    painter.drawLines([QLineF(at, place.top(), at, place.bottom()) for at in x])
    painter.drawLines([QLineF(place.left(), at, place.right(), at) for at in y])


def between_pixels(painter: QPainter, transform: Transform, shown: tuple[int, int, int, int], colour: QColor) -> None:
    """The lines between neighbours, where messages go and couplings lie; every so many pixels where these are small."""
    top, left, height, width = shown
    every = max(1, math.ceil(SEEN_APART / transform.scale))
    painter.setPen(QPen(colour, 2))
    place = transform.rectangle(top, left, height, width)
    x = [place.left() + column * transform.scale for column in range(0, width + 1, every)]
    y = [place.top() + row * transform.scale for row in range(0, height + 1, every)]
    painter.drawLines([QLineF(at, place.top(), at, place.bottom()) for at in x])
    painter.drawLines([QLineF(place.left(), at, place.right(), at) for at in y])


def arrows(
    painter: QPainter, transform: Transform, angles: np.ndarray, origin: tuple[int, int], colours: Colours
) -> None:
    """Border ownership in large pixels: an arrow towards the side where the clone expects IN; NaN has none."""
    if transform.scale < ARROWS_FROM:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    size = transform.scale * 0.32
    lines = []
    for row, column in np.argwhere(np.isfinite(angles)):
        angle = float(angles[row, column])
        along = QPointF(math.cos(angle), -math.sin(angle)) * size
        across = QPointF(-along.y(), along.x()) * 0.45
        centre = transform.to_widget(origin[1] + column + 0.5, origin[0] + row + 0.5)
        tip = centre + along
        lines += [
            QLineF(centre - along, tip),
            QLineF(tip, centre + along * 0.2 + across),
            QLineF(tip, centre + along * 0.2 - across),
        ]
    for colour, width in ((faded(colours.paper, 0.9), 3.4), (QColor(colours.text), 1.5)):
        painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLines(lines)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
