"""How the window looks: its size and that of its text, theme, whole screen, panels where they first were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QObject, Qt

from mrfstudio.ui.window.actions import FULL_SCREEN, LARGER_TEXT, RESTORE_LAYOUT, SMALLER_TEXT, ActionHandlers

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow

FIRST_SIZE = (1280, 800)
FRAME = (8, 40)  # what the system draws around a window; known only once it is shown
TEXT_STEPS = (0.75, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)


class Appearance(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.first_layout = QByteArray()

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            FULL_SCREEN: self.full_screen,
            RESTORE_LAYOUT: self.restore_layout,
            LARGER_TEXT: self.larger_text,
            SMALLER_TEXT: self.smaller_text,
        }

    def full_screen(self) -> None:
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    def restore_layout(self) -> None:
        self._window.restoreState(self.first_layout)
        self._window.docks.arrange()

    def larger_text(self) -> None:
        now = self._window.theme.scale
        self._set_scale(next((step for step in TEXT_STEPS if step > now + 0.01), TEXT_STEPS[-1]))

    def smaller_text(self) -> None:
        now = self._window.theme.scale
        self._set_scale(next((step for step in reversed(TEXT_STEPS) if step < now - 0.01), TEXT_STEPS[0]))

    def _set_scale(self, scale: float) -> None:
        self._window.theme.set_scale(scale)
        self._window.settings.font_scale = scale

    def set_theme(self, mode: str) -> None:
        """`system`, `light` or `dark`."""
        window = self._window
        window.theme.set_mode(mode)  # type: ignore[arg-type]  # the menu offers only the three
        window.settings.theme = window.theme.mode
        window.menus.mark_theme(window.theme.mode)

    def restore_geometry(self) -> None:
        """As it was when it closed; the first time, as large as fits the screen."""
        window, before = self._window, self._window.settings.geometry
        if before is None or not window.restoreGeometry(before):
            available = window.screen().availableSize()
            room = (available.width() - FRAME[0], available.height() - FRAME[1])
            window.resize(min(FIRST_SIZE[0], room[0]), min(FIRST_SIZE[1], room[1]))

    def remember(self) -> None:
        """Keep size and layout for the next start."""
        settings = self._window.settings
        settings.geometry = self._window.saveGeometry()
        settings.layout = QByteArray(self._window.saveState())
        settings.sync()
