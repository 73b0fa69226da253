"""What comes into the Segment workspace and goes out of it: pictures, figures, labels, the command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.protocol.answers import ModelNote, PhotographLook, Picture
from mrfstudio.engine.protocol.commands import Play, SetImage, SetModel
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.photograph import LookAtPicture
from mrfstudio.engine.protocol.requests.segment import MakeFigure, SaveLabels
from mrfstudio.ui.export.pictures import PNG, ask_path
from mrfstudio.ui.window.actions import EXPORT_LABELS, NEW_DRAWING, NEXT_EXAMPLE, OPEN_EXAMPLE, ActionHandlers
from mrfstudio.ui.window.dialogs.common import NewDrawing, show_dialog
from mrfstudio.ui.workspaces.segment.example_dialog import ExampleDialog
from mrfstudio.ui.workspaces.segment.kind_question import KindQuestion, is_coloured
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from mrfstudio.ui.workspaces.shared.canvas_files import CanvasFiles, command_line

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.segment.view import SegmentView

FIRST_EXAMPLE = MakeFigure("glyphs", "5", 3)
FIRST_NAME = "glyphs 5"
"""What the engine calls it."""


@dataclass(frozen=True)
class PictureInCommand:
    """What the shown picture came from, if a command can read it the same way: a file, or a figure in words."""

    words: str
    options: tuple[str, ...]
    name: str


class SegmentFiles(CanvasFiles):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: SegmentView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.example = FIRST_EXAMPLE
        self._source: PictureInCommand | None = figure_source(FIRST_EXAMPLE, FIRST_NAME)

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            NEW_DRAWING: self.new_drawing,
            OPEN_EXAMPLE: self.open_example,
            NEXT_EXAMPLE: self.next_example,
            EXPORT_LABELS: self.export_labels,
        }

    # In ---------------------------------------------------------------------------------------------------------------

    def open_picture(self, source: Path | np.ndarray) -> None:
        """Find contours in it; of a coloured file it is asked first whether it is a photograph."""
        if isinstance(source, Path) and is_coloured(source):
            look = partial(self._ask_what_it_is, source)
            self._controller.ask(LookAtPicture(str(source)), look, lambda _: self._find_contours(source))
        else:
            self._find_contours(source)

    def _ask_what_it_is(self, source: Path, look: PhotographLook) -> None:
        """Photograph or drawing, with what it looks like chosen."""
        if not look.coloured:
            self._find_contours(source)
            return
        dialog = KindQuestion(source.name, look.photograph, self._window)
        dialog.photograph.connect(lambda: self._workspace.elsewhere.emit("photograph", source))
        dialog.drawing.connect(lambda: self._find_contours(source))
        show_dialog(dialog)

    def _find_contours(self, source: Path | np.ndarray) -> None:
        dialog = PictureDialog(self._controller, source, self._window)
        self._then(dialog, lambda: self._use_picture(dialog, source))

    def _use_picture(self, dialog: PictureDialog, source: Path | np.ndarray) -> None:
        picture = dialog.picture
        if picture is None:
            return
        self._show(picture)
        exact = dialog.automatic.isChecked() and picture.truth is None
        if isinstance(source, Path) and exact:
            smaller = picture.full_size != picture.observed.shape
            options = ("--ink", picture.ink, *(["--thin"] if dialog.thin.isChecked() else []))
            options += ("--side", str(max(picture.observed.shape))) if smaller else ()
            self._source = PictureInCommand(str(source.absolute()), options, picture.name)

    def _show(self, picture: Picture) -> None:
        self._source = None
        self._workspace.post(SetImage(picture.observed, picture.truth, picture.name))
        self._workspace.post(Play())  # a new picture is looked at, whatever was paused
        self._workspace.canvas.set_original(picture.grey)
        self._workspace.canvas.setFocus()

    def new_drawing(self) -> None:
        dialog = NewDrawing(*self._models_in_use(), self._window)
        if self._controller.engine is None:  # somebody was quicker than the engine

            def known() -> None:
                dialog.offer(*self._models_in_use())

            self._controller.loaded.connect(known)
            dialog.finished.connect(lambda: self._controller.loaded.disconnect(known))

        def chosen() -> None:
            _, current = self._models_in_use()
            if dialog.model is not None and current and dialog.model.name != current:
                self._controller.post(SetModel(0, dialog.model.name))
            self._show(Picture("drawing", dialog.observed))

        self._then(dialog, chosen)

    def _models_in_use(self) -> tuple[list[ModelNote], str]:
        """The models that this workspace knows of by now, and the name of the first lane's."""
        engine, frame = self._controller.engine, self._controller.newest
        kinds = engine.kinds.get(self._workspace.name, ()) if engine else ()
        models = [note for note in engine.models if note.kind in kinds] if engine else []
        return models, frame.lanes[0].model if frame is not None else ""

    def open_example(self) -> None:
        engine = self._controller.engine
        if engine is None:
            return
        dialog = ExampleDialog(self._controller, engine.figures, self.example, self._window)

        def chosen() -> None:
            self.example = dialog.example
            if dialog.picture is not None:
                self._show_example(dialog.picture)

        self._then(dialog, chosen)

    def next_example(self) -> None:
        self.example = replace(self.example, seed=self.example.seed + 1)
        self._controller.ask(self.example, self._show_example)

    def _show_example(self, picture: Picture) -> None:
        self._show(picture)
        self._source = figure_source(self.example, picture.name)

    # Out --------------------------------------------------------------------------------------------------------------

    def export_labels(self) -> None:
        path = ask_path(self._window, self._settings, "Export labels", f"{self._name}-labels.png", [PNG])
        if path is not None:
            self._controller.ask(SaveLabels(str(path)), lambda _: self._say(f"The labels are in {path}."))

    def direct_command(self, frame: Frame) -> str | None:
        """`mrfstudio segment …` where the picture is a file or a figure and nothing else was said; else None."""
        lane = frame.lanes[0]
        untouched = self._source is not None and frame.name == self._source.name and not self._edited(frame)
        if not untouched or len(frame.lanes) > 1 or lane.algorithm != "bp" or self._source is None:
            return None
        options = ["--model", lane.model, "--iterations", str(lane.iteration), *self._source.options]
        return command_line("segment", self._source.words, *options)


def figure_source(example: MakeFigure, name: str) -> PictureInCommand:
    """A figure, which every machine draws alike."""
    return PictureInCommand(example.words, (), name)
