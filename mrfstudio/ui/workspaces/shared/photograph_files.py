"""How photographs come into the workspaces that show one: from files, the clipboard and the examples of the menu."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from PySide6.QtGui import QImage

from mrfstudio.engine.protocol.answers import PhotographFile
from mrfstudio.engine.protocol.commands import SetPhotograph
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.engine.protocol.requests.photograph import ReadPhotograph
from mrfstudio.ui.window.actions import NEXT_EXAMPLE, ActionHandlers, ActionSpec
from mrfstudio.ui.workspaces.shared.canvas_files import CanvasFiles, on_white
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView


class PhotographCanvasFiles(CanvasFiles):
    """Methods are named like the actions they do."""

    examples: ClassVar[Sequence[ActionSpec]]
    """What the menu offers, in the order of `example`'s numbers."""

    def __init__(self, workspace: CanvasView) -> None:
        super().__init__(workspace)
        self._example = 0

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        offered = {spec: (lambda number=number: self.open_example(number)) for number, spec in enumerate(self.examples)}
        return {**super().action_handlers(), **offered, NEXT_EXAMPLE: self.next_example}

    @abstractmethod
    def example(self, number: int) -> Request[PhotographFile]:
        """Asks for one of the examples; numbers beyond the last begin again."""

    def open_picture(self, source: Path | np.ndarray) -> None:
        """Show a photograph, a file or (h, w, 3) uint8; a large one is read beside the engine's other work."""
        asked = ReadPhotograph(str(source)) if isinstance(source, Path) else ReadPhotograph(source, "pasted picture")
        self._controller.ask(asked, self.show)

    def open_image(self, image: QImage) -> bool:
        if image.isNull():
            return False
        self.open_picture(colours(image))
        return True

    def show(self, photograph: PhotographFile) -> None:
        """Make a photograph the one that is painted on."""
        given = photograph
        self._canvases.post(SetPhotograph(given.content, given.name, given.strokes, given.labels))
        if given.said:
            self._say(given.said)
        self._canvases.canvas.setFocus()

    def open_example(self, number: int) -> None:
        self._example = number
        self._controller.ask(self.example(number), self.show)

    def next_example(self) -> None:
        self.open_example(self._example + 1)


def colours(image: QImage) -> np.ndarray:
    """A picture as (h, w, 3) uint8; transparent parts on white."""
    flat = on_white(image).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(flat.constBits(), np.uint8).reshape(flat.height(), flat.bytesPerLine())
    return rows[:, : 3 * flat.width()].reshape(flat.height(), flat.width(), 3).copy()
