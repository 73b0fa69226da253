"""What goes in and out of every workspace with a canvas: models, exports, the clipboard, the command."""

from __future__ import annotations

import hashlib
import shlex
import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog

from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.studio import (
    CopyLink,
    CopySession,
    DescribeModel,
    ModelCard,
    PictureInWords,
)
from mrfstudio.places import user_folder
from mrfstudio.ui.export.pictures import Drawing, drawing_of
from mrfstudio.ui.window.actions import COPY_COMMAND, OPEN_MODEL, PASTE, SHOW_CARD, ActionHandlers
from mrfstudio.ui.window.dialogs.common import TextDialog, show_dialog
from mrfstudio.ui.window.files import MODELS, SESSION_ENDING
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView
from mrfstudio.ui.workspaces.shared.exports import Exports

PICTURE_ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".ico", ".tga"}
PICTURE_ENDINGS |= {".heic", ".heif", ".avif", ".jp2"}


class CanvasFiles(Exports):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: CanvasView) -> None:
        super().__init__(workspace)
        self._canvases = workspace

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            PASTE: self.paste,
            OPEN_MODEL: self.open_model,
            SHOW_CARD: self.show_card,
            COPY_COMMAND: self.copy_command,
        }

    @property
    def _curves(self) -> Any:
        return self._canvases.curves

    # In ---------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def open_picture(self, source: Path | np.ndarray) -> None:
        """Bring in a picture, from a file or as grey levels (h, w) from 0 to 1."""

    def use_model_file(self, path: Path) -> None:
        """Check a model file and choose it."""
        self._controller.ask(DescribeModel(self._controller.workspace, str(path)), self._canvases.use_model)

    def open_path(self, path: Path) -> bool:
        """A picture or a model; False if it is neither."""
        ending = path.suffix.lower()
        if ending == ".safetensors":
            self.use_model_file(path)
            return True
        if ending in PICTURE_ENDINGS:
            self.open_picture(path)
            return True
        return False

    def paste(self) -> None:
        clipboard = QApplication.clipboard()
        content: QMimeData | None = clipboard.mimeData()  # None where nothing was ever copied
        urls = [] if content is None else content.urls()
        if urls and urls[0].isLocalFile() and self.open_path(Path(urls[0].toLocalFile())):
            return
        if not self.open_image(clipboard.image()):
            self._say("There is no picture in the clipboard: copy one first, or open a file.")

    def open_image(self, image: QImage) -> bool:
        """A picture that came without a file; False if there is none."""
        if image.isNull():
            return False
        self.open_picture(grey_levels(image))
        return True

    def open_model(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open model", self._settings.folder, MODELS)
        if chosen:
            self.open_path(Path(chosen))

    # Out --------------------------------------------------------------------------------------------------------------

    def canvas_drawing(self) -> Drawing:
        """What is shown: one lane alone, or both as they stand side by side."""
        canvases = self._canvases.canvases
        return drawing_of(canvases) if canvases.comparing else canvases.first.drawing()

    def show_card(self) -> None:
        frame = self._controller.newest
        if frame is not None and frame.lanes:
            self._controller.ask(ModelCard(frame.lanes[0].model), self._show_card)

    def _show_card(self, markdown: str) -> None:
        show_dialog(TextDialog("About this model", markdown, self._window))

    # The command ------------------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        """The `mrfstudio` line that computes what is shown; the whole state where no shorter one can."""
        frame = self._controller.newest
        if frame is None or not frame.lanes:
            return
        line = self.direct_command(frame)
        if line is not None:
            self._copy(line)
        else:
            self.copy_replay()

    def copy_replay(self, otherwise: Callable[[], None] | None = None) -> None:
        """The state as a link in the line, which any machine can run; else a file that the line names."""
        save = otherwise or self.copy_session
        self._controller.ask(CopyLink(self._controller.workspace), self._replay, lambda _: save())

    def copy_session(self) -> None:
        path = self.new_place().with_suffix(SESSION_ENDING)
        self._controller.ask(CopySession(self._controller.workspace, str(path)), self._replay)

    def _replay(self, session: str) -> None:
        self._copy(command_line("replay", session))

    def copy_shipped(self, line: Callable[[str], str], otherwise: Callable[[], None]) -> None:
        """The line for the word of the shipped picture that is shown; something else where there is none."""

        def answered(word: str) -> None:
            if word:
                self._copy(line(word))
            else:
                otherwise()

        self._controller.ask(PictureInWords(self._controller.workspace), answered)

    def new_place(self) -> Path:
        """A path, without an ending, for what a copied command needs."""
        folder = user_folder("commands")
        return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{hashlib.sha256(self._name.encode()).hexdigest()[:4]}"

    def direct_command(self, frame: Frame) -> str | None:
        """A line that computes what is shown without a session file; None where there is none."""
        return None

    def _edited(self, frame: Frame) -> bool:
        return frame.undo not in ("", f"Open {frame.name}")

    # Inside -----------------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        frame = self._controller.newest
        return Path(frame.name).stem.replace(" ", "-") if frame is not None and frame.name else self._canvases.name

    def _then(self, dialog: QDialog, accepted: Callable[[], None]) -> None:
        """Show a dialog that blocks nothing, and forget it when it has closed."""
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(accepted)
        show_dialog(dialog)


def command_line(*words: str) -> str:
    """A line for a shell."""
    return shlex.join(("mrfstudio", *words))


def grey_levels(image: QImage) -> np.ndarray:
    """A picture as grey levels (h, w) from 0 to 1, on white where it is transparent."""
    grey = on_white(image).convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    return rows[:, : grey.width()].astype(np.float32) / np.float32(255)


def on_white(image: QImage) -> QImage:
    """The picture with white in place of what is transparent."""
    flat = QImage(image.size(), QImage.Format.Format_RGB32)
    flat.fill(Qt.GlobalColor.white)
    painter = QPainter(flat)
    painter.drawImage(0, 0, image)
    painter.end()
    return flat
