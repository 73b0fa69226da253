"""What comes into the Inpaint workspace and goes out of it: pictures of any size, filled-in pictures, the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.protocol.requests.inpaint import SavePicture, SaveQuery
from mrfstudio.ui.export.pictures import PNG, ask_path
from mrfstudio.ui.window.actions import EXPORT_PICTURE, ActionHandlers
from mrfstudio.ui.workspaces.inpaint.crop_dialog import CropDialog
from mrfstudio.ui.workspaces.shared.canvas_files import CanvasFiles, command_line

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.inpaint.view import InpaintView


class InpaintFiles(CanvasFiles):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: InpaintView) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            EXPORT_PICTURE: self.export_picture,
        }

    def open_picture(self, source: Path | np.ndarray) -> None:
        """Choose a part of it for the model."""
        frame = self._controller.newest
        if frame is None or not frame.lanes:
            self._say("A picture needs a model that takes it: open one first.")
            return
        dialog = CropDialog(self._controller, source, frame.lanes[0].model, self._window)

        def accepted() -> None:
            if dialog.picture is not None:
                self._workspace.use_picture(dialog.picture)
                self._workspace.canvas.setFocus()

        self._then(dialog, accepted)

    def export_picture(self) -> None:
        path = ask_path(self._window, self._settings, "Export filled-in picture", f"{self._name}-filled.png", [PNG])
        if path is not None:
            self.save_filled(path)

    def save_filled(self, path: Path) -> None:
        """Write the mean at the picture's own size."""
        self._controller.ask(SavePicture(str(path)), lambda _: self._say(f"The picture is in {path}."))

    # The command ------------------------------------------------------------------------------------------------------

    def copy_command(self) -> None:
        """`mrfstudio inpaint …` on a picture of a data set in words; else the whole state, or picture and mask."""
        frame = self._controller.newest
        if frame is None or len(frame.lanes) != 1 or frame.lanes[0].algorithm != "bp":
            super().copy_command()
            return
        lane = frame.lanes[0]
        options = ["--model", lane.model, "--iterations", str(max(lane.iteration - lane.base, 1))]

        def saved(paths: tuple[str, str] | None) -> None:
            if paths is None:  # the command knows neither doubtful pixels nor units that are held
                self.copy_session()
            else:
                self._copy(command_line("inpaint", paths[0], "--mask", paths[1], *options))

        def save() -> None:
            self._controller.ask(SaveQuery(str(self.new_place())), saved)

        def line(word: str) -> str:
            return command_line("inpaint", word, "--mask", word, *options)

        self.copy_shipped(line, lambda: self.copy_replay(save))
