"""The part of a plot that pyqtgraph draws: axes, curves, bars, dots and maps of one content in one view.

Nothing here hears the mouse: `Plot` does, so that it can be tested, and used, before the library is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QTransform,
)
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.axes import smoothed, thinned, within
from mrfstudio.ui.plots.axis_item import Axis, Dress
from mrfstudio.ui.plots.cells_item import CellsItem
from mrfstudio.ui.plots.content import DASHES, Content, Dots, PlotBars, PlotLine, PlotPicture, PlotShapes, Range
from mrfstudio.ui.plots.curve_item import CurveItem, on_pixels
from mrfstudio.ui.style.colours import faded

BAND = 0.18
"""How much of its colour a band has."""
CACHED = 500
"""Points from which on each is a small picture that is stamped, not a shape."""


@dataclass(frozen=True)
class View:
    """How a content is looked at: ranges in the coordinates of the axes, exponents of ten on a logarithmic one."""

    x: Range
    y: Range
    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.0
    """0 shows what was measured; nearly 1 a mean over very many points."""
    smallest: float = 1e-12
    """Where 0 is drawn on a logarithmic axis."""
    cross: float | None = None
    """The crosshair, in coordinates of the axis."""

    def across(self, x: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(x, self.smallest)) if self.log_x else x

    def upwards(self, y: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(y, self.smallest)) if self.log_y else y


class Body(pg.GraphicsView):
    """Axes and view box without pyqtgraph's menus and buttons: a plot takes a few milliseconds to build.

    What is drawn is kept as a picture: a crosshair that moves, or a plot beside it, costs no drawing.
    """

    def __init__(self, content: Content, parent: QWidget) -> None:
        self._dress: Any = None
        super().__init__(parent, useOpenGL=False, background=None)
        for widget in (self, self.viewport()):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameStyle(0)
        self.setCacheMode(self.CacheModeFlag.CacheNone)  # a kept background would be that of the theme before
        self.viewport().setAutoFillBackground(False)
        self.content = content
        self._view = View((0.0, 1.0), (0.0, 1.0))
        self.box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
        self.box.disableAutoRange()
        self.left = Axis("left", lambda: self._view.log_y)
        self.bottom = Axis("bottom", lambda: self._view.log_x)
        self._place()
        self._curves: list[Any] = []
        self._bands: list[Any] = []
        self._dots: list[Any] = []
        self._bars: list[Any] = []
        self._shapes: list[Any] = []
        self._levels: list[Any] = []
        self._marks: list[Any] = []
        self._notes: list[Any] = []
        self._images: list[Any] = []
        self._cells = CellsItem()
        self._present = pg.InfiniteLine(angle=90, movable=False)
        self._picture: QPixmap | None = None
        for item, height in ((self._cells, -9), (self._present, -1)):
            item.setZValue(height)
            self.box.addItem(item, ignoreBounds=True)
        self._drawn: list[Any] = []

    def _place(self) -> None:
        self.setCentralItem(pg.GraphicsWidget())  # in place of one with a layout, see `_arrange`
        self.centralLayout = None
        for item in (self.left, self.box, self.bottom):
            self.scene().addItem(item)
        for axis in (self.left, self.bottom):
            axis.linkToView(self.box)
            axis.setZValue(0.5)

    def _arrange(self) -> None:
        """By hand: each of Qt's layouts of graphics items keeps a window of its own that nobody closes."""
        left, bottom, room = self._dress.left, self._dress.bottom, self._dress.room
        wide, high = self.width() - left - 2 * room, self.height() - bottom - room
        self.box.setGeometry(QRectF(room + left, room, max(wide, 1), max(high, 1)))
        self.left.setGeometry(QRectF(room, room, max(left, 1), max(high, 1)))
        self.bottom.setGeometry(QRectF(room + left, room + high, max(wide, 1), max(bottom, 1)))

    def resizeEvent(self, ev: QResizeEvent | None) -> None:
        super().resizeEvent(ev)
        self._picture = None
        if self._dress is not None:
            self._arrange()

    # Looks ------------------------------------------------------------------------------------------------------------

    def dress(self, dress: Dress) -> None:
        """Colours, letters and margins; what is drawn next has them."""
        self._dress = dress
        self.box.setBackgroundColor(QColor(dress.colours.surface))
        for axis, room, set_room in (
            (self.left, dress.left, self.left.setWidth),
            (self.bottom, dress.bottom, self.bottom.setHeight),
        ):
            axis.setVisible(room > 0)
            set_room(room)
            axis.dress(dress)
        self._arrange()
        self.left.setGrid(round(255 * 0.28) if dress.left and not self.content.rows else False)
        self.box.invertY(dress.inverted)
        self._drawn = []

    # Drawing ----------------------------------------------------------------------------------------------------------

    def draw(self, view: View) -> None:
        """Bring everything up to date."""
        if (view.log_x, view.log_y) != (self._view.log_x, self._view.log_y):
            self.bottom.picture = self.left.picture = None  # the range may stay as it is
        self._view = view
        self.box.setRange(xRange=view.x, yRange=view.y, padding=0)
        content, shown = self.content, self.content.hidden
        lines = [line for line in content.lines if line.key not in shown and len(line.x)]
        self._draw_pictures()
        self._draw_lines(lines)
        self._draw_bars([bars for bars in content.bars if bars.key not in shown])
        self._draw_dots([dots for dots in content.dots if dots.key not in shown])
        self._draw_shapes(content.shapes)
        self._draw_levels()
        self._draw_marks()
        self._draw_notes()
        self._present.setVisible(content.present is not None)
        if content.present is not None:
            self._present.setPos(float(view.across(np.array([content.present]))[0]))
            self._present.setPen(_hair(QColor(self._dress.colours.outline)))
        self._picture = self._pictured() if self.isVisible() else None
        self.viewport().update()

    def _pictured(self) -> QPixmap:
        """Everything but the crosshair, in pixels of the screen."""
        ratio = self.devicePixelRatioF()
        made = QPixmap(max(round(self.width() * ratio), 1), max(round(self.height() * ratio), 1))
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        self.render(painter, QRectF(self.rect()), self.rect())
        painter.end()
        return made

    def paintEvent(self, ev: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        place, ratio = painter.deviceTransform(), self.devicePixelRatioF()
        ready = on_pixels(painter) and place.m11() == place.m22() == ratio and not place.isRotating()
        if ready and self._picture is None and self._dress is not None:
            self._picture = self._pictured()
        if ready and self._picture is not None:
            painter.drawPixmap(0, 0, self._picture)
        painter.end()
        if not ready:  # magnified, or into a file
            super().paintEvent(ev)
        cross = self.cross_at()
        if cross is not None:
            painter = QPainter(self.viewport())
            painter.setPen(_hair(faded(self._dress.colours.accent, 0.7)))
            area = self.area()
            painter.drawLine(QPointF(cross, area.top()), QPointF(cross, area.bottom()))
            painter.end()

    def point(self, cross: float | None) -> None:
        """Only the crosshair has moved, in coordinates of the axis."""
        before = self.cross_at()
        self._view = replace(self._view, cross=cross)
        for x in (before, self.cross_at()):
            if x is not None:
                self.viewport().update(int(x) - 1, 0, 4, self.height())

    def cross_at(self) -> float | None:
        """Where the crosshair stands in pixels of this widget, if it is in sight."""
        (left, right), cross, area = self._view.x, self._view.cross, self.area()
        if cross is None or not left <= cross <= right:
            return None
        return float(area.left() + (cross - left) / (right - left) * area.width())

    def _pen(self, line: PlotLine) -> QPen:
        pen = QPen(line.paint(self._dress.colours), max(line.width * self._dress.unit, 1.0))
        pen.setCosmetic(True)
        if DASHES[line.dash % len(DASHES)]:
            pen.setDashPattern(DASHES[line.dash % len(DASHES)])
        return pen

    def _draw_lines(self, lines: Sequence[PlotLine]) -> None:
        view, columns = self._view, max(int(self.box.width()), 1)
        items = self._fitting(self._curves, len(lines), CurveItem)
        bands = self._fitting(self._bands, len(lines), lambda: pg.PlotCurveItem(antialias=True, skipFiniteCheck=True))
        for item, band, line in zip(items, bands, lines, strict=True):
            x, y = view.across(line.x), view.upwards(smoothed(line.y, view.smoothing if line.smoothed else 0.0))
            pen = self._pen(line)
            across, up = thinned(*within(x, y, view.x), round(columns / pen.widthF()))
            item.setData(across, up)
            item.length = float(np.abs(np.diff(up)).sum()) / (view.y[1] - view.y[0]) * self.box.height() / columns
            item.setPen(pen)
            item.setZValue(2 if line.named else 1)
            self._draw_band(band, line, x, columns)
            item.end = (line.width + 1) * self._dress.unit if line.named else 0.0

    def _draw_band(self, item: Any, line: PlotLine, x: np.ndarray, columns: int) -> None:
        item.setVisible(line.low is not None and line.high is not None)
        if line.low is None or line.high is None:
            return
        view = self._view
        there = thinned(*within(x, view.upwards(line.high), view.x), columns)
        back = thinned(*within(x, view.upwards(line.low), view.x), columns)
        item.setData(np.concatenate([there[0], back[0][::-1]]), np.concatenate([there[1], back[1][::-1]]))
        colour = line.paint(self._dress.colours)
        colour.setAlphaF(BAND)
        item.setPen(QPen(Qt.PenStyle.NoPen))
        item.setBrush(colour)
        item.setFillLevel("enclosed")
        item.setZValue(0)

    def _draw_bars(self, groups: Sequence[PlotBars]) -> None:
        items = self._fitting(self._bars, len(groups), lambda: pg.BarGraphItem(x=[], height=[], width=1))
        for item, bars in zip(items, groups, strict=True):
            full = bars.heights > 0
            item.setOpts(
                x0=bars.edges[:-1][full],
                x1=bars.edges[1:][full],
                x=None,
                width=None,
                y0=np.full(int(full.sum()), bars.base),
                height=bars.heights[full],
                brush=bars.paint(self._dress.colours),
                pen=QPen(faded(self._dress.colours.text, 0.35), 0),
            )
            item.setZValue(-3)  # behind the line of the present

    def _draw_dots(self, groups: Sequence[Dots]) -> None:
        items = self._fitting(self._dots, len(groups), lambda: pg.ScatterPlotItem(pxMode=True))
        for item, dots in zip(items, groups, strict=True):
            pen, brush = self._inks(dots)
            x, y = self._view.across(dots.x), self._view.upwards(dots.y)
            item.opts["useCache"] = len(x) > CACHED  # few points stay shapes in a drawing
            sizes = np.asarray(dots.sizes) * self._dress.unit
            item.setData(x=x, y=y, size=sizes, pen=pen, brush=brush, symbol=dots.symbol)
            item.setZValue(4)

    def _inks(self, dots: Dots) -> tuple[QPen, Any]:
        """Outline and filling of points; symbols are drawn at size 1 and stretched, so pens are cosmetic."""
        colours = self._dress.colours
        pen, brush = QPen(Qt.PenStyle.NoPen), dots.paint(colours)
        if dots.ring:
            return _hair(dots.paint(colours), width=2 * self._dress.unit), None
        if dots.edge is not None:
            pen = _hair(dots.edge(colours))
        if dots.each is not None:
            rows = dots.each(colours)
            known = {row: pg.mkBrush(*row) for row in set(map(tuple, rows.tolist()))}  # few colours, many points
            return pen, [known[tuple(row)] for row in rows.tolist()]
        return pen, brush

    def _draw_shapes(self, shapes: Sequence[PlotShapes]) -> None:
        items = self._fitting(self._shapes, len(shapes), lambda: pg.PlotCurveItem(antialias=True, connect="pairs"))
        for item, shape in zip(items, shapes, strict=True):
            pen = QPen(shape.paint(self._dress.colours), max(shape.width * self._dress.unit, 1.0))
            pen.setCosmetic(True)
            pen.setStyle(Qt.PenStyle.DashLine if shape.dashed else Qt.PenStyle.SolidLine)
            item.setData(self._view.across(shape.x), self._view.upwards(shape.y), connect="pairs")
            item.setPen(pen)
            item.setZValue(-2)

    def _draw_pictures(self) -> None:
        pictures = self.content.pictures
        drawn = [(shown, self._dress.colours.name) for shown in pictures]
        items = self._fitting(self._images, len(pictures), lambda: pg.ImageItem(axisOrder="row-major"))
        for number, (item, shown) in enumerate(zip(items, pictures, strict=True)):
            if number >= len(self._drawn) or self._drawn[number] != drawn[number]:
                self._place_picture(item, shown)
        self._drawn = drawn
        self._cells.show(next((shown for shown in pictures if shown.numbers is not None), None), self._dress)

    def _place_picture(self, item: Any, shown: PlotPicture) -> None:
        pixels = np.ascontiguousarray(shown.colour(shown.values, self._dress.colours))
        item.setImage(pixels, levels=None, autoLevels=False)
        rows, columns = pixels.shape[:2]
        (left, right), (first, last) = shown.x, shown.y
        place = QTransform.fromTranslate(left, first)
        place.scale((right - left) / max(columns, 1), (last - first) / max(rows, 1))
        item.setTransform(place)
        item.setZValue(-10)

    def _draw_levels(self) -> None:
        items = self._fitting(
            self._levels,
            len(self.content.levels),
            lambda: pg.InfiniteLine(angle=0, label="", labelOpts={"position": 0.98, "anchors": [(1, 1), (1, 0)]}),
        )
        for item, level in zip(items, self.content.levels, strict=True):
            item.setPos(float(self._view.upwards(np.array([level.value]))[0]))
            item.setPen(_hair(QColor(self._dress.colours.text), Qt.PenStyle.DashLine))
            item.label.setFormat(level.name)
            item.label.setColor(QColor(self._dress.colours.muted))
            item.label.textItem.setFont(self._dress.font)

    def _draw_marks(self) -> None:
        marks = self.content.marks
        items = self._fitting(self._marks, len(marks), lambda: pg.InfiniteLine(angle=90))
        for item, mark in zip(items, marks, strict=True):
            pen = _hair(faded(self._dress.colours.warn, 0.75), Qt.PenStyle.DotLine)
            item.setPos(float(self._view.across(np.array([mark.x]))[0]))
            item.setPen(pen)
            if not item.markers:
                item.addMarker("v", 1.0, 7 * self._dress.unit)
            item.setZValue(-1)

    def _draw_notes(self) -> None:
        letters = QFontMetricsF(self._dress.font).height()
        unit = self.box.height() / (self._view.y[1] - self._view.y[0])
        notes = [note for note in self.content.notes if not note.room or note.room * unit >= letters]
        items = self._fitting(self._notes, len(notes), lambda: pg.TextItem(anchor=(0.5, 0)))
        for item, note in zip(items, notes, strict=True):
            wanted = (note, self._dress)
            if getattr(item, "shows", None) != wanted:  # letters are laid out anew, which takes a while
                item.shows = wanted
                item.setAnchor(pg.Point(*note.anchor))
                item.setText(note.text, QColor(self._dress.colours.muted))
                item.setFont(self._dress.font)
                item.fill = pg.mkBrush(faded(self._dress.colours.surface, 0.75))
                item.setPos(note.x, note.y)
                item.setZValue(5)

    def _fitting(self, items: list[Any], count: int, make: Callable[[], Any]) -> list[Any]:
        """Exactly so many items of one kind in the view."""
        while len(items) < count:
            items.append(make())
            self.box.addItem(items[-1], ignoreBounds=True)
        while len(items) > count:
            self.box.removeItem(items.pop())
        return items

    def area(self) -> QRectF:
        """Where the view box stands, in pixels of this widget."""
        return self.box.sceneBoundingRect()


def _hair(colour: QColor, style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: float = 1) -> QPen:
    """A pen of one pixel, or another width, however the view is stretched."""
    pen = QPen(colour, width, style)
    pen.setCosmetic(True)
    return pen
