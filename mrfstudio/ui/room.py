"""How much room the window has for its text, and who makes do with less."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.theme import unit_of

# Design pixels, see `theme.px`. Each lies a little above what the window needs without the change that it brings, so
# that the window can always be made small enough for the change to come.
TABBED = 1320.0
NARROW = 1090.0


class Room(QObject):
    """Watches the width of a window in units of its text: 1280 pixels are plenty at 100 % and few at 200 %."""

    changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._unit = unit_of(window.font())  # told by the theme from then on: a window learns of its font later
        self.tabbed = False
        """Whether panels that stand beside each other are to share one place, with tabs."""
        self.narrow = False
        """Whether buttons are to show pictures and keys instead of words."""

    def look(self) -> None:
        """The window or its text has another size."""
        width = self._window.width() / self._unit
        self._set(width < TABBED, width < NARROW)

    def make(self, unit: float) -> None:
        """Text of this `unit` is about to come.

        Where it is larger, room is made before and not after it has come: Qt widens a window at once, and never makes
        it narrow again by itself.
        """
        self._unit = unit
        width = self._window.width() / unit
        self._set(self.tabbed or width < TABBED, self.narrow or width < NARROW)

    def _set(self, tabbed: bool, narrow: bool) -> None:
        if (tabbed, narrow) != (self.tabbed, self.narrow):
            self.tabbed, self.narrow = tabbed, narrow
            self.changed.emit()
