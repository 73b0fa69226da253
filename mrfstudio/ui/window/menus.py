"""The menu bar, made from the table of actions, and its right corner: device, threads, theme."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QDockWidget, QLabel, QMenu, QToolButton

from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import MODES, px
from mrfstudio.ui.window.actions import Actions, menus
from mrfstudio.ui.window.help.finding import INSIDE, plain
from mrfstudio.ui.window.shell import spaced

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow

THEMES = {"system": "Like the system", "light": "Light", "dark": "Dark"}


class Menus(QObject):
    """Builds the menus once; panels and models are filled in when they are known."""

    def __init__(self, window: MainWindow, actions: Actions, recent: QMenu) -> None:
        super().__init__(window)
        self._window, self._actions = window, actions
        self.by_name: dict[str, QMenu] = {}
        for title, groups in menus().items():
            menu = window.menuBar().addMenu(f"&{title}")
            menu.setToolTipsVisible(True)
            self.by_name[title] = menu
            for index, group in enumerate(groups):
                if index:
                    menu.addSeparator()
                menu.addActions([actions[spec.name] for spec in group])
                if title == "File" and index == 0:
                    menu.addMenu(recent)
        self._add_themes()
        self._build_corner()
        self.panels = QMenu("Panels", window)
        self.by_name["View"].insertMenu(actions["full_screen"], self.panels)

    def _add_themes(self) -> None:
        self.themes = QMenu("Theme", self._window)
        group = QActionGroup(self)
        self._theme_actions: dict[str, QAction] = {}
        for mode in MODES:
            action = self.themes.addAction(THEMES[mode])
            action.setCheckable(True)
            action.setStatusTip(f"Colours: {THEMES[mode].lower()}.")
            action.triggered.connect(lambda _=False, mode=mode: self._window.appearance.set_theme(mode))
            group.addAction(action)
            self._theme_actions[mode] = action
        view = self.by_name["View"]
        view.insertMenu(view.actions()[-2], self.themes)

    def _build_corner(self) -> None:
        window = self._window
        self.device = QLabel("loading the engine…")
        self.device.setProperty("role", "muted")
        self.device.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.device.setToolTip("The device that computes, and how many threads it may use.")
        self.theme_button = QToolButton()
        self.theme_button.setToolTip("Light, dark, or like the system.")
        self.theme_button.setAccessibleName("Theme")
        self.theme_button.setMenu(self.themes)
        self.theme_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._follow_theme()
        window.theme.changed.connect(self._follow_theme)
        self.corner = spaced((self.device, self.theme_button), px(window, 8))
        window.menuBar().setCornerWidget(self.corner)

    def show_device(self, words: str) -> None:
        """Say what computes, in the corner."""
        self.device.setText(words)
        self.corner.adjustSize()
        self._window.menuBar().setCornerWidget(self.corner)  # a menu bar gives its corner no other room by itself

    def _follow_theme(self) -> None:
        side = px(self._window, 18)
        self.theme_button.setIcon(icon("theme", self._window))
        self.theme_button.setIconSize(QSize(side, side))

    def mark_theme(self, mode: str) -> None:
        """Show which theme is chosen."""
        self._theme_actions[mode].setChecked(True)

    def show_undo(self, undo: str, redo: str) -> None:
        """Say what Undo and Redo would do; they rest where it is nothing."""
        for name, what in (("undo", undo), ("redo", redo)):
            action = self._actions[name]
            word = name.capitalize()
            text = f"{word} {what[0].lower()}{what[1:]}" if what else word
            if action.text() != text:
                action.setText(text)
            if action.isEnabled() != bool(what):
                action.setEnabled(bool(what))

    def fill_panels(self, docks: Iterable[QDockWidget]) -> None:
        """One entry for each panel that can be hidden."""
        self.panels.clear()
        for dock in docks:
            action = dock.toggleViewAction()
            action.setStatusTip(f"Show or hide the panel “{dock.windowTitle()}”.")
            self.panels.addAction(action)

    def every_action(self) -> list[tuple[str, QAction]]:
        """All actions with the menu they are in, for the palette."""
        found: list[tuple[str, QAction]] = []
        for title, menu in self.by_name.items():
            found += _leaves(menu, title)
        return found


def _leaves(menu: QMenu, place: str) -> list[tuple[str, QAction]]:
    """The actions of a menu and of the menus in it, with where they are."""
    leaves: list[tuple[str, QAction]] = []
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            leaves += _leaves(inner, f"{place}{INSIDE}{plain(action)}")
        elif not action.isSeparator():
            leaves.append((place, action))
    return leaves
