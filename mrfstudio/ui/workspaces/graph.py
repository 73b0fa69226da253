"""Graph: the variables of a factor graph as squares, hints as evidence on them, every algorithm to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject

from mrfstudio.engine.frames import Frame, LaneFrame
from mrfstudio.ui.canvas import Target
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.workspaces.label_workspace import LabelWorkspace

LAYERS = tuple(
    layer for layer in SEGMENT_LAYERS if layer.name in ("belief", "decoded", "entropy", "difference", "hints")
)
COLOURS = 8  # labels that have a colour of their own; more states repeat them
ADVICE = "Each square is a variable. Press a digit and click one to give it a state; Alt and a click show its marginal."


@dataclass(frozen=True)
class GraphToShow:
    """A factor graph, or the path of a file with one; `shape` (rows, columns) lays its variables out."""

    graph: Any
    name: str = "graph"
    shape: tuple[int, int] | None = None


class GraphWorkspace(LabelWorkspace):
    """Appears in the rail when a graph is opened, from a file or by `mrfstudio.view`."""

    name = "graph"
    title = "Graph"
    icon = "converge"
    help = "A factor graph from a file or a notebook: give evidence, choose an algorithm, watch it converge."

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent, LAYERS, ("state 0", "state 1"))
        self._states = 0
        self._is_open = False
        self.advice.show_text(ADVICE)
        self.canvas.empty_text = "Open a .uai or .fg file to see its variables here."

    def open(self, shown: GraphToShow) -> None:
        """Show a graph, or the one in a file."""
        self._is_open = False
        self.controller.ask("open_graph", self._opened, **vars(shown))

    def _opened(self, name: str) -> None:
        self.on_opened()

    def on_opened(self) -> None:
        self._is_open = True
        self.send_view(again=True)

    def send_view(self, again: bool = False) -> None:
        if self._is_open:  # before that there is no session that could be looked at
            super().send_view(again)

    def details(self, lane: LaneFrame) -> Mapping[str, object]:
        return _details(lane.details)

    def on_frame(self, frame: Frame) -> None:
        belief = frame.lanes[0].pictures.get("belief") if frame.lanes else None
        if belief is not None and belief.shape[2] != self._states:
            self._states = belief.shape[2]
            self.labels = tuple(f"state {state}" for state in range(self._states))
            self.palette.set_targets(tuple(_target(state) for state in range(self._states)))
            self.panel.legend.set_labels(self.labels[:COLOURS])
            if self.curves is not None:
                self.curves.histogram.labels = self.labels
        super().on_frame(frame)


def _details(details: Mapping[str, object]) -> dict[str, object]:
    """A variable's marginal in the words of the inspector."""
    shares = details.get("probabilities")
    if not isinstance(shares, list):
        return {}
    return {"pixel": details["pixel"], "labels": {f"state {state}": share for state, share in enumerate(shares)}}


def _target(state: int) -> Target:
    help = f"Say that these variables are in state {state}."
    return Target(f"State {state}", "hints", state, state % COLOURS, help, soft=True)
