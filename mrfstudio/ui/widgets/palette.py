"""What the columns of tools beside a canvas share: groups of buttons above sliders, with words or without."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QSlider, QToolButton, QVBoxLayout, QWidget

from mrfstudio.ui.style.theme import px

STEPS = 100
IN_A_ROW = 2  # buttons, where they show a picture and a key only


class PaletteButton(QToolButton):
    """A tool or a label: a picture, its name and its key; without room for the name, the tool tip has it."""

    def __init__(self, name: str, help: str, key: str, title: str = "") -> None:
        """`title` is the name as the button shows it, if shorter."""
        super().__init__()
        self._title, self._key = title or name, key
        self.setProperty("role", "tool")  # low: on a small screen all of a column is to be seen
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus with the canvas
        self.setAccessibleName(name)
        self.setToolTip(f"<b>{name}</b> ({key})<br>{help}")
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        self.setText(f" {self._key}" if narrow else f" {self._title}  {self._key}")


class ButtonGrid(QWidget):
    """Buttons below each other, or two in a row where they have no names.

    A widget and not just a layout: Qt does not lay out a layout within a layout again after hidden buttons have grown.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buttons: Sequence[PaletteButton] = ()
        self._narrow = False
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(px(self, 1))

    def set_buttons(self, buttons: Sequence[PaletteButton]) -> None:
        """These instead of those before, which are deleted."""
        for button in (each for each in self._buttons if each not in buttons):
            self._grid.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = buttons
        self.set_narrow(self._narrow)

    def set_narrow(self, narrow: bool) -> None:
        self._narrow = narrow
        for index, button in enumerate(self._buttons):
            button.set_narrow(narrow)
            self._grid.removeWidget(button)
            self._grid.addWidget(button, *(divmod(index, IN_A_ROW) if narrow else (index, 0)))


class Palette(QWidget):
    """Tools, labels or states, brush size and strength. `set_narrow` leaves the words out."""

    longest = "Strength: hard 8"
    """What decides the width, so that it does not change with the numbers."""

    def __init__(self, size_help: str, strength_help: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.narrow = False
        self.size_label, self.strength_label = QLabel(), QLabel()
        self.brush_size = palette_slider("Brush size", size_help)
        self.strength = palette_slider("Strength", strength_help)
        self._tools, self._labels = ButtonGrid(), ButtonGrid()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(px(self, 8), px(self, 4), px(self, 8), px(self, 4))
        self._column.setSpacing(px(self, 2))
        for grid in (self._tools, self._labels):
            self._column.addWidget(grid)
            self._column.addSpacing(px(self, 6))
        for widget in (self.size_label, self.brush_size, self.strength_label, self.strength):
            self._column.addWidget(widget)
        self._column.addStretch(1)

    def set_narrow(self, narrow: bool) -> None:
        """Pictures and keys only, or names too."""
        if narrow != self.narrow:
            self.narrow = narrow
            for grid in (self._tools, self._labels):
                grid.set_narrow(narrow)
            self._show_numbers()
            self._follow_theme()

    def worded(self, name: str, value: str) -> str:
        """`Size 3 px`; in two lines where there is no room for one."""
        return f"{name}\n{value}" if self.narrow else f"{name} {value}"

    def strength_words(self, strength: float) -> str:
        return self.worded("Strength", f"{strength:.0%}") if strength < 1 else self.worded("Strength:", "hard")

    def _show_numbers(self) -> None:
        """Write size and strength again."""
        raise NotImplementedError

    def _follow_theme(self) -> None:
        room = 0 if self.narrow else self.fontMetrics().horizontalAdvance(self.longest)
        self.size_label.setMinimumWidth(room)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._follow_theme()


def palette_slider(name: str, help: str) -> QSlider:
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(0, STEPS)
    slider.setPageStep(10)
    slider.setAccessibleName(name)
    slider.setToolTip(f"<b>{name}</b><br>{help}")
    slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return slider
