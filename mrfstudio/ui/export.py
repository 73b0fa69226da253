"""Pictures out: the canvas and the curves as PNG or SVG, the numbers of the curves as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QByteArray, QSaveFile
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QFileDialog, QWidget

from mrfstudio.ui.drawing import Drawing
from mrfstudio.ui.settings import Settings

PNG, SVG, CSV = "PNG picture (*.png)", "SVG drawing (*.svg)", "Comma-separated numbers (*.csv)"
GIF, WEBP = "GIF animation (*.gif)", "WebP animation (*.webp)"


class ExportError(Exception):
    """A file that could not be written; one sentence for the message bar."""


def ask_path(parent: QWidget, settings: Settings, title: str, name: str, filters: Iterable[str]) -> Path | None:
    """Ask where to save; None if the person thought better of it."""
    chosen, selected = QFileDialog.getSaveFileName(parent, title, str(Path(settings.folder, name)), ";;".join(filters))
    if not chosen:
        return None
    path = Path(chosen)
    if not path.suffix:
        path = path.with_suffix(selected.rpartition("*")[2].rstrip(")"))
    settings.folder = str(path.parent)
    return path


def save_picture(image: QImage, path: Path) -> None:
    """Write a PNG; the old file stays until the new one is complete."""
    file = QSaveFile(str(path))
    written = file.open(QSaveFile.OpenModeFlag.WriteOnly) and QImageWriter(file, QByteArray(b"png")).write(image)
    if not (written and file.commit()):
        raise ExportError(
            f"{path} cannot be written ({file.errorString() or 'not a place for pictures'}): choose another place."
        )


def save_drawing(drawing: Drawing, path: Path, title: str = "") -> None:
    """Write SVG where the name says so, else PNG."""
    if path.suffix.lower() == ".svg":
        save_text(drawing.svg(title), path)
    else:
        save_picture(drawing.image(), path)


def save_text(text: str, path: Path) -> None:
    """Write text, such as the curves' numbers; the old file stays until the new one is complete."""
    file = QSaveFile(str(path))
    written = file.open(QSaveFile.OpenModeFlag.WriteOnly) and file.write(text.encode()) >= 0
    if not (written and file.commit()):
        raise ExportError(f"{path} cannot be written ({file.errorString()}): choose another place.")
