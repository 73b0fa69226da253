"""What comes into the Segment workspace and goes out of it: pictures, figures, models, exports, the command."""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QWidget

from mrfstudio.engine.commands import SetImage
from mrfstudio.engine.frames import Frame, Picture
from mrfstudio.ui.dialogs.example import Example, ExampleDialog
from mrfstudio.ui.dialogs.picture import PictureDialog
from mrfstudio.ui.dialogs.simple import NewDrawing, TextDialog
from mrfstudio.ui.export import CSV, PNG, ExportError, ask_path, picture_of, save_picture, save_text
from mrfstudio.ui.files import MODELS, SESSION_ENDING

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.segment import SegmentWorkspace

PICTURE_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".ico", ".tga"}
FIRST_EXAMPLE = Example("glyphs", "5", 3)


@dataclass(frozen=True)
class Source:
    """The file that the shown picture came from, if a command can read it the same way."""

    path: Path
    ink: str
    name: str


class SegmentFiles(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: SegmentWorkspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._controller = workspace.controller
        self._settings = workspace.settings
        self.example = FIRST_EXAMPLE
        self._source: Source | None = None

    @property
    def _window(self) -> QWidget:
        return self._workspace.canvas.window()

    # In ---------------------------------------------------------------------------------------------------------------

    def open_path(self, path: Path) -> bool:
        """A picture or a model; False if it is neither."""
        ending = path.suffix.lower()
        if ending == ".safetensors":
            self._controller.ask("model_note", self._workspace.use_model, model=str(path))
            return True
        if ending in PICTURE_ENDINGS:
            self._find_contours(path)
            return True
        return False

    def _find_contours(self, source: Path | np.ndarray) -> None:
        dialog = PictureDialog(self._controller, source, self._window)
        self._then(dialog, lambda: self._use_picture(dialog, source))

    def _use_picture(self, dialog: PictureDialog, source: Path | np.ndarray) -> None:
        picture = dialog.picture
        if picture is None:
            return
        self._show(picture)
        exact = dialog.automatic.isChecked() and not dialog.filled.currentData()
        if isinstance(source, Path) and exact and picture.full_size == picture.observed.shape:
            self._source = Source(source.absolute(), picture.ink, picture.name)

    def _show(self, picture: Picture) -> None:
        self._source = None
        self._controller.post(SetImage(picture.observed, picture.truth, picture.name))
        self._workspace.canvas.set_original(picture.grey)
        self._workspace.canvas.setFocus()

    def new_drawing(self) -> None:
        dialog = NewDrawing(self._window)
        self._then(dialog, lambda: self._show(Picture("drawing", dialog.observed)))

    def open_example(self) -> None:
        engine = self._controller.engine
        if engine is None:
            return
        dialog = ExampleDialog(self._controller, engine.figures, self.example, self._window)

        def chosen() -> None:
            self.example = dialog.example
            if dialog.picture is not None:
                self._show(dialog.picture)

        self._then(dialog, chosen)

    def next_example(self) -> None:
        self.example = self.example.following()
        self._controller.ask("figure_picture", self._show, **self.example.arguments())

    def paste(self) -> None:
        clipboard = QApplication.clipboard()
        urls = clipboard.mimeData().urls()
        if urls and urls[0].isLocalFile() and self.open_path(Path(urls[0].toLocalFile())):
            return
        image = clipboard.image()
        if image.isNull():
            self._say("There is no picture in the clipboard: copy one first, or open a file.")
        else:
            self._find_contours(grey_levels(image))

    def open_model(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open model", self._settings.folder, MODELS)
        if chosen:
            self.open_path(Path(chosen))

    # Out --------------------------------------------------------------------------------------------------------------

    def export_canvas(self) -> None:
        path = ask_path(self._window, self._settings, "Export canvas", f"{self._name}.png", [PNG])
        if path is not None:
            self._save(lambda: save_picture(self.canvas_image(), path), path)

    def canvas_image(self) -> QImage:
        """What is shown: one lane alone, or both as they stand side by side."""
        canvases = self._workspace.canvases
        return picture_of(canvases) if canvases.comparing else canvases.first.render_image()

    def export_curves(self) -> None:
        curves = self._workspace.curves
        if curves is None:
            return
        path = ask_path(self._window, self._settings, "Export curves", f"{self._name}-curves.png", [PNG, CSV])
        if path is None:
            return
        if path.suffix.lower() == ".csv":
            self._save(lambda: save_text(curves.to_csv(), path), path)
        else:
            self._save(lambda: save_picture(picture_of(curves), path), path)

    def export_labels(self) -> None:
        path = ask_path(self._window, self._settings, "Export labels", f"{self._name}-labels.png", [PNG])
        if path is not None:
            self._controller.ask("save_labels", lambda _: self._say(f"The labels are in {path}."), path=str(path))

    def copy_picture(self) -> None:
        QApplication.clipboard().setImage(self.canvas_image())
        self._say("The canvas is in the clipboard.")

    def show_card(self) -> None:
        frame = self._controller.newest
        if frame is not None and frame.lanes:
            self._controller.ask("model_card", self._show_card, model=frame.lanes[0].model)

    def _show_card(self, markdown: str) -> None:
        TextDialog("About this model", markdown, self._window).open()

    # The command ------------------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        """The `mrfstudio` line that computes what is shown; a snapshot of the session where no shorter one can."""
        frame = self._controller.newest
        if frame is None or not frame.lanes:
            return
        line = self.direct_command(frame)
        if line is not None:
            self._copy(line)
            return
        folder = Path(platformdirs.user_data_dir("mrfstudio", appauthor=False), "commands")
        stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{hashlib.sha256(self._name.encode()).hexdigest()[:4]}"
        path = folder / f"{stamp}{SESSION_ENDING}"
        self._controller.ask("snapshot", lambda saved: self._copy(command_line("replay", saved)), path=str(path))

    def direct_command(self, frame: Frame) -> str | None:
        """`mrfstudio segment …` where the picture is a file as it is and nothing else was said; else None."""
        lane = frame.lanes[0]
        untouched = self._source is not None and frame.name == self._source.name and not self._edited(frame)
        if not untouched or len(frame.lanes) > 1 or lane.algorithm != "bp" or self._source is None:
            return None
        options = ["--model", lane.model, "--iterations", str(lane.iteration), "--ink", self._source.ink]
        return command_line("segment", str(self._source.path), *options)

    def _edited(self, frame: Frame) -> bool:
        return frame.undo not in ("", f"Open {frame.name}")

    def _copy(self, line: str) -> None:
        QApplication.clipboard().setText(line)
        self._say(f"Copied: {line}")

    # Inside -----------------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        frame = self._controller.newest
        return Path(frame.name).stem.replace(" ", "-") if frame is not None and frame.name else "segment"

    def _then(self, dialog: QDialog, accepted: Callable[[], None]) -> None:
        """Show a dialog that blocks nothing, and forget it when it has closed."""
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(accepted)
        dialog.open()

    def _save(self, write: Callable[[], None], path: Path) -> None:
        try:
            write()
        except ExportError as error:
            self._say(str(error))
        else:
            self._say(f"Written: {path}")

    def _say(self, sentence: str) -> None:
        self._controller.message.emit(sentence)


def command_line(*words: str) -> str:
    """A line for a shell."""
    return shlex.join(("mrfstudio", *words))


def grey_levels(image: QImage) -> np.ndarray:
    """A picture as grey levels (h, w) from 0 to 1, on white where it is transparent."""
    flat = QImage(image.size(), QImage.Format.Format_RGB32)
    flat.fill(Qt.GlobalColor.white)
    painter = QPainter(flat)
    painter.drawImage(0, 0, image)
    painter.end()
    grey = flat.convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    return rows[:, : grey.width()].astype(np.float32) / np.float32(255)
