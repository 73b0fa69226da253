"""What the canvas draws over its picture: grid, hole, wipe, pinned pixel, the area under way, cursor and brush ring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from mrfstudio.engine.protocol.raster import stroke_mask
from mrfstudio.ui.canvas import marks, wipe
from mrfstudio.ui.canvas.tools import corners, rectangle_between
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.words.symbols import symbol_colours

if TYPE_CHECKING:
    from mrfstudio.ui.canvas.view import CanvasBase


def paint_marks(canvas: CanvasBase, painter: QPainter) -> None:
    """Everything, in order."""
    colours, transform = colours_of(canvas), canvas.transform
    marks.grid(painter, transform, canvas.visible_rectangle(), colours, canvas.grid_from)
    if canvas.lit_between:
        colour = QColor(symbol_colours(colours)[canvas.lit_between])
        marks.between_pixels(painter, transform, canvas.visible_rectangle(), colour)
    paint_arrows(canvas, painter, transform)
    painter.setPen(QPen(QColor(colours.outline), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(transform.rectangle(0, 0, *canvas.scene.shape).adjusted(-1, -1, 0, 0))
    _paint_hole(canvas, painter)
    _paint_wipe(canvas, painter)
    if canvas.scene.place is not None and "strokes" in canvas.scene.visible and not canvas.scene.original_only:
        row, column, radius = canvas.scene.place
        reach = max(radius * transform.scale, 10.0)
        marks.target(painter, transform.to_widget(column + 0.5, row + 0.5), reach)
    if canvas.pinned is not None:
        marks.crosshair(painter, transform.rectangle(*canvas.pinned, 1, 1))
    if canvas.tools.active:
        _paint_area(canvas, painter)
    _paint_cursor(canvas, painter)


def paint_arrows(canvas: CanvasBase, painter: QPainter, transform: Transform) -> None:
    """Border ownership, where that layer is shown."""
    angles = canvas.scene.layer("ownership")
    if angles is not None and "ownership" in canvas.scene.visible and not canvas.scene.original_only:
        marks.arrows(painter, transform, angles, canvas.scene.rectangle[:2], colours_of(canvas))


def _paint_hole(canvas: CanvasBase, painter: QPainter) -> None:
    """Where unknown pixels begin: what is filled in there is told from what was known."""
    unknown = canvas.scene.layer("mask")
    if unknown is not None and "mask" in canvas.scene.visible and not canvas.scene.original_only:
        marks.border(painter, canvas.transform, canvas.scene.rectangle, unknown == 1, colours_of(canvas))


def _paint_wipe(canvas: CanvasBase, painter: QPainter) -> None:
    if canvas.scene.wipe is not None:
        picture, widget = canvas.transform.rectangle(0, 0, *canvas.scene.shape), QRectF(canvas.rect())
        lit = canvas.wiping or (canvas.pointer is not None and canvas.on_grip(canvas.pointer))
        wipe.paint(painter, picture, widget, canvas.scene.wipe, colours_of(canvas), named=lit, lit=lit)


def _paint_area(canvas: CanvasBase, painter: QPainter) -> None:
    """The area that is being drawn, before it is filled."""
    tools, transform = canvas.tools, canvas.transform
    if tools.tool == "lasso":
        marks.lasso(painter, [transform.to_widget(x, y) for x, y in tools.points])
    elif tools.tool == "ellipse":
        marks.oval(painter, transform.rectangle(*corners(tools.points[0], tools.points[-1])))
    elif tools.tool == "rectangle":
        dragged = rectangle_between(tools.points[0], tools.points[-1], canvas.scene.shape)
        if dragged is not None:
            marks.box(painter, transform.rectangle(*dragged))


def _paint_cursor(canvas: CanvasBase, painter: QPainter) -> None:
    """The keyboard's cursor, and the ring of the brush with the pixels under it."""
    centre: QPointF | None = canvas.pointer
    if canvas.cursor_pixel is not None and canvas.hasFocus():
        row, column = canvas.cursor_pixel
        marks.crosshair(painter, canvas.transform.rectangle(row, column, 1, 1))
        centre = canvas.transform.to_widget(column + 0.5, row + 0.5)
    if centre is None or canvas.tools.tool not in ("brush", "eraser") or canvas.on_grip(centre):
        return
    point = canvas.transform.to_image(centre)
    top, left, mask = stroke_mask([point], canvas.tools.radius, canvas.scene.shape)
    marks.footprint(painter, canvas.transform, top, left, mask)
    marks.ring(painter, centre, canvas.tools.radius * canvas.transform.scale)
