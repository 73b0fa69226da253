"""A form made from the declared parameters of an algorithm, model, learner or data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.catalogue import Entry, Field
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.number_box import POSITIONS, NumberBox, WheelGuard
from mrfstudio.ui.words.topics import set_topic


class ParameterForm(QWidget):
    """One row for each field; `changed` with every valid edit, live while a slider moves."""

    changed = Signal(str, object, object)
    """Name, value and the number of the gesture: edits of one drag share it and are one step of undo.

    The number is an object because a signal's `int` has 32 bits, and one that does not fit crashes the interpreter.
    """

    def __init__(self, parent: QWidget | None = None, compact: bool = False) -> None:
        """`compact` puts label, slider and box of a number into one line, and leaves out the button for defaults."""
        super().__init__(parent)
        self._compact = compact
        self._rows: dict[str, FieldRow] = {}
        self._guard = WheelGuard(self)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(0, 0, 0, 0)
        self._content: QWidget | None = None
        self.set_fields(())

    def set_entry(self, entry: Entry, values: Mapping[str, Any] | None = None) -> None:
        """Show the parameters of a registered thing."""
        self.set_fields(entry.fields, values)

    def set_fields(self, fields: Sequence[Field], values: Mapping[str, Any] | None = None) -> None:
        """Show fields, at `values` where given, else at their defaults."""
        if self._content is not None:
            self._body.removeWidget(self._content)
            self._content.hide()
            self._content.deleteLater()
        self._rows = {field.name: FieldRow(field, self._guard, self._compact) for field in fields}
        self._content = self._built(fields)
        self._body.addWidget(self._content)
        for row in self._rows.values():
            row.changed.connect(self._emit)
        self.set_values(values or {})

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Show values that were set elsewhere; nothing is emitted."""
        for name, value in values.items():
            if name in self._rows:
                self._rows[name].set_value(value)
        self._show_defaults()

    def values(self) -> dict[str, Any]:
        """What the form shows, by name; of a field with a wrong text the last valid value."""
        return {name: row.value for name, row in self._rows.items()}

    def row(self, name: str) -> FieldRow:
        """The row of a field."""
        return self._rows[name]

    def reset(self) -> None:
        """Back to the defaults; emits what changes."""
        gesture = next_gesture()
        for name, row in self._rows.items():
            if row.value != row.field.default:
                row.set_value(row.field.default)
                self._emit(name, row.field.default, gesture)

    def _emit(self, name: str, value: object, gesture: int) -> None:
        self._show_defaults()
        self.changed.emit(name, value, gesture)

    def _built(self, fields: Sequence[Field]) -> QWidget:
        content = QWidget(self)
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 4 if self._compact else 8))
        if not fields:
            nothing = QLabel("Nothing to adjust here.")
            nothing.setProperty("role", "muted")
            column.addWidget(nothing)
        for field in fields:
            if not field.advanced:
                column.addWidget(self._rows[field.name])
        advanced = [field for field in fields if field.advanced]
        if advanced:
            column.addWidget(self._advanced(advanced))
        self._defaults = QPushButton("Defaults", content)
        self._defaults.setToolTip("Set every parameter back to where it began.")
        self._defaults.clicked.connect(self.reset)
        self._defaults.setVisible(bool(fields) and not self._compact)
        column.addWidget(self._defaults, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        return content

    def _advanced(self, fields: Sequence[Field]) -> QWidget:
        group = QWidget()
        column = QVBoxLayout(group)
        column.setContentsMargins(0, 0, 0, 0)
        fold = QToolButton()
        fold.setText("▸ Advanced")
        fold.setToolTip("Parameters that rarely need a change.")
        fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        fold.setAccessibleName("Advanced")
        inside = QWidget()
        rows = QVBoxLayout(inside)
        rows.setContentsMargins(px(self, 12), 0, 0, 0)
        for field in fields:
            rows.addWidget(self._rows[field.name])
        inside.hide()

        def toggle() -> None:
            inside.setVisible(inside.isHidden())
            fold.setText("▸ Advanced" if inside.isHidden() else "▾ Advanced")

        fold.clicked.connect(toggle)
        column.addWidget(fold)
        column.addWidget(inside)
        return group

    def _show_defaults(self) -> None:
        self._defaults.setEnabled(any(row.value != row.field.default for row in self._rows.values()))


class FieldRow(QWidget):
    """Label, editor, where it helps a slider, and a line that appears when the text does not fit."""

    changed = Signal(str, object, object)

    def __init__(self, field: Field, guard: WheelGuard, compact: bool = False) -> None:
        super().__init__()
        self.field = field
        self._compact = compact
        self._label: QLabel | None = None
        self.value: Any = field.default
        self.gesture = next_gesture()
        self.slider: QSlider | None = None
        self.problem = QLabel(self)
        self.problem.setProperty("role", "problem")
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.editor = self._editor()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(px(self, 2))
        self._arrange()
        self._line_up()
        for control in (self.editor, self.slider):
            if control is not None:
                control.installEventFilter(guard)
                control.setAccessibleName(title(field))
                control.setAccessibleDescription(f"{field.help} Expected {field.range_text}.")
        for widget in self.findChildren(QWidget):
            widget.setToolTip(tip(field))
        self.setWhatsThis(tip(field))
        set_topic(self, f"parameter/{field.name}")

    def set_value(self, value: Any) -> None:
        """Show a value; nothing is emitted."""
        self.value = value
        if isinstance(self.editor, NumberBox):
            self.editor.set_value(value)
            self._move_slider(value)
            return
        with QSignalBlocker(self.editor):
            if isinstance(self.editor, QComboBox):
                self.editor.setCurrentText(value)
            elif isinstance(self.editor, QCheckBox):
                self.editor.setChecked(value)
            elif isinstance(self.editor, QLineEdit) and not self.editor.hasFocus():
                self.editor.setText(value)

    def _editor(self) -> QWidget:
        field = self.field
        if field.kind == "choice":
            combo = QComboBox()
            combo.addItems(field.choices)
            combo.setCurrentText(field.default)
            combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            combo.activated.connect(lambda index: self._set(combo.itemText(index)))
            return combo
        if field.kind == "flag":
            check = QCheckBox(title(field))
            check.setChecked(field.default)
            check.toggled.connect(self._set)
            return check
        if field.kind == "text":
            line = QLineEdit(field.default)
            line.editingFinished.connect(lambda: self._set(line.text()))
            return line
        return self._number()

    def _number(self) -> NumberBox:
        box = NumberBox(self.field)
        box.edited.connect(self._box_edited)
        box.problem.connect(self._say)
        if box.scale.bounded:
            self.slider = QSlider(Qt.Orientation.Horizontal)
            self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.slider.setRange(0, POSITIONS)
            self.slider.setPageStep(POSITIONS // 10)
            self.slider.setSingleStep(POSITIONS // 100)
            self.slider.setValue(box.scale.position(self.field.default))
            self.slider.sliderPressed.connect(self._begin_gesture)
            self.slider.valueChanged.connect(lambda position: self._slid(box.scale.value(position)))
        return box

    def _arrange(self) -> None:
        if self.field.kind == "flag":
            self._grid.addWidget(self.editor, 0, 0)
            return
        label = QLabel(f"{title(self.field)} ({self.field.unit})" if self.field.unit else title(self.field))
        label.setBuddy(self.editor)
        self._label = label
        line = QHBoxLayout()
        line.addWidget(label, 0 if self._compact else 1)
        if self.slider is not None and self._compact:
            line.addWidget(self.slider, 1)
        line.addWidget(self.editor, int(self._compact and self.slider is None))
        self._grid.addLayout(line, 0, 0)
        if self.slider is not None and not self._compact:
            self._grid.addWidget(self.slider, 1, 0)
        self._grid.addWidget(self.problem, 2, 0)

    def _line_up(self) -> None:
        """Editors of all kinds are equally wide, at every font size."""
        if self._compact:
            if self._label is not None:
                self._label.setFixedWidth(px(self, 100))
            if isinstance(self.editor, NumberBox) and self.slider is not None:
                self.editor.setFixedWidth(px(self, 76))
            return
        if self.field.kind != "flag":
            self.editor.setFixedWidth(
                max(px(self, 128), self.editor.sizeHint().width() * (self.field.kind == "choice"))
            )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._line_up()

    def _set(self, value: Any) -> None:
        if value != self.value:
            self.value = value
            if self.slider is None or not self.slider.isSliderDown():
                self._begin_gesture()
            self.changed.emit(self.field.name, value, self.gesture)

    def _begin_gesture(self) -> None:
        self.gesture = next_gesture()

    def _box_edited(self, value: float) -> None:
        self._move_slider(value)
        self._set(value)

    def _slid(self, value: float) -> None:
        if isinstance(self.editor, NumberBox):
            self.editor.set_value(value)
        self._set(value)

    def _move_slider(self, value: float) -> None:
        if self.slider is not None and isinstance(self.editor, NumberBox):
            with QSignalBlocker(self.slider):
                self.slider.setValue(self.editor.scale.position(value))

    def _say(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))


def title(field: Field) -> str:
    """`learning_rate` as a person reads it."""
    return field.name.replace("_", " ").capitalize()


def tip(field: Field) -> str:
    """A tooltip: what it does, which values it takes, how the command line spells it."""
    values = escape(field.range_text[0].upper() + field.range_text[1:])
    return (
        f"<p><b>{escape(title(field))}</b><br>{escape(field.help)}</p>"
        f"<p>{values}; on the command line <code>{field.option}</code></p>"
    )
