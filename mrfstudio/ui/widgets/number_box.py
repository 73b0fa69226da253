"""A box for numbers of any size: 1e-7 is typed as such, arrows go up in steps that suit the range."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QKeyCombination, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QWidget

from mrfstudio.engine.protocol.catalogue import Field, ParameterError
from mrfstudio.ui.style.theme import px

POSITIONS = 1000  # of a slider
REDO = QKeyCombination(Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier, Qt.Key.Key_Z)


class Scale:
    """Where a field's values lie on a slider with positions 0…1000.

    A field without an upper end gets one at four times its default, and one with a `slider_high` ends there: the box
    still takes any value.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.low = field.low
        self.high = min(field.high, field.slider_high)
        if math.isinf(self.high) and math.isfinite(field.low) and field.default > field.low:
            self.high = field.low + 4 * (field.default - field.low)
        self.logarithmic = field.logarithmic and self.high > 0
        if self.logarithmic and self.low <= 0:
            self.low = min(self.high * 1e-4, (field.default or self.high) * 1e-3)

    @property
    def bounded(self) -> bool:
        """Whether a slider makes sense."""
        return math.isfinite(self.low) and math.isfinite(self.high) and self.high > self.low

    def position(self, value: float) -> int:
        """The slider position of a value, at an end if it lies beyond."""
        if self.logarithmic:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return round(min(max(part, 0.0), 1.0) * POSITIONS)

    def value(self, position: int) -> float:
        """The value at a slider position, in few digits; never an end that the field excludes."""
        if position == 0 and not (self.field.low_open or self.low > self.field.low):
            return self._typed(self.field.low)
        first = 1 if self.field.low_open else 0
        last = POSITIONS - 1 if self.field.high_open else POSITIONS
        part = min(max(position, first), last) / POSITIONS
        if self.logarithmic:
            value = self.low * (self.high / self.low) ** part
        else:
            value = self.low + (self.high - self.low) * part
        return self._typed(float(f"{value:.3g}"))

    def stepped(self, value: float, steps: int) -> float:
        """The value some arrow clicks away."""
        if self.field.kind == "integer":
            step = max(1, round(abs(value) * 0.1)) if self.logarithmic else 1
            return self._typed(value + steps * step)
        if self.logarithmic and value > 0:
            return self._typed(float(f"{value * 10 ** (steps / 10):.3g}"))
        span = self.high - self.low if self.bounded else max(abs(value), 1.0)
        return self._typed(float(f"{value + steps * span / 100:.6g}"))

    def _typed(self, value: float) -> float:
        low, high = self.field.low, self.field.high
        value = min(max(value, low), high)
        return round(value) if self.field.kind == "integer" else value


class NumberBox(QAbstractSpinBox):
    """Edits one number or integer field. `edited` carries valid values; `problem` says what is wrong, or nothing."""

    edited = Signal(object)
    problem = Signal(str)

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = field
        self.scale = Scale(field)
        self.value = field.default
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # a wheel that scrolls the form must not change numbers
        self.setKeyboardTracking(True)
        self.lineEdit().setTextMargins(px(self, 6), 0, 0, 0)  # Qt gives the line no padding from the stylesheet
        self.lineEdit().textEdited.connect(self._typed)
        self.set_value(field.default)

    def set_value(self, value: float) -> None:
        """Show a value that was set elsewhere. Text that a person is typing is left alone."""
        self.value = value
        if not (self.lineEdit().hasFocus() and self.lineEdit().isModified()):
            self._write()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(self.fontMetrics().horizontalAdvance("0.00012345"), hint.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def stepBy(self, steps: int) -> None:
        value = self.scale.stepped(self.value, steps)
        try:
            self.value = self.field.check(value)
        except ParameterError:
            return  # an open end: stay where we are
        self._write()
        self.problem.emit("")
        self.edited.emit(self.value)

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        up, down = QAbstractSpinBox.StepEnabledFlag.StepUpEnabled, QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        flags = QAbstractSpinBox.StepEnabledFlag.StepNone
        if self.value < self.field.high:
            flags |= up
        if self.value > self.field.low:
            flags |= down
        return flags

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        return QValidator.State.Acceptable, text, position  # half-typed numbers are nobody's mistake

    def _typed(self, text: str) -> None:
        typed = text.strip().replace(",", ".") if "." not in text else text.strip()
        if self.field.zero and typed == self.field.zero:
            typed = "0"
        try:
            value = self.field.check(typed)
        except ParameterError:
            self.problem.emit(f"{text.strip() or 'Nothing'!s} does not fit: expected {self.field.range_text}.")
            return
        self.problem.emit("")
        if value != self.value:
            self.value = value
            self.edited.emit(value)

    def _write(self) -> None:
        self.lineEdit().setText(self._spelled())
        self.lineEdit().setModified(False)

    def _spelled(self) -> str:
        return self.field.zero if self.field.zero and self.value == 0 else spelled(self.value)

    def event(self, event: QEvent) -> bool:
        """Undo and redo are the window's, also while a number is being typed."""
        undoing = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (any(event.matches(key) for key in undoing) or event.keyCombination() == REDO)
        ):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.lineEdit().text() != self._spelled():
            self._write()
            self.problem.emit("")
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._write()  # what does not fit goes away with the focus, and its message with it
        self.problem.emit("")


class WheelGuard(QObject):
    """Passes the wheel on to the scroll area unless the control has focus."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QWheelEvent) and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return False


def spelled(value: float) -> str:
    """A number as people write it: 1e-7, not 1e-07."""
    if isinstance(value, int):
        return str(value)
    digits, letter, exponent = f"{value:.6g}".partition("e")
    return f"{digits}e{int(exponent)}" if letter else digits
