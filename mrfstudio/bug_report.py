"""What a bug report holds: versions, device and the end of the log, and the session if the person wants. Never sent."""

from __future__ import annotations

import platform
import re
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mrfstudio import __version__
from mrfstudio.places import log_folder

PACKAGES = ("torch", "PySide6-Essentials", "pyqtgraph", "numpy", "scipy", "scikit-image", "Pillow", "safetensors")
LOG_LINES = 200
SUMMARY, LOG, CRASHES, SESSION = "versions.txt", "mrfstudio.log", "crash.log", "session.mrfs"


def report_parts(device: str) -> dict[str, str]:
    """The texts of a report by file name, with the person's own folder and name taken out of them."""
    lines = [f"mrfstudio {__version__}", f"Python {platform.python_version()} on {platform.platform()}"]
    lines += [f"device: {device or 'unknown'}", *(f"{name} {_version(name)}" for name in PACKAGES)]
    parts = {SUMMARY: "\n".join(lines) + "\n"}
    for name in (LOG, CRASHES):
        tail = _tail(log_folder() / name)
        if tail:
            parts[name] = tail
    return {name: without_names(text) for name, text in parts.items()}


def without_names(text: str, home: Path | None = None) -> str:
    """A text in which the person's folder is `~` and nothing else names them."""
    folder = home or Path.home()
    if not folder.name:  # the root of the disk is nobody's own
        return text
    text = text.replace(str(folder), "~").replace(folder.as_posix(), "~")
    # Paths of other spellings, such as another drive's copy, still end with the name of the folder.
    return re.sub(rf"(?<=[/\\]){re.escape(folder.name)}(?=[/\\])", "~", text) if len(folder.name) > 1 else text


def write_report(path: Path, parts: dict[str, str], session: Path | None = None) -> None:
    """One zip: the texts as they were shown, and the session's file."""
    begun = path.with_name(f".{path.name}.part")
    try:
        with zipfile.ZipFile(begun, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in parts.items():
                archive.writestr(name, text)
            if session is not None:
                archive.write(session, SESSION)
        begun.replace(path)
    finally:
        begun.unlink(missing_ok=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def _tail(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_LINES:]) + "\n" if lines else ""
