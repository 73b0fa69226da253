"""Converge: pick or draw a graph, turn its strengths, read whether convergence is certain, watch where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import Frustrated, Loaded, Swings, Tip
from mrfstudio.engine.protocol.commands import (
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
from mrfstudio.engine.protocol.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.graph_canvas.input import GraphCanvas
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.graph_colours import state_colour
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.widgets.transport import TransportBar
from mrfstudio.ui.window.actions import (
    CLEAR_HINTS,
    COMPARE,
    NEXT_EXAMPLE,
    SHOW_HINT,
    ZOOM_FIT,
    ZOOM_IN,
    ZOOM_OUT,
    ActionHandlers,
)
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.converge.advice_bar import AdviceBar
from mrfstudio.ui.workspaces.converge.controls import ConvergeControls, node_values
from mrfstudio.ui.workspaces.converge.files import ConvergeFiles
from mrfstudio.ui.workspaces.converge.graph_palette import GraphPalette
from mrfstudio.ui.workspaces.converge.inspecting.inspecting import Inspecting
from mrfstudio.ui.workspaces.converge.overviews.overviews import Overviews
from mrfstudio.ui.workspaces.converge.questions import Questions
from mrfstudio.ui.workspaces.converge.sign import SIGN
from mrfstudio.ui.workspaces.shared.centre import Centre
from mrfstudio.ui.workspaces.shared.comparison_dock import ComparisonDock
from mrfstudio.ui.workspaces.shared.lane_manager import Pair
from mrfstudio.ui.workspaces.shared.run_actions import RunActions
from mrfstudio.ui.workspaces.shared.view import ExtraDock, FrameThrottle, WorkspaceView, workspace_view

ADVICE = (
    "Try it: choose a ring, raise the coupling until its messages swing for long, then follow the advice here.",
    "Say what you know: press 1 and click nodes; the right button takes it back.",
    keyed("Look closer: click a line to see its messages; Ctrl+G maps σ_max."),
)
FIRST_SPEED = 60.0
PICTURES = ("histogram", "marginal", "residual")


@workspace_view
class ConvergeView(RunActions, WorkspaceView):
    """One graph, one to six lanes; canvas, gauge and parameters show the chosen lane."""

    sign = SIGN

    lane_changed = Signal(int)
    """Another lane is shown."""

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.canvas: GraphCanvas = GraphCanvas()
        self.palette, self.transport, self.advice = GraphPalette(self.canvas), TransportBar(), AdviceBar()
        self.controls: ConvergeControls = ConvergeControls()
        self.files = ConvergeFiles(self)
        self.questions = Questions(controller, self.name, self)
        self.comparison_dock = ComparisonDock(self, self)
        self.inspecting, self.overviews = Inspecting(self), Overviews(self)
        self.centre: Centre = Centre(self.transport, self.advice, self.palette, self.canvas)
        self.curves: Any = None
        self.lane = 0
        """The lane that is shown."""
        self.other: int | None = None
        """The lane that it is compared with."""
        self._view: SetView | None = None
        self._advised = 0
        self._edges: Any = None
        self._states: Any = None
        self._staged = False
        self.throttle = FrameThrottle((self.show_controls, self._show_curves, self.comparison_dock.set_frame), self)
        self.advice.show_text(ADVICE[0])
        self._connect()

    def _connect(self) -> None:
        for source in (self.canvas, self.transport, self.controls):
            source.command.connect(self.post)
        self.canvas.play_pause.connect(self.transport.toggle_play)
        self.canvas.node_clicked.connect(self.inspecting.inspect_node)
        self.canvas.factor_clicked.connect(self.inspecting.inspect_factor)
        self.controls.pair_chosen.connect(self.choose_pair)
        self.controls.colouring_changed.connect(self.recolour)
        self.controls.lines.changed.connect(self._show_lines)
        self.controls.graph.open_file.connect(self.files.open_graph_file)
        self.advice.chosen.connect(self.follow)
        self.controller.posted.connect(self.on_posted)
        questions = self.questions
        questions.guarantee.connect(self.controls.gauge.set_guarantee)
        questions.guarantee.connect(self.advice.set_guarantee)
        questions.interval.connect(self.controls.gauge.set_interval)
        questions.swings.connect(self._on_swings)
        questions.trials.connect(self.advice.set_trials)
        questions.frustrated.connect(self._on_frustrated)

    # Places -----------------------------------------------------------------------------------------------------------

    def make_curves(self) -> QWidget:
        from mrfstudio.ui.plots.curves import CurvesPanel

        self.curves = CurvesPanel(("state 0", "state 1"))
        self.curves.histogram.colour_of = state_colour
        self.curves.command.connect(self.post)
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.curves.set_frame(newest)
        self.comparison_dock.make()
        return self.curves

    @property
    def can_be_staged(self) -> bool:
        return True

    def stage_canvas(self) -> QWidget:
        from mrfstudio.ui.graph_canvas.on_stage import StageGraph

        self._staged = True
        self.send_view()
        graph = StageGraph(self.lane)
        graph.choose_state(self.canvas.state)
        return graph

    def leave_stage(self) -> None:
        self._staged = False
        self.send_view()

    def canvas_drawing(self) -> Drawing:
        return self.canvas.drawing()

    def set_narrow(self, narrow: bool) -> None:
        self.centre.set_narrow(narrow)

    @property
    def recorder(self) -> Recorder:
        return self.files.recorder

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.comparison_dock.action_handlers(),
            **self.files.action_handlers(),
            **self.inspecting.action_handlers(),
            **self.overviews.action_handlers(),
            **super().action_handlers(),
            ZOOM_IN: self.zoom_in,
            ZOOM_OUT: self.zoom_out,
            ZOOM_FIT: self.zoom_fit,
            CLEAR_HINTS: self.clear_hints,
            NEXT_EXAMPLE: self.next_example,
            SHOW_HINT: self.show_hint,
            COMPARE: self.compare,
        }

    def extra_docks(self) -> list[ExtraDock]:
        return [*self.inspecting.docks(), *self.overviews.docks(), self.comparison_dock.dock()]

    def on_dock(self, name: str, shown: bool) -> None:
        if name == self.comparison_dock.dock_name:
            self.comparison_dock.on_shown(shown)
        elif not self.overviews.on_dock(name, shown):
            self.inspecting.on_dock(name, shown)

    # Frames -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        self.controls.on_loaded(engine, self.name)
        self.comparison_dock.on_loaded(engine)
        self._show_newest()

    def shown(self, frame: Frame) -> LaneFrame | None:
        """The chosen lane of a frame, the first one where it is gone."""
        return next((each for each in frame.lanes if each.lane == self.lane), next(iter(frame.lanes), None))

    def shown_now(self) -> LaneFrame | None:
        """The chosen lane as it was last drawn."""
        newest = self.controller.newest
        return None if newest is None else self.shown(newest)

    def _show_newest(self) -> None:
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.on_frame(newest)

    def on_frame(self, frame: Frame) -> None:
        self._notice_graph(frame)
        lane = self.shown(frame)
        if lane is not None and lane.lane != self.lane:
            self.choose_lane(lane.lane)
        self.canvas.set_frame(frame)
        self.canvas.set_values(node_values(frame, lane, self.controls.coloured_by, colours_of(self.canvas)))
        self.transport.set_frame(frame)
        self.overviews.lattice.set_frame(frame, lane)
        if frame.graph is not None:
            self._name_states(frame.graph)
        if lane is not None:
            self.questions.on_frame(frame, lane)
        self.throttle.take(frame)

    def _name_states(self, graph: GraphFrame) -> None:
        if graph.states is not self._states:
            self._states = graph.states
            common = graph.state_names[0] if len(set(graph.state_names)) == 1 else ()
            self.palette.set_states(int(graph.states.max(initial=2)), common)

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
        if self.inspecting.forget():
            self.send_view()

    def show_controls(self, frame: Frame) -> None:
        lane = self.shown(frame)
        if lane is None:
            return
        self.controls.set_frame(frame, lane)
        self.inspecting.set_frame(frame, lane)
        self.controls.explain_marks(self.canvas.picture.drawn_as_image)
        self.overviews.set_frame(frame, lane)

    def _show_curves(self, frame: Frame) -> None:
        if self.curves is None:
            return
        if frame.graph is not None:
            states = int(frame.graph.states.max(initial=2))
            self.curves.histogram.labels = tuple(f"state {state}" for state in range(states))
        self.curves.set_frame(frame)

    def _show_lines(self) -> None:
        """Other things are to be seen of factors and messages."""
        options = self.controls.lines.options
        self.canvas.set_options(options)
        self.questions.show_frustrated(options.frustrated)
        self.send_view()

    def _on_swings(self, swings: Swings | None) -> None:
        self.canvas.set_swings(swings)
        self.advice.set_swings(swings)

    def _on_frustrated(self, found: Frustrated | None) -> None:
        self.canvas.light(np.zeros(0, np.int64) if found is None else found.factors)
        self.controls.lines.say(found)

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

    def on_opened(self) -> None:
        self.questions.reset()
        self.inspecting.forget()
        self.send_view(again=True)

    def send_view(self, again: bool = False) -> None:
        """Tell the session what is looked at; `again` even if it was told, because it is another session."""
        wanted = {*PICTURES, self.controls.coloured_by, *self.comparison_dock.wanted_pictures()}
        wanted |= self.overviews.wanted_pictures
        if self.controls.lines.options.values:
            wanted.add("said")
        if self._staged:
            wanted |= {"messages", "said"}
        view = SetView(
            tuple(sorted(wanted)),
            factor=self.inspecting.factor,
            lane=self.lane,
            apart=self.other,
            reference=self.comparison_dock.reference,
        )
        if again or view != self._view:
            self._view = view
            self.controller.post(view, self.name)  # a panel that is hidden because another workspace is shown asks too

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
        self._show_newest()

    def choose_lane(self, lane: int) -> None:
        """Show another lane on canvas, gauge and form."""
        self.lane = self.canvas.lane = lane
        self.controls.lanes.show_lane(lane)
        self._on_swings(None)
        self.lane_changed.emit(lane)
        self.send_view()
        self._show_newest()

    # What is done -----------------------------------------------------------------------------------------------------

    def follow(self, tip: Tip) -> None:
        """Do what the advice says; Undo takes it back."""
        lane = self.shown_now()
        if lane is None:
            return
        if lane.algorithm == tip.algorithm:
            for name, value in tip.parameters.items():
                self.post(SetParameter(lane.lane, name, value))
        else:
            self.post(SetAlgorithm(lane.lane, tip.algorithm, dict(tip.parameters)))
        self.canvas.setFocus()

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
        if not self.controls.graph.next_seed():
            self.controller.message.emit("There is no next example of this graph, because no random numbers draw it.")

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
        return self.files.open_evidence(path)
