"""What the canvases of pictures and of graphs share: moving, zooming, dimming, and keys that act with focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QNativeGestureEvent,
    QPainter,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.engine.protocol.commands import Command, Step
from mrfstudio.ui.canvas.transform import LARGEST, Transform
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px

Key = Qt.Key
STALE_AFTER = 250  # milliseconds: results a frame behind the hand are not dimmed, or they would flicker
ZOOM_STEP = 1.25
NOTCH = 120  # angle units of one wheel notch
ENTER = (Key.Key_Return, Key.Key_Enter)
STEPS = {Key.Key_Period: 1, Key.Key_Comma: -1}
ZOOMS = {Key.Key_Plus: ZOOM_STEP, Key.Key_Equal: ZOOM_STEP, Key.Key_Minus: 1 / ZOOM_STEP}
OWN_KEYS = frozenset((*STEPS, *ZOOMS, Key.Key_Space, Key.Key_Home))


class Surface(QWidget):
    """Base of the canvases. Single keys act only while it has focus; Tab moves focus on."""

    command = Signal(object)
    """A `Command` to post."""
    play_pause = Signal()

    keys: frozenset[Qt.Key] = frozenset()
    """Further keys that it knows, without or with Shift."""
    largest = LARGEST
    """The largest scale, in pixels of the screen for one of the picture."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.transform = Transform()
        self.fitted = True
        self.pointer: QPointF | None = None
        self.empty_text = ""
        self._space = self._space_used = False
        self._dimmed = False
        self._stale_timer = QTimer(self, singleShot=True, interval=STALE_AFTER)
        self._stale_timer.timeout.connect(self._dim)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)  # the right button takes away
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def posted(self, command: Command, number: int) -> None:
        """A command got its number: what is shown is stale until a frame has applied it."""
        raise NotImplementedError

    def light_symbol(self, symbol: str) -> bool:
        """Light what a symbol of an equation stands for; empty takes the light away. Whether there is anything."""
        return False

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 160), px(self, 90))

    # What each canvas says of itself ----------------------------------------------------------------------------------

    def fitting(self) -> Transform:
        """Where everything can be seen."""
        raise NotImplementedError

    def kept_in_sight(self, transform: Transform) -> Transform:
        """The same, moved back so far that what is shown cannot get lost."""
        raise NotImplementedError

    def behind(self) -> bool:
        """Whether what is shown is older than what was done."""
        raise NotImplementedError

    def show_dimmed(self, dimmed: bool) -> None:
        """Draw results as outdated, or as current again."""
        raise NotImplementedError

    def change_brush(self, amount: int) -> None:
        """The wheel was turned with Ctrl held, by so many units of angle."""
        raise NotImplementedError

    def cursor_shape(self) -> Qt.CursorShape:
        """What the pointer looks like now."""
        raise NotImplementedError

    # View -------------------------------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Show everything."""
        self.fitted = True
        self.set_transform(self.fitting())

    def zoom(self, factor: float, anchor: QPointF | None = None) -> None:
        """Zoom at a point of the widget, else at its middle."""
        self.fitted = False
        self.set_transform(self.transform.zoomed(factor, anchor or QRectF(self.rect()).center(), self.largest))

    def move_by(self, dx: float, dy: float) -> None:
        """Move what is shown, by pixels of the screen."""
        self.fitted = False
        self.set_transform(self.transform.moved(dx, dy))

    def bring_into_view(self, area: QRectF) -> None:
        """Move so far that an area of the widget can be seen."""
        dx = max(0.0, -area.left()) - max(0.0, area.right() - self.width())
        dy = max(0.0, -area.top()) - max(0.0, area.bottom() - self.height())
        if dx or dy:
            self.move_by(dx, dy)

    def set_transform(self, transform: Transform) -> None:
        self.transform = self.kept_in_sight(transform)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.fitted or event.oldSize().isEmpty():
            self.fit()
        else:  # keep the middle in the middle
            grown = event.size() - event.oldSize()
            self.set_transform(self.transform.moved(grown.width() / 2, grown.height() / 2))

    def set_cursor(self) -> None:
        self.setCursor(self.cursor_shape())

    # Stale results ----------------------------------------------------------------------------------------------------

    def watch_staleness(self) -> None:
        """Dim results that stay behind for a while; call it whenever `behind` may have changed."""
        if self.behind():
            if not self._dimmed and not self._stale_timer.isActive():
                self._stale_timer.start()
            return
        self._stale_timer.stop()
        if self._dimmed:
            self._dimmed = False
            self.show_dimmed(False)

    def _dim(self) -> None:
        self._dimmed = True
        self.show_dimmed(True)

    # Painting ---------------------------------------------------------------------------------------------------------

    def paint_empty(self, painter: QPainter) -> None:
        """In the middle, what belongs here."""
        painter.setPen(QColor(colours_of(self).muted))
        margin = px(self, 24)
        area = self.rect().adjusted(margin, margin, -margin, -margin)
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.empty_text)

    # Wheel, pinch, keys -----------------------------------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        amount = event.angleDelta().y() or event.angleDelta().x()  # Alt turns the wheel sideways on some systems
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.change_brush(amount)
        else:
            self.zoom(ZOOM_STEP ** (amount / NOTCH), event.position())
        event.accept()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self.knows(event):
            event.accept()  # a shortcut of the window must not take a key that the canvas knows
            return True
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.zoom(1 + event.value(), event.position())
            return True
        return super().event(event)

    def knows(self, event: QKeyEvent) -> bool:
        """Whether a key does something here."""
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        key = event.key()  # a number: keyboards have keys that Qt has no name for
        return modifiers == Qt.KeyboardModifier.NoModifier and (key in OWN_KEYS or key in self.keys)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.knows(event):
            super().keyPressEvent(event)
            return
        key = Key(event.key())
        if key in STEPS:
            self.command.emit(Step(STEPS[key]))
        elif key in ZOOMS:
            self.zoom(ZOOMS[key], self.pointer)
        elif key not in OWN_KEYS:
            self.key_pressed(key, event)
        elif event.isAutoRepeat():
            return  # Space and Home act once, however long they are held
        elif key == Key.Key_Space:
            self._space, self._space_used = True, False
            self.set_cursor()
        else:
            self.fit()

    def key_pressed(self, key: Qt.Key, event: QKeyEvent) -> None:
        """One of `keys` went down."""
        raise NotImplementedError

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Key.Key_Space and self._space and not event.isAutoRepeat():
            self._space = False
            self.set_cursor()
            if not self._space_used:
                self.play_pause.emit()
        else:
            super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Keys released elsewhere never reach us: let go of what is held."""
        self._space = False
        self.set_cursor()
        super().focusOutEvent(event)
        self.update()
