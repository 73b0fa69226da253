"""What comes into the Segment workspace and goes out of it: pictures, figures, labels, the command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.answers import Picture
from mrfstudio.engine.commands import SetImage
from mrfstudio.engine.frames import Frame
from mrfstudio.ui.dialogs.example import Example, ExampleDialog
from mrfstudio.ui.dialogs.picture import PictureDialog
from mrfstudio.ui.dialogs.simple import NewDrawing
from mrfstudio.ui.export import PNG, ask_path
from mrfstudio.ui.workspaces.canvas_files import CanvasFiles, command_line

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.segment import SegmentWorkspace

FIRST_EXAMPLE = Example("glyphs", "5", 3)


@dataclass(frozen=True)
class Source:
    """The file that the shown picture came from, if a command can read it the same way."""

    path: Path
    options: tuple[str, ...]
    name: str


class SegmentFiles(CanvasFiles):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: SegmentWorkspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.example = FIRST_EXAMPLE
        self._source: Source | None = None

    # In ---------------------------------------------------------------------------------------------------------------

    def open_picture(self, source: Path | np.ndarray) -> None:
        """Find contours in it."""
        dialog = PictureDialog(self._controller, source, self._window)
        self._then(dialog, lambda: self._use_picture(dialog, source))

    def _use_picture(self, dialog: PictureDialog, source: Path | np.ndarray) -> None:
        picture = dialog.picture
        if picture is None:
            return
        self._show(picture)
        exact = dialog.automatic.isChecked() and not dialog.filled.currentData()
        if isinstance(source, Path) and exact:
            smaller = picture.full_size != picture.observed.shape
            options = ("--ink", picture.ink, *(["--thin"] if dialog.thin.isChecked() else []))
            options += ("--side", str(dialog.side.value())) if smaller else ()
            self._source = Source(source.absolute(), options, picture.name)

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

    # Out --------------------------------------------------------------------------------------------------------------

    def export_labels(self) -> None:
        path = ask_path(self._window, self._settings, "Export labels", f"{self._name}-labels.png", [PNG])
        if path is not None:
            self._controller.ask("save_labels", lambda _: self._say(f"The labels are in {path}."), path=str(path))

    def direct_command(self, frame: Frame) -> str | None:
        """`mrfstudio segment …` where the picture is a file and nothing else was said; else None."""
        lane = frame.lanes[0]
        untouched = self._source is not None and frame.name == self._source.name and not self._edited(frame)
        if not untouched or len(frame.lanes) > 1 or lane.algorithm != "bp" or self._source is None:
            return None
        options = ["--model", lane.model, "--iterations", str(lane.iteration), *self._source.options]
        return command_line("segment", str(self._source.path), *options)
