"""What goes out of every workspace with a canvas and curves: pictures, numbers, the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from mrfstudio.ui.export.pictures import (
    CSV,
    GIF,
    PNG,
    SVG,
    WEBP,
    Drawing,
    ExportError,
    ask_path,
    drawing_of,
    save_drawing,
    save_text,
)
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.window.actions import COPY_PICTURE, EXPORT_ANIMATION, EXPORT_CANVAS, EXPORT_CURVES, ActionHandlers
from mrfstudio.ui.workspaces.shared.view import WorkspaceView


class Exports(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: WorkspaceView) -> None:
        super().__init__(workspace)
        self._owner = workspace
        self._controller, self._settings = workspace.controller, workspace.settings
        self.recorder = Recorder(self._controller, workspace.canvas, lambda: self.canvas_drawing().image())

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            EXPORT_CANVAS: self.export_canvas,
            EXPORT_CURVES: self.export_curves,
            EXPORT_ANIMATION: self.export_animation,
            COPY_PICTURE: self.copy_picture,
        }

    @property
    def _window(self) -> QWidget:
        return self._owner.canvas.window()

    @property
    def _name(self) -> str:
        """What files are called that are made of what is shown."""
        raise NotImplementedError

    @property
    def _curves(self) -> Any:
        """The panel of curves with `to_csv`; None before it is made."""
        raise NotImplementedError

    def canvas_drawing(self) -> Drawing:
        """What the canvas shows."""
        raise NotImplementedError

    def export_canvas(self) -> None:
        path = ask_path(self._window, self._settings, "Export canvas", f"{self._name}.png", [PNG, SVG])
        if path is not None:
            self._save(lambda: save_drawing(self.canvas_drawing(), path, self._name), path)

    def export_curves(self) -> None:
        curves = self._curves
        if curves is None:
            return
        path = ask_path(self._window, self._settings, "Export curves", f"{self._name}-curves.png", [PNG, SVG, CSV])
        if path is None:
            return
        if path.suffix.lower() == ".csv":
            self._save(lambda: save_text(curves.to_csv(), path), path)
        else:
            self._save(lambda: save_drawing(drawing_of(curves), path, self._name), path)

    def export_animation(self) -> None:
        """Ask where to, then go through all iterations and draw the canvas at each."""
        name = f"{self._name}.gif"
        path = ask_path(self._window, self._settings, "Export animation", name, [GIF, WEBP])
        if path is not None:
            self.recorder.record(path)

    def copy_picture(self) -> None:
        QApplication.clipboard().setImage(self.canvas_drawing().image())
        self._say("The canvas is in the clipboard.")

    def _copy(self, line: str) -> None:
        QApplication.clipboard().setText(line)
        self._say(f"Copied: {line}")

    def _save(self, write: Callable[[], None], path: Path) -> None:
        try:
            write()
        except ExportError as error:
            self._say(str(error))
        else:
            self._say(f"Written: {path}")

    def _say(self, sentence: str) -> None:
        self._controller.message.emit(sentence)
