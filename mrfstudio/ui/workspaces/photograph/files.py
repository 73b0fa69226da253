"""What comes into the Photograph workspace and goes out of it: photographs, cut-outs, masks, labels, the command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QInputDialog

from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.photograph import (
    CutPixels,
    ExamplePhotograph,
    KeepModel,
    SaveCut,
    SaveScribbles,
)
from mrfstudio.ui.export.pictures import PNG, ask_path
from mrfstudio.ui.window.actions import EXPORT_LABELS, ActionHandlers
from mrfstudio.ui.window.dialogs.common import show_dialog
from mrfstudio.ui.workspaces.photograph.actions import (
    COPY_CUTOUT,
    EXAMPLES,
    EXPORT_CUTOUT,
    EXPORT_MASKS,
    EXPORT_OVERLAY,
    EXPORT_STROKES,
    KEEP_MODEL,
)
from mrfstudio.ui.workspaces.shared.canvas_files import command_line
from mrfstudio.ui.workspaces.shared.photograph_files import PhotographCanvasFiles

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.photograph.view import PhotographView


SCRIBBLES_ALONE = "scribbles"
"""The model without a network, which every command uses unless another is named."""


class PhotographFiles(PhotographCanvasFiles):
    """Methods are named like the actions they do."""

    examples = EXAMPLES

    def __init__(self, workspace: PhotographView) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            EXPORT_LABELS: self.export_labels,
            EXPORT_CUTOUT: self.export_cutout,
            EXPORT_MASKS: self.export_masks,
            EXPORT_OVERLAY: self.export_overlay,
            EXPORT_STROKES: self.export_strokes,
            COPY_CUTOUT: self.copy_cutout,
            KEEP_MODEL: self.keep_model,
        }

    def example(self, number: int) -> ExamplePhotograph:
        return ExamplePhotograph(number)

    # Out --------------------------------------------------------------------------------------------------------------

    def export_labels(self) -> None:
        self._ask_and_save("Export labels", "labels", "labels")

    def export_cutout(self) -> None:
        self._ask_and_save("Export cut-out", self._cut_name(), "cutout")

    def export_overlay(self) -> None:
        self._ask_and_save("Export overlay", "overlay", "overlay")

    def export_strokes(self) -> None:
        self._ask_and_save("Export strokes", "strokes", "strokes")

    def export_masks(self) -> None:
        """One mask for each label, named after it, beside the chosen name."""
        frame = self._controller.newest
        path = ask_path(self._window, self._settings, "Export masks", f"{self._name}-mask.png", [PNG])
        if path is not None and frame is not None:
            self.save_masks(path, frame)

    def save_masks(self, path: Path, frame: Frame) -> None:
        """`NAME-LABEL.png` for every label that has strokes."""
        painted = set((np.unique(frame.layers["strokes"]) % LEANING).tolist()) if frame.stride == 1 else None
        for each in frame.labels:
            if painted is None or each.number in painted:
                place = path.with_name(f"{path.stem}-{file_name(each.title)}.png")
                self._save_cut(place, "mask", each.number)

    def _cut_name(self) -> str:
        panel = self._workspace.panel.cut
        return file_name(panel.label.currentText()) or "cutout"

    def _ask_and_save(self, title: str, ending: str, what: str) -> None:
        path = ask_path(self._window, self._settings, title, f"{self._name}-{ending}.png", [PNG])
        if path is not None:
            self._save_cut(path, what, self._workspace.panel.cut.number)

    def _save_cut(self, path: Path, what: str, label: int) -> None:
        soft = self._workspace.panel.cut.soft.isChecked()
        self._controller.ask(SaveCut(str(path), what, label, soft), lambda written: self._say(f"Written: {written}"))

    def copy_cutout(self) -> None:
        panel = self._workspace.panel.cut
        self._controller.ask(CutPixels(panel.number, panel.soft.isChecked()), self._copy_pixels)

    def _copy_pixels(self, pixels: np.ndarray) -> None:
        height, width = pixels.shape[:2]
        whole = np.ascontiguousarray(pixels)
        image = QImage(whole.data, width, height, whole.strides[0], QImage.Format.Format_RGBA8888)
        QApplication.clipboard().setImage(image.copy())
        self._say("The cut-out is in the clipboard, transparent where it ends.")

    # The model --------------------------------------------------------------------------------------------------------

    def keep_model(self) -> None:
        """Ask for a name, and keep what the strokes taught under it."""
        dialog = QInputDialog(self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Keep model")
        dialog.setLabelText("Keep what your strokes taught, for other photographs. What shall it be called?")
        dialog.setTextValue(file_name(self._cut_name()) or "mine")
        dialog.textValueSelected.connect(self.keep_model_as)
        show_dialog(dialog)

    def keep_model_as(self, name: str) -> None:
        self._say("Learning from your strokes…")
        self._controller.ask(KeepModel(name), self._kept)

    def _kept(self, note: ModelNote) -> None:
        self._workspace.panel.add_model(note)
        where = f"mrfstudio segment PHOTO --model {shlex.quote(note.name)}"
        self._say(f"Kept as {note.name}: choose it as model on another photograph, or run {where}.")

    # The command ------------------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        """`mrfstudio segment PHOTO --scribbles …` on an example in words, or on photograph and strokes as files."""
        frame = self._controller.newest
        if frame is None or len(frame.lanes) != 1:
            super().copy_command()
            return
        options = self._options(frame)

        def line(photo: str, strokes: str, labels: int) -> str:
            return command_line("segment", photo, "--scribbles", strokes, "--labels", str(labels), *options)

        def save() -> None:
            self._controller.ask(SaveScribbles(str(self.new_place())), lambda saved: self._copy(line(*saved)))

        self.copy_shipped(lambda word: line(word, word, len(frame.labels)), lambda: self.copy_replay(save))

    def _options(self, frame: Frame) -> list[str]:
        """Parameters that are not the usual ones, as the command names them."""
        engine, lane = self._controller.engine, frame.lanes[0]
        entries = () if engine is None else engine.catalogue.algorithms
        usual: dict[str, Any] = {
            field.name: field.default for entry in entries if entry.name == lane.algorithm for field in entry.fields
        }
        changed = {name: value for name, value in lane.parameters.items() if usual.get(name, value) != value}
        named = {"sweeps": "iterations"}
        model = [] if lane.model == SCRIBBLES_ALONE else ["--model", lane.model]
        return model + [
            word
            for name, value in changed.items()
            for word in (f"--{named.get(name, name).replace('_', '-')}", str(value))
        ]


def file_name(title: str) -> str:
    """A label's name as a part of a file's."""
    return "".join(letter if letter.isalnum() else "-" for letter in title.lower()).strip("-")
