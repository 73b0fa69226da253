"""The canvas: a picture that is painted on. Strokes are drawn at once and leave as commands; frames come back.

canvas.command.connect(post)            # commands, in order
canvas.posted(command, number)          # call at once with the number the command got
canvas.set_frame(frame)                 # newest pictures; strokes up to frame.applied are now the frame's own
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.canvas import marks, painting, wipe
from mrfstudio.ui.canvas.scene import Scene
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.canvas.tools import Target, ToolBox
from mrfstudio.ui.canvas.transform import Transform
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.style.colours import colours_of

EMPTY = "One moment: the first example is on its way.\nYou can also open or paste a picture, or start a drawing."


class CanvasBase(Surface):
    """Drawing and state; `Canvas` in `input.py` adds mouse, pen, wheel and keys."""

    hovered = Signal(object)
    """(row, column) under the pointer or the keyboard's cursor, or None."""
    pixel_clicked = Signal(int, int)
    """Row and column clicked with the Inspect tool, or with Alt and any tool."""
    tool_changed = Signal(str)
    target_changed = Signal(int)
    radius_changed = Signal(float)
    strength_changed = Signal(float)
    outside_changed = Signal(bool)
    wiped = Signal(float)
    """The line between before and after was moved: the part of the picture left of it."""
    view_changed = Signal(object)
    """The picture was moved or zoomed: (top, left, height, width) of the pixels that can be seen now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scene = Scene()
        self.tools = ToolBox()
        self.cursor_pixel: tuple[int, int] | None = None
        """The keyboard's cursor, while keys move it."""
        self.pinned: tuple[int, int] | None = None
        self.empty_text = EMPTY
        self.grid_from = marks.GRID_FROM
        self.joins_neighbours = True
        """Whether the models of this canvas have couplings between neighbouring pixels."""
        self.lit_between = ""
        """The symbol that is pointed at, if it stands for what lies between neighbours."""
        self.wiping = False
        """Whether the line between before and after is being dragged."""
        self.setAccessibleName("Canvas")
        self.setAccessibleDescription("Arrow keys move the cursor, Enter paints, Backspace erases.")
        self.setWhatsThis(
            "Paint here. The wheel zooms, Space and drag moves the picture, the right button erases. "
            "With the keyboard: arrow keys move the cursor, Enter paints, Backspace erases."
        )
        self._follow_theme()

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_frame(self, frame: Frame) -> None:
        """Show the newest pictures of a frame."""
        shape = self.scene.shape
        self.scene.set_frame(frame)
        self._after_new_layers(shape)

    def set_layers(
        self, shape: tuple[int, int], given: Mapping[str, np.ndarray], inferred: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """Show arrays without a session, such as a preview."""
        before = self.scene.shape
        self.scene.set_layers(shape, given, inferred or {})
        self._after_new_layers(before)

    def posted(self, command: Command, number: int) -> None:
        """A command was posted, from here or from a menu: results are stale until a frame has `applied >= number`."""
        self.scene.pending.posted(command, number)
        self.watch_staleness()

    def set_lane(self, lane: int) -> None:
        """Which lane's results to show, from the next frame on."""
        self.scene.lane = lane

    def set_visible_layers(self, visible: Mapping[str, float]) -> None:
        """Layer names with their opacity in [0, 1]; others are hidden."""
        self.scene.visible = dict(visible)
        self.refresh()

    def set_residual_direction(self, direction: int | None) -> None:
        """One direction of the residual layer, or None for the largest of all."""
        self.scene.look = replace(self.scene.look, direction=direction)
        self.refresh()

    def set_original(self, grey: np.ndarray | None) -> None:
        """The grey picture (h, w) behind the contours: shown while O is held, and as layer `grey`."""
        self.scene.set_original(grey)
        self.update()

    def set_preview(self, observed: np.ndarray | None) -> None:
        """Show other observations (h, w) for a while; None ends it."""
        self.scene.set_preview(observed)
        self.update()

    def set_wipe(self, wipe: float | None) -> None:
        """Show this part of the picture, from the left, as it was before; None takes the line away."""
        if wipe != self.scene.wipe:
            self.scene.wipe = wipe
            self.update()
            if wipe is not None:
                self.wiped.emit(wipe)

    def show_effect(self, effect: np.ndarray | None) -> None:
        """What a hidden unit adds to the picture (H, W); None ends it."""
        self.scene.effect = effect
        self.refresh()

    def set_signed(self, signed: bool) -> None:
        """Whether differences of lanes have a sign."""
        self.scene.look = replace(self.scene.look, signed=signed)

    def light_clone(self, clone: int | None) -> None:
        """Highlight the pixels that chose a clone, in this frame and the next ones; they need the `clone` picture."""
        self.scene.lit_clone = clone
        self.refresh()

    def pin(self, pixel: tuple[int, int] | None) -> None:
        """Mark the pixel (row, column) that the inspector shows."""
        self.pinned = pixel
        self.update()

    def drawing(self, scale: int | None = None) -> Drawing:
        """The picture without the marks of the pointer, for export; about 1000 pixels wide unless `scale` is given."""
        height, width = self.scene.shape
        factor = scale or max(1, 1000 // max(height, width, 1))
        transform = Transform(float(factor), 0.0, 0.0)

        def paint(painter: QPainter) -> None:
            self.scene.paint(painter, transform)
            painting.paint_arrows(self, painter, transform)

        size = QSize(max(width * factor, 1), max(height * factor, 1))
        return Drawing(size, paint, paper=colours_of(self).paper)

    # Tools ------------------------------------------------------------------------------------------------------------

    def set_targets(self, targets: Iterable[Target]) -> None:
        """What the digit keys choose."""
        self.tools.targets = tuple(targets)
        self.choose_target(0)

    def choose_tool(self, name: str) -> None:
        self._finish_stroke()
        self.tools.tool = name
        self.tool_changed.emit(name)
        self.update()

    def choose_target(self, index: int) -> None:
        if 0 <= index < len(self.tools.targets):
            self.tools.target_index = index
            self.target_changed.emit(index)

    def set_radius(self, radius: float) -> None:
        """Brush radius in image pixels; half a pixel paints single pixels."""
        self.radius_changed.emit(self.tools.set_radius(radius))
        self.update()

    def set_strength(self, strength: float) -> None:
        """How strong hints are, in (0, 1]; 1 is hard evidence."""
        self.tools.strength = strength
        self.strength_changed.emit(strength)

    def set_outside(self, outside: bool) -> None:
        """Whether rectangle, ellipse and lasso fill everything but what they go around."""
        self.tools.outside = outside
        self.outside_changed.emit(outside)

    # View -------------------------------------------------------------------------------------------------------------

    def fitting(self) -> Transform:
        return Transform.fitting(self.scene.shape, QSizeF(self.size()))

    def kept_in_sight(self, transform: Transform) -> Transform:
        return transform.kept_in_sight(self.scene.shape, QSizeF(self.size()))

    def set_transform(self, transform: Transform) -> None:
        super().set_transform(transform)
        self.view_changed.emit(self.visible_rectangle())

    def visible_rectangle(self) -> tuple[int, int, int, int]:
        """Top, left, height, width of the pixels that can be seen."""
        return self.transform.visible(self.scene.shape, QSizeF(self.size()))

    def pixel_at(self, point: QPointF) -> tuple[int, int] | None:
        """Row and column under a point of the widget, None outside the picture."""
        x, y = self.transform.to_image(point)
        inside = 0 <= x < self.scene.shape[1] and 0 <= y < self.scene.shape[0]
        return (int(y), int(x)) if inside else None

    def refresh(self) -> None:
        """Blend the layers again and repaint."""
        self.scene.changed()
        self.update()

    # Inside -----------------------------------------------------------------------------------------------------------

    def send(self, commands: Iterable[Command]) -> None:
        """Draw commands at once, then emit them."""
        for command in commands:
            if self.scene.pending.add(command):
                self.refresh()
            self.command.emit(command)

    def _finish_stroke(self) -> None:
        self.send(self.tools.release(self.scene.shape))
        self.update()

    def _after_new_layers(self, shape_before: tuple[int, int]) -> None:
        if self.scene.shape != shape_before:
            self.tools.cancel()
            self.tools.last = self.cursor_pixel = self.pinned = None
            self.fit()
        self.watch_staleness()
        self.update()

    def behind(self) -> bool:
        return self.scene.pending.waiting

    def show_dimmed(self, dimmed: bool) -> None:
        self.scene.dimmed = dimmed
        self.refresh()

    def _follow_theme(self) -> None:
        self.scene.look = replace(self.scene.look, dark=colours_of(self).name == "dark")
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._follow_theme()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setClipRect(event.rect())
        colours = colours_of(self)
        painter.fillRect(event.rect(), QColor(colours.backdrop))
        if 0 in self.scene.shape:
            self.paint_empty(painter)
        else:
            self.scene.paint(painter, self.transform)
            painting.paint_marks(self, painter)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def on_grip(self, position: QPointF) -> bool:
        """Whether a point of the widget lies on the grip of the wipe."""
        if self.scene.wipe is None or 0 in self.scene.shape:
            return False
        picture = self.transform.rectangle(0, 0, *self.scene.shape)
        return wipe.hits(picture, QRectF(self.rect()), self.scene.wipe, position)

    def ring_area(self, centre: QPointF) -> QRect:
        """The part of the widget that ring and footprint touch; moving the pointer repaints only this."""
        reach = (self.tools.radius + 1.5) * self.transform.scale + 4
        return QRectF(centre.x() - reach, centre.y() - reach, 2 * reach, 2 * reach).toAlignedRect()
