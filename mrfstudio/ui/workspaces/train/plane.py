"""The plane: a density of points while it is learned, and a brush that adds and removes points meanwhile."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.training import PlanePicture
from mrfstudio.ui.plots.content import Content, PlotPicture, PlotShapes, Range
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.train.plane_picture import (
    contours,
    density_map,
    fresh_dots,
    plan_lines,
    point_dots,
    sample_dots,
)

LAYERS = ("density", "points", "samples", "plan")
POINTS_A_MOVE = 5
"""Points that the brush drops with each movement."""
SMALLEST, LARGEST = 6, 120
"""Radius of the brush, in pixels of the screen."""
PAINTING = Qt.MouseButton.LeftButton | Qt.MouseButton.RightButton


class PlaneCanvas(Plot):
    """Density with a hue a component, data, samples and plan, as a plot.

    While a run goes on the left button paints points and the right one removes them; the middle one pans. `painted` has
    what was added, (x, y), and the discs that were emptied, (x, y, radius), in the points' own units.
    """

    painted = Signal(tuple, tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Content("", "", "", "x", "y"), None, parent)
        self.content.legend = False
        self.picture: PlanePicture | None = None
        self._density: PlotPicture | None = None
        self._levels: list[PlotShapes] = []
        self.layers = {"density": True, "points": True, "samples": False, "plan": True}
        self.can_paint = False
        self.radius = 24.0
        self.square, self.can_be_logarithmic = True, False
        self._fresh: list[tuple[float, float]] = []
        self._random = np.random.default_rng(0)
        self._held: QPointF | None = None  # where the middle button has the plane
        self._ring = BrushRing(self)
        self.setAccessibleName("The plane")
        self.setWhatsThis(
            "Points and the density that is learned from them, a hue for each component. While a run goes on the left "
            "button adds points and the right one removes them; [ and ] change the size of the brush. The wheel zooms, "
            "the middle button pans, Home shows everything again."
        )

    def set_picture(self, picture: PlanePicture | None) -> None:
        """Show another moment; points that were painted meanwhile stay until the data have them."""
        if picture is not None and self.picture is not None and not np.array_equal(picture.points, self.picture.points):
            self._fresh.clear()
        self.picture = picture
        self._density = None if picture is None else density_map(picture)
        self._levels = [] if picture is None else [contours(picture)]
        self._show()

    def set_layer(self, name: str, shown: bool) -> None:
        self.layers[name] = shown
        self._show()

    def _show(self) -> None:
        content, picture, shown = self.content, self.picture, self.layers
        if picture is None:
            content.pictures, content.dots, content.shapes = (), (), ()
        else:
            content.picture = self._density if shown["density"] else None
            levels = self._levels if shown["density"] else []
            content.shapes = [*levels, *plan_lines(picture)] if shown["plan"] else levels
            points = [point_dots(picture), *fresh_dots(self._fresh)] if shown["points"] else []
            content.dots = [*points, sample_dots(picture)] if shown["samples"] else points
        content.tell()

    def whole_x(self) -> Range:
        return (0.0, 1.0) if self.picture is None else (self.picture.window[0], self.picture.window[2])

    def whole_y(self) -> Range:
        return (0.0, 1.0) if self.picture is None else (self.picture.window[1], self.picture.window[3])

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 420))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 60))

    @property
    def plane_radius(self) -> float:
        """The brush in the points' own units."""
        left, right = self.span_x()
        return self.radius / self.area().width() * (right - left)

    # The brush --------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            self._held = event.position()
        elif self.can_paint and self.picture is not None:
            self._paint(event)
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._ring.move_to(event.position() if self.can_paint else None)
        if self._held is not None and event.buttons() & Qt.MouseButton.MiddleButton:
            self.pan(event.position() - self._held)
            self._held = event.position()
        elif self.can_paint and self.picture is not None and event.buttons() & PAINTING:
            self._paint(event)
        else:
            super().mouseMoveEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.can_paint:
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if not self.can_paint or event.reason() == QContextMenuEvent.Reason.Keyboard:
            super().contextMenuEvent(event)

    def _paint(self, event: QMouseEvent) -> None:
        self._tip.hide()
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._add(event.position())
        else:
            self.painted.emit((), ((*self.at(event.position()), self.plane_radius),))

    def _add(self, position: QPointF) -> None:
        """Drop points evenly over the disc of the brush."""
        angle = self._random.uniform(0, 2 * np.pi, POINTS_A_MOVE)
        away = self.radius * np.sqrt(self._random.random(POINTS_A_MOVE))
        dropped = [
            QPointF(position.x() + r * np.cos(a), position.y() + r * np.sin(a))
            for a, r in zip(angle, away, strict=True)
        ]
        inside = [self.at(point) for point in dropped if self.area().contains(point)]
        if inside:
            self._fresh += inside
            self.painted.emit(tuple(inside), ())
            self._show()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._ring.move_to(None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ring.setGeometry(self.rect())
        self._ring.raise_()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_BracketLeft:
            self._set_radius(self.radius / 1.25)
        elif event.key() == Qt.Key.Key_BracketRight:
            self._set_radius(self.radius * 1.25)
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._set_radius(self.radius * (1.15 if event.angleDelta().y() > 0 else 1 / 1.15))
        else:
            super().wheelEvent(event)

    def _set_radius(self, radius: float) -> None:
        self.radius = float(np.clip(radius, SMALLEST, LARGEST))
        self._ring.update()


class BrushRing(QWidget):
    """The outline of the brush around the pointer, above the plot and in nobody's way."""

    def __init__(self, plane: PlaneCanvas) -> None:
        super().__init__(plane)
        self._plane = plane
        self._at: QPointF | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def move_to(self, at: QPointF | None) -> None:
        if at != self._at:
            self._at = at
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._at is None:
            return
        painter, colours = QPainter(self), colours_of(self._plane)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(self._plane.area())
        for colour, width in ((colours.paper, 3.0), (colours.text, 1.2)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawEllipse(self._at, self._plane.radius, self._plane.radius)
