"""The entry in the menu of a Linux desktop, its icon, and the files that a double click opens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mrfstudio.assets import asset
from mrfstudio.engine.protocol.errors import StudioError

TARGETS = {
    "applications/mrfstudio.desktop": ("desktop", "mrfstudio.desktop"),
    "mime/packages/mrfstudio.xml": ("desktop", "mrfstudio-mime.xml"),
    "icons/hicolor/scalable/apps/mrfstudio.svg": ("desktop", "mrfstudio.svg"),
}
REFRESH = (("update-desktop-database", "applications"), ("update-mime-database", "mime"))


def data_home() -> Path:
    """The folder of a person's own desktop entries."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def program() -> str:
    """How a desktop starts this copy: the bundle, the installed command, or the launcher of a checkout."""
    if getattr(sys, "frozen", False):
        return _quoted(sys.executable)
    launcher = Path(__file__).resolve().parents[1] / "studio.py"
    if launcher.exists():
        return f"{_quoted(sys.executable)} {_quoted(str(launcher))}"
    return f"{_quoted(sys.executable)} -P -m mrfstudio"


def _quoted(word: str) -> str:
    """A word of an Exec line: quoted, with what means something there escaped."""
    escaped = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word).replace("%", "%%")
    return f'"{escaped}"'


def install() -> list[Path]:
    """Write entry, icon and file types into the person's own folder; returns them. Raises `StudioError`."""
    if not sys.platform.startswith("linux"):
        raise StudioError("Desktop entries are for Linux: docs/installing.md says how files open on other systems.")
    written = []
    for place, source in TARGETS.items():
        target, content = data_home() / place, asset(*source).read_text(encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content.replace("Exec=mrfstudio", f"Exec={program()}"), encoding="utf-8")
        written.append(target)
    _refresh()
    return written


def remove() -> list[Path]:
    """Take away what `install` wrote."""
    found = [data_home() / place for place in TARGETS if (data_home() / place).exists()]
    for path in found:
        path.unlink()
    _refresh()
    return found


def _refresh() -> None:
    """Tell the desktop, where it has a program for that; without one it looks again at the next login."""
    for command, folder in REFRESH:
        path = shutil.which(command)
        if path and (data_home() / folder).is_dir():
            subprocess.run([path, str(data_home() / folder)], capture_output=True)
