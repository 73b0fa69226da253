"""Mouse, pen, wheel and keys of the canvas, as people's hands know them."""

from __future__ import annotations

from enum import Enum, auto

from PySide6.QtCore import QEvent, QPointF, QSizeF, Qt
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QInputEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPointingDevice,
    QTabletEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.commands import Step
from mrfstudio.ui.canvas.tools import AREAS, CORNERS, TOOLS
from mrfstudio.ui.canvas.view import CanvasBase
from mrfstudio.ui.canvas.wipe import wipe_at

Key = Qt.Key
ARROWS = {Key.Key_Left: (0, -1), Key.Key_Right: (0, 1), Key.Key_Up: (-1, 0), Key.Key_Down: (1, 0)}
TOOL_KEYS = {getattr(Key, f"Key_{tool.key}"): tool.name for tool in TOOLS}
DIGITS = {getattr(Key, f"Key_{digit}"): digit - 1 for digit in range(1, 10)}
ENTER = (Key.Key_Return, Key.Key_Enter)
ERASE = (Key.Key_Backspace, Key.Key_Delete)
OTHER_KEYS = (
    Key.Key_Space,
    Key.Key_Period,
    Key.Key_Comma,
    Key.Key_BracketLeft,
    Key.Key_BracketRight,
    Key.Key_O,
    Key.Key_X,
    Key.Key_W,
    Key.Key_Plus,
    Key.Key_Equal,
    Key.Key_Minus,
    Key.Key_Home,
)
FAR = 8  # pixels an arrow key moves with Shift
ZOOM_STEP = 1.25
NOTCH = 120  # angle units of one wheel notch


class Drag(Enum):
    """What the pressed button does until it is released."""

    PAINT = auto()
    PAN = auto()
    WIPE = auto()


class Canvas(CanvasBase):
    """The canvas with all its hands. Single keys act only while it has focus; Tab moves focus on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pen_pressure = True
        """Whether a pen's pressure changes the width of strokes."""
        self._drag: Drag | None = None
        self._button: Qt.MouseButton | None = None
        self._space = False
        self._space_used = False
        self._last = QPointF()
        self._wheel_rest = 0
        self._keyboard_stroke = False
        self._over_grip = False
        self._set_cursor()

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
            self._set_cursor()
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
            self.fitted = False
            self.set_transform(self.transform.moved(delta.x(), delta.y()))
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
        self._set_cursor()

    def _show_pointer(self, position: QPointF | None) -> None:
        if self.tools.tool in AREAS and self.tools.active:
            self.update()
        for point in (self.pointer, position):
            if point is not None:
                self.update(self.ring_area(point))
        on_grip = position is not None and self.on_grip(position)
        if on_grip != self._over_grip:
            self._over_grip = on_grip
            self._set_cursor()
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

    def wheelEvent(self, event: QWheelEvent) -> None:
        amount = event.angleDelta().y() or event.angleDelta().x()  # Alt turns the wheel sideways on some systems
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._wheel_rest += amount
            steps = int(self._wheel_rest / NOTCH)
            self._wheel_rest -= steps * NOTCH
            if steps:
                self._resize_brush(steps)
        else:
            self.zoom(ZOOM_STEP ** (amount / NOTCH), event.position())
        event.accept()

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

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_mine(event):
            event.accept()  # a shortcut of the window must not take a key that the canvas knows
            return True
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.zoom(1 + event.value(), event.position())
            return True
        return super().event(event)

    def _is_mine(self, event: QKeyEvent) -> bool:
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        known = (*ARROWS, *TOOL_KEYS, *DIGITS, *ENTER, *ERASE, *OTHER_KEYS)
        return modifiers == Qt.KeyboardModifier.NoModifier and event.key() in known

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Key.Key_Escape and self.tools.active:
            self.tools.cancel()
            self._drag = None
            self._keyboard_stroke = False
            self.update()
        elif not self._is_mine(event) or not self._key_pressed(event):
            super().keyPressEvent(event)

    def _key_pressed(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if key in ARROWS:
            self._move_cursor(*ARROWS[key], FAR if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif key in (Key.Key_BracketLeft, Key.Key_BracketRight):
            self._resize_brush(1 if key == Key.Key_BracketRight else -1)
        elif key in (Key.Key_Period, Key.Key_Comma):
            self.command.emit(Step(1 if key == Key.Key_Period else -1))
        elif key in (Key.Key_Plus, Key.Key_Equal, Key.Key_Minus):
            self.zoom(1 / ZOOM_STEP if key == Key.Key_Minus else ZOOM_STEP, self.pointer)
        elif event.isAutoRepeat():
            return True  # the keys below act once, however long they are held
        elif key in TOOL_KEYS:
            self.choose_tool(TOOL_KEYS[key])
        elif key in DIGITS:
            self.choose_target(DIGITS[key])
        elif key in ENTER or key in ERASE:
            self._paint_at_cursor(erase=key in ERASE)
        elif key == Key.Key_Space:
            self._space, self._space_used = True, False
            self._set_cursor()
        elif key == Key.Key_O:
            self._show_original(True)
        elif key == Key.Key_W and self.scene.wipe is not None:
            self.set_wipe(0.0 if self.scene.wipe > 0 else 1.0)
        elif key == Key.Key_X:
            self.set_outside(not self.tools.outside)
        elif key == Key.Key_Home:
            self.fit()
        return True

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.isAutoRepeat():
            return
        key = event.key()
        if key == Key.Key_Space and self._space:
            self._space = False
            self._set_cursor()
            if not self._space_used:
                self.play_pause.emit()
        elif key == Key.Key_O:
            self._show_original(False)
        elif (key in ENTER or key in ERASE) and self._keyboard_stroke and self.tools.tool not in CORNERS:
            self._keyboard_stroke = False
            self._finish_stroke()
        else:
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Keys released elsewhere never reach us: let go of everything that is held."""
        self._space = False
        self._show_original(False)
        if self._keyboard_stroke:
            self._keyboard_stroke = False
            self._finish_stroke()
        self._set_cursor()
        super().focusOutEvent(event)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def _move_cursor(self, down: int, right: int, steps: int) -> None:
        height, width = self.scene.shape
        if 0 in self.scene.shape:
            return
        row, column = self.cursor_pixel or self._start_of_cursor()
        row, column = min(max(row + down * steps, 0), height - 1), min(max(column + right * steps, 0), width - 1)
        self.cursor_pixel = (row, column)
        if self._keyboard_stroke:
            self.send(self.tools.move((column + 0.5, row + 0.5)))
        self._bring_into_view(row, column)
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

    def _bring_into_view(self, row: int, column: int) -> None:
        place = self.transform.rectangle(row, column, 1, 1)
        dx = max(0.0, 8 - place.left()) - max(0.0, place.right() + 8 - self.width())
        dy = max(0.0, 8 - place.top()) - max(0.0, place.bottom() + 8 - self.height())
        if dx or dy:
            self.fitted = False
            self.set_transform(self.transform.moved(dx, dy).kept_in_sight(self.scene.shape, QSizeF(self.size())))

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

    def _set_cursor(self) -> None:
        if self._drag is Drag.PAN:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif self._space:
            self.setCursor(Qt.CursorShape.OpenHandCursor)
        elif self._over_grip:
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            self.setCursor(Qt.CursorShape.CrossCursor)
