"""What comes into the Converge workspace and goes out of it: graphs, pictures, curves, the command."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from mrfstudio.engine.frames import Frame
from mrfstudio.ui.export import CSV, PNG, ExportError, ask_path, picture_of, save_picture, save_text

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge import ConvergeWorkspace

GRAPH_FILES = "Graphs (*.uai *.fg *.uai.gz *.fg.gz)"
UAI, FG = "UAI graph (*.uai)", "libDAI graph (*.fg)"


class ConvergeFiles(QObject):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: ConvergeWorkspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._controller, self._settings = workspace.controller, workspace.settings

    @property
    def _window(self) -> QWidget:
        return self._workspace.canvas.window()

    # In ---------------------------------------------------------------------------------------------------------------

    def open_graph_file(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open graph", self._settings.folder, GRAPH_FILES)
        if chosen:
            self._settings.folder = str(Path(chosen).parent)
            self._workspace.graph_wanted.emit(Path(chosen))

    # Out --------------------------------------------------------------------------------------------------------------

    def export_graph(self) -> None:
        name = str(Path(self._settings.folder, f"{self._name}.uai"))
        chosen, selected = QFileDialog.getSaveFileName(self._window, "Export graph", name, f"{UAI};;{FG}")
        if chosen:
            path = Path(chosen)
            path = path if path.suffix else path.with_suffix(".fg" if selected == FG else ".uai")
            self._settings.folder = str(path.parent)
            self._controller.ask("export_graph", lambda _: self._say(f"The graph is in {path}."), path=str(path))

    def export_canvas(self) -> None:
        path = ask_path(self._window, self._settings, "Export canvas", f"{self._name}.png", [PNG])
        if path is not None:
            self._save(lambda: save_picture(self._workspace.canvas.render_image(), path), path)

    def copy_picture(self) -> None:
        QApplication.clipboard().setImage(self._workspace.canvas.render_image())
        self._say("The canvas is in the clipboard.")

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

    def copy_command(self) -> None:
        """The `mrfstudio infer` line that computes what the chosen lane shows."""
        if self._controller.newest is None or not self._controller.newest.lanes:
            return
        folder = Path(platformdirs.user_data_dir("mrfstudio", appauthor=False), "commands")
        stem = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{self._name}"
        self._controller.ask("infer_inputs", self._copy_command, stem=str(stem))

    def _copy_command(self, inputs: tuple[str, str]) -> None:
        frame = self._controller.newest
        if frame is not None and frame.lanes:
            line = infer_line(frame, self._workspace.lane, *inputs)
            QApplication.clipboard().setText(line)
            self._say(f"Copied: {line}")

    # Inside -----------------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        frame = self._controller.newest
        name = frame.name if frame is not None and frame.name else "graph"
        return Path(name).name.split(".")[0].replace(" ", "-").lower()

    def _save(self, write: Callable[[], None], path: Path) -> None:
        try:
            write()
        except ExportError as error:
            self._say(str(error))
        else:
            self._say(f"Written: {path}")

    def _say(self, sentence: str) -> None:
        self._controller.message.emit(sentence)


def infer_line(frame: Frame, lane: int, graph: str, evidence: str) -> str:
    """A line for a shell, with every parameter that the lane has."""
    shown = next((each for each in frame.lanes if each.lane == lane), frame.lanes[0])
    words: list[Any] = ["mrfstudio", "infer", graph, *(["--evidence", evidence] if evidence else [])]
    words += ["--algorithm", shown.algorithm]
    for name, value in shown.parameters.items():
        option = f"--{name.replace('_', '-')}"
        words += [f"{option}={str(value).lower()}"] if isinstance(value, bool) else [option, value]
    words += ["--iterations", frame.limits[0], "--tolerance", f"{frame.limits[1]:g}", "--precision", 32]
    return shlex.join(str(word) for word in words)
