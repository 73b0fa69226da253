"""What comes into the Converge workspace and goes out of it: graphs, pictures, curves, the command."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QFileDialog

from mrfstudio.engine.protocol.commands import SetEvidence
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.converge import ExportGraph, InferInputs, InferWords, ReadEvidence
from mrfstudio.engine.protocol.requests.studio import CopyLink, CopySession
from mrfstudio.places import user_folder
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.window.actions import COPY_COMMAND, EXPORT_GRAPH, OPEN_GRAPH_FILE, ActionHandlers
from mrfstudio.ui.workspaces.converge.sign import SIGN
from mrfstudio.ui.workspaces.shared.exports import Exports

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge.view import ConvergeView

TAKEN = ("seed", "device", "precision", "iterations", "tolerance")
"""Names of options that `mrfstudio infer` has for itself."""
UAI, FG = "UAI graph (*.uai)", "libDAI graph (*.fg)"


class ConvergeFiles(Exports):
    """Methods are named like the actions they do."""

    def __init__(self, workspace: ConvergeView) -> None:
        super().__init__(workspace)
        self._workspace = workspace

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            OPEN_GRAPH_FILE: self.open_graph_file,
            EXPORT_GRAPH: self.export_graph,
            COPY_COMMAND: self.copy_command,
        }

    @property
    def _curves(self) -> Any:
        return self._workspace.curves

    def canvas_drawing(self) -> Drawing:
        return self._workspace.canvas.drawing()

    # In ---------------------------------------------------------------------------------------------------------------

    def open_graph_file(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open graph", self._settings.folder, SIGN.filter)
        if chosen:
            self._settings.folder = str(Path(chosen).parent)
            self._workspace.file_wanted.emit(Path(chosen))

    def open_evidence(self, path: Path) -> bool:
        """Take evidence for the graph that is shown, in UAI's form; False where the file is no such."""
        if not path.name.lower().endswith((".evid", ".evid.gz")):
            return False
        self._controller.ask(ReadEvidence(str(path)), self._give)
        return True

    def _give(self, observed: tuple[tuple[int, int], ...]) -> None:
        gesture = next_gesture()
        for state in sorted({state for _, state in observed}):
            nodes = tuple(node for node, said in observed if said == state)
            self._workspace.post(SetEvidence(nodes, state, 1.0, gesture))

    # Out --------------------------------------------------------------------------------------------------------------

    def export_graph(self) -> None:
        name = str(Path(self._settings.folder, f"{self._name}.uai"))
        chosen, selected = QFileDialog.getSaveFileName(self._window, "Export graph", name, f"{UAI};;{FG}")
        if chosen:
            path = Path(chosen)
            path = path if path.suffix else path.with_suffix(".fg" if selected == FG else ".uai")
            self._settings.folder = str(path.parent)
            self._controller.ask(ExportGraph(str(path)), lambda _: self._say(f"The graph is in {path}."))

    def copy_command(self) -> None:
        """The `mrfstudio infer` line that computes what the chosen lane shows."""
        if self._controller.newest is None or not self._controller.newest.lanes:
            return
        frame = self._controller.newest
        shown = next((each for each in frame.lanes if each.lane == self._workspace.lane), frame.lanes[0])
        self._controller.ask(InferWords((*TAKEN, *shown.parameters)), self._copy_words)

    def _copy_words(self, words: tuple[str, ...] | None) -> None:
        """In words or as a link where that can be; what is too large for one goes into a file."""
        frame = self._controller.newest
        if words is None:
            self._copy_replay()
            return
        if words and frame is not None and frame.lanes:
            self._copy(infer_line(frame, self._workspace.lane, words))
            return
        folder = user_folder("commands")
        stem = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{self._name}"
        self._controller.ask(InferInputs(str(stem)), self._copy_command)

    def _copy_replay(self) -> None:
        """The whole state, as `infer` has no words for it."""

        def copy(session: str) -> None:
            self._copy(shlex.join(("mrfstudio", "replay", session)))

        name, place = self._controller.workspace, user_folder("commands") / time.strftime("%Y%m%d-%H%M%S.mrfs")
        request = CopySession(name, str(place))
        self._controller.ask(CopyLink(name), copy, lambda _: self._controller.ask(request, copy))

    def _copy_command(self, inputs: tuple[str, str]) -> None:
        frame = self._controller.newest
        if frame is not None and frame.lanes:
            graph, evidence = inputs
            words = (graph, *(("--evidence", evidence) if evidence else ()))
            self._copy(infer_line(frame, self._workspace.lane, words))

    # Inside -----------------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        frame = self._controller.newest
        name = frame.name if frame is not None and frame.name else "graph"
        return Path(name).name.split(".")[0].replace(" ", "-").lower()


def infer_line(frame: Frame, lane: int, graph: Sequence[str]) -> str:
    """A line for a shell: the words of the graph and its evidence, and every parameter that the lane has."""
    shown = next((each for each in frame.lanes if each.lane == lane), frame.lanes[0])
    words: list[Any] = ["mrfstudio", "infer", *graph]
    words += ["--algorithm", shown.algorithm]
    for name, value in shown.parameters.items():
        option = f"--{name.replace('_', '-')}"
        words += [f"{option}={str(value).lower()}"] if isinstance(value, bool) else [option, value]
    words += ["--iterations", frame.limits[0], "--tolerance", f"{frame.limits[1]:g}", "--precision", 32]
    return shlex.join(str(word) for word in words)
