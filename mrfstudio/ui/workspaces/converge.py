"""Converge: pick or draw a graph, turn its strengths, read whether convergence is certain, watch where it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.answers import Loaded, Swings, Tip
from mrfstudio.engine.commands import (
    AddLane,
    ClearLayer,
    Command,
    RemoveLane,
    Restart,
    SetAlgorithm,
    SetParameter,
    SetSpeed,
    SetStrength,
    SetView,
    Transport,
)
from mrfstudio.engine.frames import Frame, LaneFrame
from mrfstudio.ui.canvas.graph_input import GraphCanvas
from mrfstudio.ui.canvas.graph_look import state_colour, value_colours
from mrfstudio.ui.centre import Centre
from mrfstudio.ui.colours import colours_of, rgb
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.panels.advice_bar import AdviceBar
from mrfstudio.ui.panels.graph_palette import GraphPalette
from mrfstudio.ui.panels.lane_manager import Pair
from mrfstudio.ui.panels.message_inspector import MessageInspector
from mrfstudio.ui.panels.region_view import RegionPanel
from mrfstudio.ui.panels.sigma_panel import SigmaPanel
from mrfstudio.ui.panels.transport import TransportBar
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.workspaces.base import ExtraDock, Workspace
from mrfstudio.ui.workspaces.comparing import Comparing
from mrfstudio.ui.workspaces.converge_controls import ConvergeControls
from mrfstudio.ui.workspaces.converge_files import ConvergeFiles
from mrfstudio.ui.workspaces.converge_questions import Questions
from mrfstudio.ui.workspaces.readers import Readers
from mrfstudio.ui.workspaces.run_actions import RunActions

ADVICE = (
    "Try it: choose a ring, raise the coupling until its messages swing for long, then follow the advice here.",
    "Say what you know: press 1 and click nodes; the right button takes it back.",
    "Look closer: click a line to see its messages; Ctrl+G maps σ_max.",
)
FIRST_SPEED = 60.0
PICTURES = ("histogram", "marginal", "residual")
MESSAGES, MAP, REGIONS = "messages", "sigma_map", "regions"


@dataclass(frozen=True)
class GraphToShow:
    """A factor graph, or the path of a file with one; `shape` (rows, columns) lays its variables out."""

    graph: Any
    name: str = "graph"
    shape: tuple[int, int] | None = None


class ConvergeWorkspace(RunActions, Workspace):
    """One graph, one to six lanes; canvas, gauge and parameters show the chosen lane."""

    name = "graph"
    title = "Converge"
    icon = "converge"
    help = "Pick a graph, turn its couplings, and see whether, when and why belief propagation converges."

    graph_wanted = Signal(object)
    """A graph file was chosen: a path."""
    lane_changed = Signal(int)
    """Another lane is shown."""

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.canvas: GraphCanvas = GraphCanvas()
        self.palette, self.transport, self.advice = GraphPalette(self.canvas), TransportBar(), AdviceBar()
        self.controls: ConvergeControls = ConvergeControls()
        self.messages, self.sigma, self.regions = MessageInspector(), SigmaPanel(), RegionPanel()
        self.files = ConvergeFiles(self)
        self.questions = Questions(controller, self.name, self)
        self.comparing = Comparing(self, self)
        self.centre: Centre = Centre(self.transport, self.advice, self.palette, self.canvas)
        self.curves: Any = None
        self.lane = 0
        """The lane that is shown."""
        self.other: int | None = None
        """The lane that it is compared with."""
        self.edge: int | None = None
        self.node: int | None = None
        self._view: SetView | None = None
        self._advised = 0
        self._edges: Any = None
        self._messages_shown = self._regions_shown = False
        self.readers = Readers((self._show_controls, self._show_curves, self.comparing.set_frame), self)
        self.advice.show_text(ADVICE[0])
        self._connect()

    def _connect(self) -> None:
        for source in (self.canvas, self.transport, self.controls, self.messages):
            source.command.connect(self.post)
        self.canvas.play_pause.connect(self.transport.toggle_play)
        self.canvas.node_clicked.connect(self.inspect_node)
        self.canvas.edge_clicked.connect(self.inspect_edge)
        self.controls.pair_chosen.connect(self.choose_pair)
        self.controls.colouring_changed.connect(self.recolour)
        self.controls.graph.open_file.connect(self.files.open_graph_file)
        self.advice.chosen.connect(self.follow)
        self.sigma.chosen.connect(self.go_to)
        self.controller.posted.connect(self.on_posted)
        questions = self.questions
        questions.guarantee.connect(self.controls.gauge.set_guarantee)
        questions.guarantee.connect(self.advice.set_guarantee)
        questions.interval.connect(self.controls.gauge.set_interval)
        questions.swings.connect(self._on_swings)
        questions.sigma_map.connect(self.sigma.set_map)
        questions.no_map.connect(self.sigma.say)

    # Places -----------------------------------------------------------------------------------------------------------

    def make_curves(self) -> QWidget:
        from mrfstudio.ui.workspaces.curves_panel import CurvesPanel

        self.curves = CurvesPanel(("state 0", "state 1"))
        self.curves.histogram.colour_of = state_colour
        self.curves.command.connect(self.post)
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.curves.set_frame(newest)
        self.comparing.make()
        return self.curves

    def set_narrow(self, narrow: bool) -> None:
        self.centre.set_narrow(narrow)

    def doers(self) -> tuple[QObject, ...]:
        return (self, self.files, self.comparing)

    def extra_docks(self) -> list[ExtraDock]:
        right = Qt.DockWidgetArea.RightDockWidgetArea
        about_messages = "Both messages of an edge, all states, over iterations. Click an edge of the graph."
        about_regions = "The regions of gbp, renn or bethe-net: levels, counting numbers, beliefs and disagreements."
        about_map = "σ_max over α and coupling: where convergence is certain. Click to go there."
        return [
            ExtraDock(MESSAGES, "Messages", self.messages, right, about_messages),
            ExtraDock(MAP, "Map of σ_max", self.sigma, right, about_map),
            ExtraDock(REGIONS, "Regions", self.regions, right, about_regions),
            self.comparing.dock(),
        ]

    def on_dock(self, name: str, shown: bool) -> None:
        if name == MAP:
            self.questions.show_map(shown)
        elif name == self.comparing.dock_name:
            self.comparing.on_shown(shown)
        elif name == REGIONS:
            self._regions_shown = shown
            self.send_view()
        elif name == MESSAGES:
            self._messages_shown = shown
            if not shown and self.edge is not None:
                self.edge = None
                self.canvas.choose(self.node)
                self.send_view()

    # Frames -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        self.controls.on_loaded(engine, self.name)
        self.comparing.on_loaded(engine)
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.on_frame(newest)

    def shown(self, frame: Frame) -> LaneFrame | None:
        """The chosen lane of a frame, the first one where it is gone."""
        return next((each for each in frame.lanes if each.lane == self.lane), next(iter(frame.lanes), None))

    def on_frame(self, frame: Frame) -> None:
        self._notice_graph(frame)
        lane = self.shown(frame)
        if lane is not None and lane.lane != self.lane:
            self.choose_lane(lane.lane)
        self.canvas.set_frame(frame)
        self.canvas.set_values(self._node_values(frame, lane))
        self.transport.set_frame(frame)
        if frame.graph is not None:
            self.palette.set_states(int(frame.graph.states.max(initial=2)))
        if lane is not None:
            self.questions.on_frame(frame, lane)
        self.readers.take(frame)

    def _node_values(self, frame: Frame, lane: LaneFrame | None) -> np.ndarray | None:
        """What nodes show instead of marginals: how far they are from the reference or from another lane, (n,)."""
        name, colours = self.controls.coloured_by, colours_of(self.canvas)
        if lane is None or frame.graph is None or name == "marginal":
            return None
        picture = lane.pictures.get(name)
        if picture is None or picture.size < frame.graph.nodes:  # not known yet, which is not the same as no error
            return np.tile(np.array(rgb(colours.grid), np.uint8), (frame.graph.nodes, 1))
        return value_colours(picture.ravel()[: frame.graph.nodes], colours)

    def _notice_graph(self, frame: Frame) -> None:
        """Other nodes and edges: what was chosen means nothing any more, and curves have other ranges."""
        edges = None if frame.graph is None else frame.graph.edges
        if edges is self._edges:
            return
        self._edges = edges
        self._on_swings(None)
        if self.curves is not None:
            for plot in self.curves.curves.plots.values():
                plot.forget_range()
        if self.node is not None or self.edge is not None:
            self.node = self.edge = None
            self.canvas.choose()
            self.send_view()

    def _show_controls(self, frame: Frame) -> None:
        lane = self.shown(frame)
        if lane is None:
            return
        self.controls.set_frame(frame, lane)
        self.controls.inspector.set_node(self.node, frame.graph, lane.pictures)
        if self._messages_shown:
            self.messages.set_frame(frame, lane.lane, self.edge)
        if self._regions_shown and frame.graph is not None:
            self.regions.set_pictures(lane.pictures, frame.graph, frame.lanes)
        if frame.graph is not None:
            self.sigma.set_point(alpha_of(lane), float(frame.graph.strengths["coupling"]))

    def _show_curves(self, frame: Frame) -> None:
        if self.curves is None:
            return
        if frame.graph is not None:
            states = int(frame.graph.states.max(initial=2))
            self.curves.histogram.labels = tuple(f"state {state}" for state in range(states))
        self.curves.set_frame(frame)

    def _on_swings(self, swings: Swings | None) -> None:
        self.canvas.set_swings(swings)
        self.advice.set_swings(swings)

    def on_posted(self, command: Command, number: int) -> None:
        """An edit of this workspace is on its way."""
        if self.controller.workspace != self.name:
            return
        self.canvas.posted(command, number)
        self.controls.posted(number)
        stage = 2 if self._advised and not isinstance(command, SetStrength) else 1
        if stage > self._advised:
            self._advised = stage
            self.advice.show_text(ADVICE[stage])

    def post(self, command: Command) -> None:
        super().post(command)
        if self.controls.graph.restarts and not isinstance(command, Transport):
            super().post(Restart())

    # View -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self.controller.newest is None:
            self.post(SetSpeed(FIRST_SPEED))
        self.send_view(again=True)

    def open(self, shown: GraphToShow, then: Callable[[], None], refused: Callable[[str], None]) -> None:
        """Show a graph, or the one in a file."""

        def opened(_: object) -> None:
            then()
            self.on_opened()

        self.controller.ask("open_graph", opened, refused, **vars(shown))

    def on_opened(self) -> None:
        self.questions.reset()
        self.node = self.edge = None
        self.canvas.choose()
        self.send_view(again=True)

    def send_view(self, again: bool = False) -> None:
        """Tell the session what is looked at; `again` even if it was told, because it is another session."""
        wanted = {*PICTURES, self.controls.coloured_by, *self.comparing.wanted_pictures()}
        if self._regions_shown:
            wanted.add(REGIONS)
        view = SetView(
            tuple(sorted(wanted)),
            edge=self.edge,
            lane=self.lane,
            apart=self.other,
            reference=self.comparing.reference,
        )
        if again or view != self._view:
            self._view = view
            self.controller.post(view)

    def choose_pair(self, pair: Pair) -> None:
        """Show a lane, and compare it with another."""
        self.other = pair[1]
        if pair[0] != self.lane:
            self.choose_lane(pair[0])
        else:
            self.send_view()

    def recolour(self) -> None:
        """Nodes are to show something else."""
        self.send_view()
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.on_frame(newest)

    def choose_lane(self, lane: int) -> None:
        """Show another lane on canvas, gauge and form."""
        self.lane = self.canvas.lane = lane
        self.controls.lanes.show_lane(lane)
        self._on_swings(None)
        self.lane_changed.emit(lane)
        self.send_view()
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.on_frame(newest)

    def inspect_node(self, node: int) -> None:
        self.node = node
        self.canvas.choose(node, self.edge)
        newest = self.controller.newest
        if newest is not None:
            self._show_controls(newest)

    def inspect_edge(self, edge: int) -> None:
        """Open the message inspector on an edge."""
        self.edge = edge
        self.canvas.choose(self.node, edge)
        if not self._messages_shown:
            self.dock_toggled.emit(MESSAGES)
        self.send_view()

    # What is done -----------------------------------------------------------------------------------------------------

    def follow(self, tip: Tip) -> None:
        """Do what the advice says; Undo takes it back."""
        newest = self.controller.newest
        lane = None if newest is None else self.shown(newest)
        if lane is None:
            return
        if lane.algorithm == tip.algorithm:
            for name, value in tip.parameters.items():
                self.post(SetParameter(lane.lane, name, value))
        else:
            self.post(SetAlgorithm(lane.lane, tip.algorithm, dict(tip.parameters)))
        self.canvas.setFocus()

    def go_to(self, alpha: float, coupling: float) -> None:
        """A point of the map was clicked."""
        newest = self.controller.newest
        lane = None if newest is None else self.shown(newest)
        if lane is None:
            return
        self.post(SetStrength("coupling", coupling))
        if lane.algorithm == "alpha-bp":
            self.post(SetParameter(lane.lane, "alpha", alpha))
        else:
            self.post(SetAlgorithm(lane.lane, "alpha-bp", {"alpha": alpha}))

    # Actions ----------------------------------------------------------------------------------------------------------

    def zoom_in(self) -> None:
        self.canvas.zoom(1.25)

    def zoom_out(self) -> None:
        self.canvas.zoom(0.8)

    def zoom_fit(self) -> None:
        self.canvas.fit()

    def clear_hints(self) -> None:
        self.post(ClearLayer("hints"))

    def next_example(self) -> None:
        self.controls.graph.next_seed()

    def show_messages(self) -> None:
        self.dock_toggled.emit(MESSAGES)

    def show_regions(self) -> None:
        self.dock_toggled.emit(REGIONS)

    def show_sigma_map(self) -> None:
        self.dock_toggled.emit(MAP)

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])

    def compare(self) -> None:
        """Add a second lane, or take the last one away."""
        newest = self.controller.newest
        if newest is None or not newest.lanes:
            return
        if len(newest.lanes) > 1:
            self.post(RemoveLane(newest.lanes[-1].lane))
        else:
            first = newest.lanes[0]
            self.post(AddLane(first.model, "exact" if first.algorithm != "exact" else "bp"))

    def open_path(self, path: Path) -> bool:
        return False


def alpha_of(lane: LaneFrame) -> float | None:
    """The α of a lane: 1 for BP, None for algorithms without one."""
    if lane.algorithm == "alpha-bp":
        return float(lane.parameters["alpha"])
    return 1.0 if lane.algorithm == "bp" else None
