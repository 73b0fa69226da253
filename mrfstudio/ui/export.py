"""Pictures out: the canvas and the curves as PNG, the numbers of the curves as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QByteArray, QPoint, QSaveFile, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QFileDialog, QWidget

from mrfstudio.ui.settings import Settings

PNG, CSV = "PNG picture (*.png)", "Comma-separated numbers (*.csv)"


class ExportError(Exception):
    """A file that could not be written; one sentence for the message bar."""


def ask_path(parent: QWidget, settings: Settings, title: str, name: str, filters: Iterable[str]) -> Path | None:
    """Ask where to save; None if the person thought better of it."""
    chosen, selected = QFileDialog.getSaveFileName(parent, title, str(Path(settings.folder, name)), ";;".join(filters))
    if not chosen:
        return None
    path = Path(chosen)
    if not path.suffix:
        path = path.with_suffix(".csv" if selected == CSV else ".png")
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


def save_text(text: str, path: Path) -> None:
    """Write text, such as the curves' numbers; the old file stays until the new one is complete."""
    file = QSaveFile(str(path))
    written = file.open(QSaveFile.OpenModeFlag.WriteOnly) and file.write(text.encode()) >= 0
    if not (written and file.commit()):
        raise ExportError(f"{path} cannot be written ({file.errorString()}): choose another place.")


def picture_of(widget: QWidget, scale: float = 2.0) -> QImage:
    """A widget as it looks now, at `scale` pixels for each of its own."""
    image = QImage(widget.size() * scale, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    widget.render(painter, QPoint())
    painter.end()
    return image
