"""The plane: a density of points while it is learned, and a brush that adds and removes points meanwhile."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mrfstudio.engine.protocol.training import PlanePicture
from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.workspaces.train.plane_picture import component_colours, mixed, plane_image

LAYERS = ("density", "points", "samples", "plan")
POINTS_A_MOVE = 5
"""Points that the brush drops with each movement."""
SMALLEST, LARGEST = 6, 120
"""Radius of the brush, in pixels of the screen."""


class PlaneCanvas(QWidget):
    """Density with a hue a component, data, samples and plan; left paints points, right removes them.

    `painted` has what was added, (x, y), and the discs that were emptied, (x, y, radius), in the points' own units.
    """

    painted = Signal(tuple, tuple)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.picture: PlanePicture | None = None
        self.layers = {"density": True, "points": True, "samples": False, "plan": True}
        self.can_paint = False
        self.radius = 24.0
        self._image: QImage | None = None
        self._image_theme = ""
        self._cursor: QPointF | None = None
        self._fresh: list[tuple[float, float]] = []
        self._random = np.random.default_rng(0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("The plane")
        self.setWhatsThis(
            "Points and the density that is learned from them, a hue for each component. While a run goes on the left "
            "button adds points and the right one removes them; [ and ] change the size of the brush."
        )

    def set_picture(self, picture: PlanePicture | None) -> None:
        """Show another moment; points that were painted meanwhile stay until the data have them."""
        if picture is not None and self.picture is not None and len(picture.points) != len(self.picture.points):
            self._fresh.clear()
        self.picture, self._image = picture, None
        self.update()

    def set_layer(self, name: str, shown: bool) -> None:
        self.layers[name] = shown
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 420))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 60))

    # Geometry ---------------------------------------------------------------------------------------------------------

    def frame(self) -> QRectF:
        """The square on the screen in which the window of the plane is drawn."""
        side = max(min(self.width(), self.height()) - 2 * px(self, 4), 1)
        return QRectF((self.width() - side) / 2, (self.height() - side) / 2, side, side)

    def on_screen(self, points: np.ndarray) -> np.ndarray:
        """(n, 2) points → (n, 2) positions in pixels; up is up."""
        assert self.picture is not None
        left, bottom, right, top = self.picture.window
        frame = self.frame()
        x = frame.left() + (points[:, 0] - left) / (right - left) * frame.width()
        y = frame.bottom() - (points[:, 1] - bottom) / (top - bottom) * frame.height()
        return np.stack([x, y], 1)

    def in_plane(self, position: QPointF) -> tuple[float, float]:
        """The point of the plane under a position."""
        assert self.picture is not None
        left, bottom, right, top = self.picture.window
        frame = self.frame()
        x = left + (position.x() - frame.left()) / frame.width() * (right - left)
        return x, bottom + (frame.bottom() - position.y()) / frame.height() * (top - bottom)

    @property
    def plane_radius(self) -> float:
        """The brush in the points' own units."""
        assert self.picture is not None
        return self.radius / self.frame().width() * (self.picture.window[2] - self.picture.window[0])

    # Drawing ----------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = colours_of(self)
        frame = self.frame()
        painter.fillRect(frame, QColor(colours.paper))
        if self.picture is not None:
            painter.setClipRect(frame)
            self._paint_density(painter, frame)
            self._paint_plan(painter)
            self._paint_points(painter)
            self._paint_samples(painter)
            self._paint_brush(painter)
            painter.setClipping(False)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.focus if self.hasFocus() else colours.border), 1))
        painter.drawRect(frame.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _paint_density(self, painter: QPainter, frame: QRectF) -> None:
        colours = colours_of(self)
        if not self.layers["density"] or self.picture is None:
            return
        if self._image is None or self._image_theme != colours.name:
            pixels = np.ascontiguousarray(plane_image(self.picture, colours))
            height, width = pixels.shape[:2]
            # copy: the image would otherwise keep a view of the array
            self._image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()
            self._image_theme = colours.name
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(frame, self._image)

    def _paint_plan(self, painter: QPainter) -> None:
        assert self.picture is not None
        lines = self.picture.lines
        if not self.layers["plan"] or not len(lines):
            return
        colours = colours_of(self)
        starts, ends = self.on_screen(lines[:, :2]), self.on_screen(lines[:, 2:4])
        for start, end, share in zip(starts, ends, lines[:, 4], strict=True):
            painter.setPen(QPen(faded(colours.text, 0.15 + 0.7 * float(share)), px(self, 1)))
            painter.drawLine(QPointF(*start), QPointF(*end))

    def _paint_points(self, painter: QPainter) -> None:
        assert self.picture is not None
        if not self.layers["points"]:
            return
        colours, picture = colours_of(self), self.picture
        size = px(self, 2) if len(picture.points) > 400 else px(self, 3)
        claimed = mixed(picture.responsibilities, colours, len(picture.points))
        painter.setPen(QPen(faded(colours.paper, 0.8), 0.6))
        for (x, y), (red, green, blue) in zip(self.on_screen(picture.points), claimed, strict=True):
            painter.setBrush(QColor(int(red), int(green), int(blue)))
            painter.drawEllipse(QPointF(x, y), size, size)
        if self._fresh:
            painter.setBrush(QColor(colours.highlight))
            for x, y in self.on_screen(np.array(self._fresh)):
                painter.drawEllipse(QPointF(x, y), size, size)

    def _paint_samples(self, painter: QPainter) -> None:
        assert self.picture is not None
        if not self.layers["samples"]:
            return
        colours, picture = colours_of(self), self.picture
        hues = component_colours(max(len(picture.shares), 1), colours)
        arm = px(self, 2)
        for (x, y), which in zip(self.on_screen(picture.samples), picture.sample_components, strict=True):
            painter.setPen(QPen(QColor(*(int(v * 0.7) for v in hues[int(which)])), px(self, 1)))
            painter.drawLine(QPointF(x - arm, y), QPointF(x + arm, y))
            painter.drawLine(QPointF(x, y - arm), QPointF(x, y + arm))

    def _paint_brush(self, painter: QPainter) -> None:
        if self._cursor is None or not self.can_paint:
            return
        colours = colours_of(self)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for colour, width in ((colours.paper, 3.0), (colours.text, 1.2)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawEllipse(self._cursor, self.radius, self.radius)

    # The brush --------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._cursor = event.position()
        if self.can_paint and self.picture is not None:
            if event.buttons() & Qt.MouseButton.LeftButton:
                self._add(event.position())
            elif event.buttons() & Qt.MouseButton.RightButton:
                self.painted.emit((), ((*self.in_plane(event.position()), self.plane_radius),))
        self.update()

    def _add(self, position: QPointF) -> None:
        """Drop points evenly over the disc of the brush."""
        angle = self._random.uniform(0, 2 * np.pi, POINTS_A_MOVE)
        away = self.radius * np.sqrt(self._random.random(POINTS_A_MOVE))
        frame = self.frame()
        dropped = [
            QPointF(position.x() + r * np.cos(a), position.y() + r * np.sin(a))
            for a, r in zip(angle, away, strict=True)
        ]
        inside = [self.in_plane(point) for point in dropped if frame.contains(point)]
        if inside:
            self._fresh += inside
            self.painted.emit(tuple(inside), ())

    def leaveEvent(self, event: QEvent) -> None:
        self._cursor = None
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._cursor = event.position()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._cursor = None

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

    def _set_radius(self, radius: float) -> None:
        self.radius = float(np.clip(radius, SMALLEST, LARGEST))
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            words = (self.words_at(QPointF(event.pos())), self.toolTip())
            QToolTip.showText(event.globalPos(), "\n".join(each for each in words if each), self)
            return True
        return super().event(event)

    def words_at(self, position: QPointF) -> str:
        """Where a position is, how dense it is there, and who claims it."""
        if self.picture is None or not self.frame().contains(position):
            return ""
        x, y = self.in_plane(position)
        frame, picture = self.frame(), self.picture
        rows, columns = picture.density.shape
        column = min(int((position.x() - frame.left()) / frame.width() * columns), columns - 1)
        row = min(int((frame.bottom() - position.y()) / frame.height() * rows), rows - 1)
        said = f"({x:.2f}, {y:.2f}): density {picture.density[row, column]:.3g}"
        if len(picture.shares):
            most = int(picture.shares[:, row, column].argmax())
            said += f", component {most + 1} has {picture.shares[most, row, column]:.0%} of it"
        return said
