"""What the window remembers from one start to the next."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from mrfstudio.places import settings_file
from mrfstudio.ui.style.theme import LARGEST_SCALE, MODES, Mode

LAYOUT_VERSION = 1
"""Raise it when docks or tool bars get other names: an old layout is then forgotten instead of misapplied."""


class Settings:
    """Typed access to QSettings. Values that are missing or damaged fall back to their defaults."""

    def __init__(self, path: Path | None = None) -> None:
        path = path or settings_file()
        if path is None:
            self._store = QSettings("mrfstudio", "mrfstudio")
        else:
            self._store = QSettings(str(path), QSettings.Format.IniFormat)

    @property
    def geometry(self) -> QByteArray | None:
        return self._bytes("window/geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    @property
    def layout(self) -> QByteArray | None:
        """Where the docks are."""
        return self._bytes(f"window/layout{LAYOUT_VERSION}")

    @layout.setter
    def layout(self, value: QByteArray) -> None:
        self._store.setValue(f"window/layout{LAYOUT_VERSION}", value)

    @property
    def theme(self) -> Mode:
        stored = self._store.value("look/theme")
        return next((mode for mode in MODES if mode == stored), "system")

    @theme.setter
    def theme(self, value: Mode) -> None:
        self._store.setValue("look/theme", value)

    @property
    def font_scale(self) -> float:
        return min(max(self._number("look/font_scale", 1.0), 0.75), LARGEST_SCALE)

    @font_scale.setter
    def font_scale(self, value: float) -> None:
        self._store.setValue("look/font_scale", value)

    @property
    def recent(self) -> list[Path]:
        stored = self._store.value("files/recent")
        # One entry comes back as a plain string, none as None.
        entries = [stored] if isinstance(stored, str) else stored if isinstance(stored, list) else []
        return [Path(entry) for entry in entries if isinstance(entry, str) and entry]

    @recent.setter
    def recent(self, paths: list[Path]) -> None:
        self._store.setValue("files/recent", [str(path) for path in paths])

    @property
    def folder(self) -> str:
        """Where files were last opened or saved."""
        value = self._store.value("files/folder")
        return value if isinstance(value, str) else ""

    @folder.setter
    def folder(self, value: str) -> None:
        self._store.setValue("files/folder", value)

    @property
    def card_seen(self) -> bool:
        """Whether the card of the first start was clicked away once."""
        return self._store.value("window/card_seen") in (True, "true")

    @card_seen.setter
    def card_seen(self, value: bool) -> None:
        self._store.setValue("window/card_seen", value)

    def sync(self) -> None:
        """Write to disk now."""
        self._store.sync()

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None

    def _number(self, key: str, default: float) -> float:
        try:
            return float(str(self._store.value(key, default)))
        except ValueError:
            return default
