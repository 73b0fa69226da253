"""The menu of recent files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QMenu

from mrfstudio.ui.window.settings import Settings

LONGEST = 10


class RecentFiles:
    """Keeps the list in the settings and a menu in step with it."""

    def __init__(self, menu: QMenu, settings: Settings, open_path: Callable[[Path], None]) -> None:
        self._menu = menu
        self._settings = settings
        self._open = open_path
        menu.aboutToShow.connect(self.refresh)
        self.refresh()

    def add(self, path: Path) -> None:
        """Put a file at the top of the list."""
        path = path.absolute()
        others = [known for known in self._settings.recent if known != path]
        self._settings.recent = [path, *others][:LONGEST]
        self.refresh()

    def forget(self, path: Path) -> None:
        """Take a file from the list, such as one that is no longer there."""
        self._settings.recent = [known for known in self._settings.recent if known != path.absolute()]
        self.refresh()

    def clear(self) -> None:
        self._settings.recent = []
        self.refresh()

    def refresh(self) -> None:
        """Rebuild the menu: files that have gone stay listed but cannot be chosen."""
        self._menu.clear()
        paths = self._settings.recent
        for number, path in enumerate(paths, 1):
            digit = "1&0" if number == 10 else f"&{number}"
            action = self._menu.addAction(f"{digit}  {path.name.replace('&', '&&')}")
            action.setToolTip(str(path))
            action.setStatusTip(str(path))
            action.setEnabled(path.exists())
            action.triggered.connect(lambda _=False, path=path: self._open(path))
        if paths:
            self._menu.addSeparator()
            self._menu.addAction("Clear list", self.clear)
        else:
            self._menu.addAction("Files that you open or save appear here").setEnabled(False)
