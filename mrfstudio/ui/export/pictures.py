"""Pictures out: the canvas and the curves as PNG or SVG, the numbers of the curves as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRectF, QSaveFile, QSize, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QWidget

from mrfstudio.ui.window.settings import Settings


@dataclass(frozen=True, eq=False)
class Drawing:
    """`paint` fills an area of `size` units on `paper`; a picture of it has `scale` pixels for a unit."""

    size: QSize
    paint: Callable[[QPainter], None]
    scale: float = 1.0
    paper: str | None = None

    def image(self) -> QImage:
        """As pixels."""
        image = QImage(self.size * self.scale, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(self.scale)
        image.fill(QColor(self.paper) if self.paper else Qt.GlobalColor.transparent)
        painter = QPainter(image)
        self.paint(painter)
        painter.end()
        return image

    def svg(self, title: str = "") -> str:
        """As SVG text: lines and letters stay such, pictures are embedded."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        area = QRectF(0, 0, self.size.width(), self.size.height())
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(self.size)
        generator.setViewBox(area)
        generator.setTitle(title)
        painter = QPainter(generator)
        if self.paper:
            painter.fillRect(area, QColor(self.paper))
        self.paint(painter)
        painter.end()
        data: QByteArray = buffer.data()
        return bytes(data.data()).decode()


def drawing_of(widget: QWidget, scale: float = 2.0) -> Drawing:
    """A widget as it looks now."""
    return Drawing(widget.size(), lambda painter: widget.render(painter, QPoint()), scale)


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
