"""The items of pyqtgraph that show a content: pictures, curves with their bands, bars, dots, lines, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPen, QTransform

from mrfstudio.ui.plots.axes import DENSE, smoothed, thinned, within
from mrfstudio.ui.plots.content import DASHES, Content, Dots, PlotBars, PlotLine, PlotPicture, PlotShapes
from mrfstudio.ui.plots.drawing.cells_item import CellsItem
from mrfstudio.ui.plots.drawing.curve_item import CurveItem
from mrfstudio.ui.plots.drawing.looks import Dress, View
from mrfstudio.ui.style.colours import faded

BAND = 0.18
"""How much of its colour a band has."""
CACHED = 500
"""Points from which on each is a small picture that is stamped, not a shape."""


class Items:
    """As many items of each kind in a view box as a content has."""

    def __init__(self, content: Content, box: pg.ViewBox) -> None:
        self.content, self.box = content, box
        self.curves: list[Any] = []
        self.bands: list[Any] = []
        self.notes: list[Any] = []
        self.images: list[Any] = []
        self.present = pg.InfiniteLine(angle=90, movable=False)
        self._dots: list[Any] = []
        self._bars: list[Any] = []
        self._shapes: list[Any] = []
        self._levels: list[Any] = []
        self._marks: list[Any] = []
        self._cells = CellsItem()
        for item, height in ((self._cells, -9), (self.present, -1)):
            item.setZValue(height)
            self.box.addItem(item, ignoreBounds=True)
        self._drawn: list[Any] = []
        self._view: View
        self._dress: Dress

    def forget(self) -> None:
        """Pictures have other colours from now on."""
        self._drawn = []

    def draw(self, view: View, dress: Dress) -> None:
        """Bring all of them up to date."""
        self._view, self._dress = view, dress
        content, off = self.content, self.content.hidden
        self._draw_pictures()
        self._draw_lines([line for line in content.lines if line.key not in off and len(line.x)])
        self._draw_bars([bars for bars in content.bars if bars.key not in off])
        self._draw_dots([dots for dots in content.dots if dots.key not in off])
        self._draw_shapes(content.shapes)
        self._draw_levels()
        self._draw_marks()
        self._draw_notes()
        self._draw_present()

    def _draw_present(self) -> None:
        present = self.content.present
        self.present.setVisible(present is not None)
        if present is not None:
            self.present.setPos(float(self._view.across(np.array([present]))[0]))
            pen = hair(QColor(self._dress.colours.outline))
            if pen != self.present.pen:
                self.present.setPen(pen)

    def _pen(self, line: PlotLine) -> QPen:
        pen = QPen(line.paint(self._dress.colours), max(line.width * self._dress.unit, 1.0))
        pen.setCosmetic(True)
        if DASHES[line.dash % len(DASHES)]:
            pen.setDashPattern(DASHES[line.dash % len(DASHES)])
        return pen

    def _draw_lines(self, lines: Sequence[PlotLine]) -> None:
        view, columns = self._view, max(int(self.box.width()), 1)
        items = self._fitting(self.curves, len(lines), CurveItem)
        bands = self._fitting(self.bands, len(lines), lambda: pg.PlotCurveItem(antialias=True, skipFiniteCheck=True))
        for item, band, line in zip(items, bands, lines, strict=True):
            x, y = view.across(line.x), smoothed(line.y, view.smoothing if line.smoothed else 0.0)
            pen = self._pen(line)
            # Peaks of heights are peaks of their logarithms: few are left to be taken.
            x_seen, y_seen = within(x, y, view.x)
            fine = round(columns / pen.widthF())
            across, up = thinned(x_seen, y_seen, fine)
            unit = self.box.height() / (view.y[1] - view.y[0]) / columns
            item.show_points(across, view.upwards(up), pen, unit, len(x_seen) >= DENSE * fine)
            item.setZValue(2 if line.named else 1)
            self._draw_band(band, line, x, columns)
            item.end = (line.width + 1) * self._dress.unit if line.named else 0.0

    def _draw_band(self, item: Any, line: PlotLine, x: np.ndarray, columns: int) -> None:
        item.setVisible(line.low is not None and line.high is not None)
        if line.low is None or line.high is None:
            return
        view = self._view
        there = thinned(*within(x, line.high, view.x), columns)
        back = thinned(*within(x, line.low, view.x), columns)
        heights = view.upwards(np.concatenate([there[1], back[1][::-1]]))
        item.setData(np.concatenate([there[0], back[0][::-1]]), heights)
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
        items = self._fitting(self._dots, len(groups), lambda: pg.ScatterPlotItem(pxMode=True, antialias=True))
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
            return hair(dots.paint(colours), width=2 * self._dress.unit), None
        if dots.edge is not None:
            pen = hair(dots.edge(colours))
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
        items = self._fitting(self.images, len(pictures), lambda: pg.ImageItem(axisOrder="row-major"))
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
            item.setPen(hair(QColor(self._dress.colours.text), Qt.PenStyle.DashLine))
            item.setZValue(-1.5)  # behind the present and whatever moves
            item.label.setFormat(level.name)
            item.label.setColor(QColor(self._dress.colours.muted))
            item.label.textItem.setFont(self._dress.font)

    def _draw_marks(self) -> None:
        marks = self.content.marks
        items = self._fitting(self._marks, len(marks), lambda: pg.InfiniteLine(angle=90))
        for item, mark in zip(items, marks, strict=True):
            pen = hair(faded(self._dress.colours.warn, 0.75), Qt.PenStyle.DotLine)
            item.setPos(float(self._view.across(np.array([mark.x]))[0]))
            item.setPen(pen)
            if not item.markers:
                item.addMarker("v", 1.0, 7 * self._dress.unit)
            item.setZValue(-1.5)

    def _draw_notes(self) -> None:
        letters = QFontMetricsF(self._dress.font).height()
        unit = self.box.height() / (self._view.y[1] - self._view.y[0])
        notes = [note for note in self.content.notes if not note.room or note.room * unit >= letters]
        items = self._fitting(self.notes, len(notes), lambda: pg.TextItem(anchor=(0.5, 0)))
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


def hair(colour: QColor, style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: float = 1) -> QPen:
    """A pen of one pixel, or another width, however the view is stretched."""
    pen = QPen(colour, width, style)
    pen.setCosmetic(True)
    return pen
