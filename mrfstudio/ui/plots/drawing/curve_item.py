"""A curve as a pyqtgraph item that is drawn quickly, and as thick as it was asked to be on every screen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from pyqtgraph.graphicsItems.PlotCurveItem import arrayToLineSegments
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPaintEngine, QPainter, QPen

LONG = 1.0
"""Widths of the area up and down from which on the outline of a curve is too dear to be worked out."""


class CurveItem(pg.PlotCurveItem):
    """A line, and a dot at its end: a single point is a point, not nothing.

    One that swings all the time is drawn piece by piece on the screen, 40 times as fast as its outline.
    """

    def __init__(self) -> None:
        super().__init__(antialias=True, skipFiniteCheck=True)
        self.length = 0.0
        """How far it goes up and down, in widths of the area."""
        self.dense = False
        """Whether it fills every screen column from its lowest to its highest point: there are no slopes to smooth."""
        self.end = 0.0
        """Pixels of the dot's radius; 0 leaves it out."""
        self._pieces: Any = None

    def show_points(self, x: np.ndarray, y: np.ndarray, pen: QPen, height: float, dense: bool) -> None:
        """Another line, (n,) and (n,); `height` is how many widths of the area one unit of y is."""
        self.setData(x, y)
        self.dense = dense
        self.length = float(np.abs(np.diff(y)).sum()) * height
        if pen != self.opts["pen"]:
            self.setPen(pen)

    def paint(self, p: QPainter, opt: Any, widget: Any) -> None:
        pen = self.opts["pen"]
        if on_pixels(p):  # a pen that is not stretched counts pixels of the screen, of which there may be more
            ratio = abs(p.deviceTransform().m11() / p.worldTransform().m11())
            self.opts["pen"] = QPen(pen)
            self.opts["pen"].setWidthF(pen.widthF() * ratio)
        if self.length > LONG and on_pixels(p):  # in a drawing it stays one line
            self._paint_pieces(p)
        else:
            super().paint(p, opt, widget)
        self.opts["pen"] = pen
        if self.end:
            self._paint_end(p)

    def _paint_end(self, p: QPainter) -> None:
        across, up = abs(p.worldTransform().m11()), abs(p.worldTransform().m22())  # pixels of a unit
        if across and up:
            p.setRenderHint(QPainter.RenderHint.Antialiasing)
            p.setPen(Qt.PenStyle.NoPen)
            p.setBrush(self.opts["pen"].color())
            x, y = self.getData()
            p.drawEllipse(QPointF(x[-1], y[-1]), self.end / across, self.end / up)
            p.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_pieces(self, p: QPainter) -> None:
        """In pixels: Qt takes six times as long for lines that it must stretch first."""
        place, (x, y) = p.worldTransform(), self.getData()
        p.save()
        p.resetTransform()
        if self.dense:  # dashes of so short pieces would be a hatching, and six times as slow
            self.opts["pen"].setStyle(Qt.PenStyle.SolidLine)
        p.setRenderHint(QPainter.RenderHint.Antialiasing, not self.dense)  # three times as fast without
        p.setPen(self.opts["pen"])
        across, up = place.m11() * x + place.m21() * y + place.dx(), place.m12() * x + place.m22() * y + place.dy()
        self._pieces = arrayToLineSegments(across, up, "all", finiteCheck=False)  # Qt reads its memory
        p.drawLines(*self._pieces.drawargs())
        p.restore()


def on_pixels(painter: QPainter) -> bool:
    """Whether it fills pixels, of the screen or of a picture, and does not describe lines to a file."""
    return painter.paintEngine().type() == QPaintEngine.Type.Raster
