"""What comes into the Repair workspace and goes out of it: photographs, repaired ones, the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QImage

from mrfstudio.engine.protocol.answers import PhotographFile
from mrfstudio.engine.protocol.commands import SetPhotograph
from mrfstudio.engine.protocol.requests.photograph import ReadPhotograph
from mrfstudio.engine.protocol.requests.repair import DamagedExample, SaveDamage, SaveRepaired
from mrfstudio.ui.export.pictures import PNG, ask_path
from mrfstudio.ui.window.actions import NEXT_EXAMPLE, ActionHandlers
from mrfstudio.ui.workspaces.photograph.files import colours
from mrfstudio.ui.workspaces.repair.actions import EXAMPLES, EXPORT_REPAIRED
from mrfstudio.ui.workspaces.shared.canvas_files import CanvasFiles, command_line

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.repair.view import RepairView


class RepairFiles(CanvasFiles):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: RepairView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._example = 0

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        examples = {spec: (lambda number=number: self.open_example(number)) for number, spec in enumerate(EXAMPLES)}
        return {
            **super().action_handlers(),
            **examples,
            NEXT_EXAMPLE: self.next_example,
            EXPORT_REPAIRED: self.export_repaired,
        }

    # In ---------------------------------------------------------------------------------------------------------------

    def open_picture(self, source: Path | np.ndarray) -> None:
        """Show a photograph; a large one is read beside the engine's other work."""
        asked = ReadPhotograph(str(source)) if isinstance(source, Path) else ReadPhotograph(source, "pasted picture")
        self._controller.ask(asked, self.show)

    def open_image(self, image: QImage) -> bool:
        if image.isNull():
            return False
        self.open_picture(colours(image))
        return True

    def show(self, photograph: PhotographFile) -> None:
        """Make a photograph the one that is repaired."""
        self._workspace.post(SetPhotograph(photograph.content, photograph.name, photograph.strokes))
        if photograph.said:
            self._say(photograph.said)
        self._workspace.canvas.setFocus()

    def open_example(self, number: int) -> None:
        self._example = number
        self._controller.ask(DamagedExample(number), self.show)

    def next_example(self) -> None:
        self.open_example(self._example + 1)

    # Out --------------------------------------------------------------------------------------------------------------

    def export_repaired(self) -> None:
        path = ask_path(self._window, self._settings, "Export repaired", f"{self._name}-repaired.png", [PNG])
        if path is not None:
            self.save_repaired(path)

    def save_repaired(self, path: Path) -> None:
        self._controller.ask(SaveRepaired(str(path)), lambda written: self._say(f"Written: {written}"))

    def copy_command(self) -> None:
        """`mrfstudio inpaint …` on photograph and damage as files; a snapshot where that is not enough."""
        frame = self._controller.newest
        if frame is None or len(frame.lanes) != 1:
            super().copy_command()
            return
        model = frame.lanes[0].model

        def saved(paths: tuple[str, str] | None) -> None:
            if paths is None:  # the command knows neither doubtful pixels nor components that are held
                super(RepairFiles, self).copy_command()
            else:
                self._copy(command_line("inpaint", paths[0], "--mask", paths[1], "--model", model, "--out", "out.png"))

        self._controller.ask(SaveDamage(str(self.new_place())), saved)
