"""What comes into the Converge workspace and goes out of it: graphs, pictures, curves, the command."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
from PySide6.QtWidgets import QFileDialog

from mrfstudio.engine.frames import Frame
from mrfstudio.ui.drawing import Drawing
from mrfstudio.ui.workspaces.exports import Exports

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge import ConvergeWorkspace

GRAPH_FILES = "Graphs (*.uai *.fg *.uai.gz *.fg.gz)"
UAI, FG = "UAI graph (*.uai)", "libDAI graph (*.fg)"


class ConvergeFiles(Exports):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: ConvergeWorkspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    @property
    def _curves(self) -> Any:
        return self._workspace.curves

    def canvas_drawing(self) -> Drawing:
        return self._workspace.canvas.drawing()

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
            self._copy(infer_line(frame, self._workspace.lane, *inputs))

    # Inside -----------------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        frame = self._controller.newest
        name = frame.name if frame is not None and frame.name else "graph"
        return Path(name).name.split(".")[0].replace(" ", "-").lower()


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
