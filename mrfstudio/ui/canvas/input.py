"""Mouse, pen, wheel and keys of the canvas, as people's hands know them."""

from __future__ import annotations

from enum import Enum, auto

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QInputEvent,
    QKeyEvent,
    QMouseEvent,
    QPointingDevice,
    QTabletEvent,
)
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.canvas.surface import ENTER, NOTCH
from mrfstudio.ui.canvas.tools import AREAS, CORNERS, TOOLS
from mrfstudio.ui.canvas.view import CanvasBase
from mrfstudio.ui.canvas.wipe import wipe_at

Key = Qt.Key
ARROWS = {Key.Key_Left: (0, -1), Key.Key_Right: (0, 1), Key.Key_Up: (-1, 0), Key.Key_Down: (1, 0)}
TOOL_KEYS = {getattr(Key, f"Key_{tool.key}"): tool.name for tool in TOOLS}
DIGITS = {getattr(Key, f"Key_{digit}"): digit - 1 for digit in range(1, 10)}
ERASE = (Key.Key_Backspace, Key.Key_Delete)
OTHER_KEYS = (Key.Key_BracketLeft, Key.Key_BracketRight, Key.Key_O, Key.Key_X, Key.Key_W)
FAR = 8  # pixels an arrow key moves with Shift


class Drag(Enum):
    """What the pressed button does until it is released."""

    PAINT = auto()
    PAN = auto()
    WIPE = auto()


BETWEEN = ("message", "coupling")  # symbols of what lies between neighbours


class Canvas(CanvasBase):
    """The canvas with all its hands."""

    keys = frozenset((*ARROWS, *TOOL_KEYS, *DIGITS, *ENTER, *ERASE, *OTHER_KEYS))

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pen_pressure = True
        """Whether a pen's pressure changes the width of strokes."""
        self._drag: Drag | None = None
        self._button: Qt.MouseButton | None = None
        self._last = QPointF()
        self._wheel_rest = 0
        self._keyboard_stroke = False
        self._over_grip = False
        self.set_cursor()

    # Mouse ------------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None:  # a second button during a stroke changes nothing
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._leave_keyboard()
        self._button, self._last = event.button(), event.position()
        if event.button() == Qt.MouseButton.MiddleButton or (
            event.button() == Qt.MouseButton.LeftButton and self._space
        ):
            self._drag, self._space_used = Drag.PAN, True
            self.set_cursor()
        elif event.button() == Qt.MouseButton.LeftButton and self.on_grip(event.position()):
            self._drag, self.wiping = Drag.WIPE, True
            self._move_to(event.position())
        elif event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
            self._press(event.position(), event, erase=event.button() == Qt.MouseButton.RightButton)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._move_to(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == self._button:
            self._end_drag()

    def _press(self, position: QPointF, event: QInputEvent, erase: bool, pressure: float = 1.0) -> None:
        pixel = self.pixel_at(position)
        inspecting = self.tools.tool == "inspect" or bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if inspecting:
            if pixel is not None:
                self.pixel_clicked.emit(*pixel)
            return
        if self.tools.tool == "fill" and pixel is None:
            return
        if 0 in self.scene.shape:
            return
        self._drag = Drag.PAINT
        line = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.send(self.tools.press(self.transform.to_image(position), erase, pressure, line))

    def _move_to(self, position: QPointF, pressure: float = 1.0) -> None:
        if self._drag is Drag.PAN:
            delta = position - self._last
            self.move_by(delta.x(), delta.y())
        elif self._drag is Drag.PAINT:
            self.send(self.tools.move(self.transform.to_image(position), pressure))
        elif self._drag is Drag.WIPE:
            self.set_wipe(wipe_at(self.transform.rectangle(0, 0, *self.scene.shape), position.x()))
        self._last = position
        self._show_pointer(position)

    def _end_drag(self) -> None:
        if self._drag is Drag.PAINT:
            self._finish_stroke()
        self._drag = self._button = None
        self.wiping = False
        self.update()
        self.set_cursor()

    def _show_pointer(self, position: QPointF | None) -> None:
        if self.tools.tool in AREAS and self.tools.active:
            self.update()
        for point in (self.pointer, position):
            if point is not None:
                self.update(self.ring_area(point))
        on_grip = position is not None and self.on_grip(position)
        if on_grip != self._over_grip:
            self._over_grip = on_grip
            self.set_cursor()
            self.update()
        if position is not None:
            self._leave_keyboard()
        self.pointer = position
        self.hovered.emit(None if position is None else self.pixel_at(position))

    def enterEvent(self, event: QEnterEvent) -> None:
        self._show_pointer(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self._show_pointer(None)

    # Wheel, pinch, pen ------------------------------------------------------------------------------------------------

    def change_brush(self, amount: int) -> None:
        self._wheel_rest += amount
        steps = int(self._wheel_rest / NOTCH)
        self._wheel_rest -= steps * NOTCH
        if steps:
            self._resize_brush(steps)

    def tabletEvent(self, event: QTabletEvent) -> None:
        pressure = event.pressure() if self.pen_pressure else 1.0
        if event.type() == QEvent.Type.TabletPress and self._drag is None and not self._space:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            eraser = event.pointerType() == QPointingDevice.PointerType.Eraser
            self._press(event.position(), event, eraser or event.button() == Qt.MouseButton.RightButton, pressure)
        elif event.type() == QEvent.Type.TabletMove and self._drag is Drag.PAINT:
            self._move_to(event.position(), pressure)
        elif event.type() == QEvent.Type.TabletRelease and self._drag is Drag.PAINT:
            self._end_drag()
        else:
            event.ignore()  # Qt then sends mouse events: hovering and Space-drag work with the pen too
            return
        event.accept()

    # Keys -------------------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Key.Key_Escape and self.tools.active:
            self.tools.cancel()
            self._drag = None
            self._keyboard_stroke = False
            self.update()
        else:
            super().keyPressEvent(event)

    def key_pressed(self, key: Qt.Key, event: QKeyEvent) -> None:
        if key in ARROWS:
            self._move_cursor(*ARROWS[key], FAR if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif key in (Key.Key_BracketLeft, Key.Key_BracketRight):
            self._resize_brush(1 if key == Key.Key_BracketRight else -1)
        elif event.isAutoRepeat():
            return  # the keys below act once, however long they are held
        elif key in TOOL_KEYS:
            self.choose_tool(TOOL_KEYS[key])
        elif key in DIGITS:
            self.choose_target(DIGITS[key])
        elif key in ENTER or key in ERASE:
            self._paint_at_cursor(erase=key in ERASE)
        elif key == Key.Key_O:
            self._show_original(True)
        elif key == Key.Key_W and self.scene.wipe is not None:
            self.set_wipe(0.0 if self.scene.wipe > 0 else 1.0)
        elif key == Key.Key_X:
            self.set_outside(not self.tools.outside)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if event.isAutoRepeat():
            return
        if key == Key.Key_O:
            self._show_original(False)
        elif (key in ENTER or key in ERASE) and self._keyboard_stroke and self.tools.tool not in CORNERS:
            self._keyboard_stroke = False
            self._finish_stroke()
        else:
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._show_original(False)
        if self._keyboard_stroke:
            self._keyboard_stroke = False
            self._finish_stroke()
        super().focusOutEvent(event)

    def _move_cursor(self, down: int, right: int, steps: int) -> None:
        height, width = self.scene.shape
        if 0 in self.scene.shape:
            return
        row, column = self.cursor_pixel or self._start_of_cursor()
        row, column = min(max(row + down * steps, 0), height - 1), min(max(column + right * steps, 0), width - 1)
        self.cursor_pixel = (row, column)
        if self._keyboard_stroke:
            self.send(self.tools.move((column + 0.5, row + 0.5), straight=True))
        self.bring_into_view(self.transform.rectangle(row, column, 1, 1).adjusted(-8, -8, 8, 8))
        self.hovered.emit(self.cursor_pixel)
        self.setAccessibleDescription(f"Cursor at row {row + 1}, column {column + 1}.")
        self.update()

    def _start_of_cursor(self) -> tuple[int, int]:
        here = None if self.pointer is None else self.pixel_at(self.pointer)
        return here or (self.scene.shape[0] // 2, self.scene.shape[1] // 2)

    def _paint_at_cursor(self, erase: bool) -> None:
        if self.cursor_pixel is None:
            self._move_cursor(0, 0, 0)  # shows where painting would happen; the next Enter paints
            return
        row, column = self.cursor_pixel
        if self.tools.tool == "inspect":
            self.pixel_clicked.emit(row, column)
        elif self._keyboard_stroke and self.tools.tool in CORNERS:  # the second Enter sets the other corner
            self._keyboard_stroke = False
            self._finish_stroke()
        else:
            self._keyboard_stroke = self.tools.tool != "fill"
            self.send(self.tools.press((column + 0.5, row + 0.5), erase))

    def _leave_keyboard(self) -> None:
        if self.cursor_pixel is not None and not self._keyboard_stroke:
            self.cursor_pixel = None
            self.update()

    def _resize_brush(self, steps: int) -> None:
        self.radius_changed.emit(self.tools.resize(steps))
        self.update()

    def _show_original(self, shown: bool) -> None:
        if self.scene.original_only != shown:
            self.scene.original_only = shown
            self.refresh()

    def light_symbol(self, symbol: str) -> bool:
        """Evidence is what was observed, beliefs are what was inferred: show that alone. Messages and couplings lie
        between neighbours, where the models are such.
        """
        self._show_original(symbol == "evidence")
        between = symbol if symbol in BETWEEN and self.joins_neighbours else ""
        if self.lit_between != between:
            self.lit_between = between
            self.update()
        if self.scene.results_only != (symbol == "belief"):
            self.scene.results_only = symbol == "belief"
            self.refresh()
        return bool(between) or symbol in ("evidence", "belief")

    def cursor_shape(self) -> Qt.CursorShape:
        if self._drag is Drag.PAN:
            return Qt.CursorShape.ClosedHandCursor
        if self._space:
            return Qt.CursorShape.OpenHandCursor
        return Qt.CursorShape.SizeHorCursor if self._over_grip else Qt.CursorShape.CrossCursor
