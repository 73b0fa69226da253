"""The part of a plot that pyqtgraph draws: axes, curves, bars, dots and maps of one content in one view.

Nothing here hears the mouse: `Plot` does, so that it can be tested, and used, before the library is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.content import Content
from mrfstudio.ui.plots.drawing.axis_item import Axis
from mrfstudio.ui.plots.drawing.curve_item import on_pixels
from mrfstudio.ui.plots.drawing.items import Items, hair
from mrfstudio.ui.plots.drawing.looks import Dress, View
from mrfstudio.ui.style.colours import faded


class Body(pg.GraphicsView):
    """Axes and view box without pyqtgraph's menus and buttons: a plot takes a few milliseconds to build.

    What is drawn is kept as a picture: a crosshair that moves, or a plot beside it, costs no drawing. While points
    arrive, what lies behind the curves and what lies above them are pictures of their own, see `_pictured`.
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
        self._area = QRectF()
        self._place()
        self.parts = Items(content, self.box)
        self._picture: QPixmap | None = None
        self._still: Any = None
        self._behind = self._above = QPixmap()
        self._pointed: float | None = None  # where the crosshair was painted last

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
        self._area = self.box.sceneBoundingRect()
        self.left.setGeometry(QRectF(room, room, max(left, 1), max(high, 1)))
        self.bottom.setGeometry(QRectF(room + left, room + high, max(wide, 1), max(bottom, 1)))

    def resizeEvent(self, ev: QResizeEvent | None) -> None:
        super().resizeEvent(ev)
        self._picture = None
        if self._dress is not None:
            self._arrange()

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
        self.parts.forget()
        self._still = None

    # Drawing ----------------------------------------------------------------------------------------------------------

    def draw(self, view: View) -> None:
        """Bring everything up to date."""
        if (view.log_x, view.log_y) != (self._view.log_x, self._view.log_y):
            self.bottom.picture = self.left.picture = None  # the range may stay as it is
        self._view = view
        if self._still is None or self._still[0] != view.frame:
            self.box.setRange(xRange=view.x, yRange=view.y, padding=0)
        self.parts.draw(view, self._dress)
        self._picture = self._pictured() if self.isVisible() else None
        self.viewport().update()

    def _pictured(self) -> QPixmap:
        """Everything but the crosshair, in pixels of the screen.

        Twelve plots cannot be drawn by Qt's scene thirty times a second: it asks each item for its place, in Python.
        So while axes and everything else stand still, curves alone are painted, by themselves, between two pictures.
        """
        self.scene().prepareForPaint()
        made, content = self._blank(), self.content
        painter = QPainter(made)
        if content.dots or content.notes:  # they lie above the curves
            self.render(painter, QRectF(self.rect()), self.rect())
        else:
            self._keep_still()
            painter.drawPixmap(0, 0, self._behind)
            self._paint_curves(painter)
            painter.drawPixmap(0, 0, self._above)
        painter.end()
        return made

    def _blank(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        made = QPixmap(max(round(self.width() * ratio), 1), max(round(self.height() * ratio), 1))
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        return made

    def _keep_still(self) -> None:
        """Draw what lies behind the curves, and the axes above them, unless they are as they were."""
        content = self.content
        still = (
            self._view.frame,
            (self.size(), self.devicePixelRatioF()),
            (tuple(content.bars), tuple(content.pictures), tuple(content.shapes), set(content.hidden)),
            (tuple(content.levels), tuple(content.marks), tuple(content.rows), tuple(content.columns)),
            self.left.drawn and self.bottom.drawn,
        )
        if self._still == still:
            return
        axes = [self.left, self.bottom]
        self._behind, self._above = self._blank(), self._blank()
        with _unseen([*axes, *self._moving(), self.parts.present]):
            self._render(self._behind)
        with _unseen([self.box]):
            self._render(self._above)
        self._still = (*still[:-1], True)

    def _render(self, picture: QPixmap) -> None:
        painter = QPainter(picture)
        self.render(painter, QRectF(self.rect()), self.rect())
        painter.end()

    def _moving(self) -> list[Any]:
        """Curves and their bands, those below first."""
        return [*self.parts.bands, *sorted(self.parts.curves, key=lambda item: item.zValue())]

    def _paint_curves(self, painter: QPainter) -> None:
        """The line of the present and all curves, as the scene would."""
        painter.save()
        painter.setClipRect(self._area)
        present = self.parts.present
        if present.isVisible():  # as it was drawn: paper shows a content without its present
            x = self.box.childGroup.sceneTransform().map(QPointF(present.value(), 0.0)).x()
            painter.setPen(present.pen)
            painter.drawLine(QPointF(x, self._area.top()), QPointF(x, self._area.bottom()))
        painter.setTransform(self.box.childGroup.sceneTransform())
        for item in self._moving():
            if item.isVisible():
                item.paint(painter, None, None)
        painter.restore()

    def paintEvent(self, ev: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        place, ratio = painter.deviceTransform(), self.devicePixelRatioF()
        ready = on_pixels(painter) and place.m11() == place.m22() == ratio and not place.isRotating()
        if not ready:  # magnified, or into a file
            painter.end()
            super().paintEvent(ev)
            painter = QPainter(self.viewport())
        elif self._dress is not None:
            if self._picture is None:
                self._picture = self._pictured()
            painter.drawPixmap(0, 0, self._picture)
        cross = self._pointed = self.cross_at()
        if cross is not None:
            painter.setPen(hair(faded(self._dress.colours.accent, 0.7)))
            painter.drawLine(QPointF(cross, self._area.top()), QPointF(cross, self._area.bottom()))
        painter.end()

    # The crosshair ----------------------------------------------------------------------------------------------------

    def point(self, cross: float | None) -> None:
        """Only the crosshair has moved, in coordinates of the axis; `glance` shows it."""
        self._view = replace(self._view, cross=cross)

    def glance(self) -> None:
        """Paint the crosshair where it is now, and nothing where it was."""
        for x in (self._pointed, self.cross_at()):
            if x is not None:
                self.viewport().update(int(x) - 1, 0, 4, self.height())

    def cross_at(self) -> float | None:
        """Where the crosshair stands in pixels of this widget, if it is in sight."""
        (left, right), cross = self._view.x, self._view.cross
        if cross is None or not left <= cross <= right:
            return None
        return self._area.left() + (cross - left) / (right - left) * self._area.width()

    def area(self) -> QRectF:
        """Where the view box stands, in pixels of this widget."""
        return self._area


@contextmanager
def _unseen(items: list[Any]) -> Iterator[None]:
    """Leave some items out of what is rendered."""
    for item in items:
        item.setOpacity(0.0)
    try:
        yield
    finally:
        for item in items:
            item.setOpacity(1.0)
