"""What a long benchmark has measured so far: a JSON file that makes it resumable, and the Markdown made from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.atomic import atomic_path

Found = dict[str, Any]


class Kept:
    """Results by name in FOLDER/results.json. One measured with other settings counts as not measured."""

    def __init__(self, folder: Path, settings: dict[str, Any], page: Callable[[Kept], str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.settings, self._page = folder, settings, page
        self._file = folder / "results.json"
        self._all: dict[str, Found] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def get(self, name: str) -> Found | None:
        """What was measured under this name with the present settings."""
        found = self._all.get(name)
        return found if found is not None and found["settings"] == self.settings else None

    def add(self, name: str, found: Found) -> None:
        """Keep a result, and write the page again."""
        self._all[name] = {"settings": self.settings, **found}
        _write(self._file, json.dumps(self._all, indent=1))
        self.write()

    def write(self) -> None:
        """The page of what there is, in the words of today."""
        if self._all:
            _write(self.folder / "tables.md", self._page(self))

    @property
    def settings_in_words(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.settings.items())


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
