"""Segment: draw or open contours, watch CONTOUR, IN and OUT appear, compare lanes, look at clones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mrfstudio.engine.commands import (
    AddLane,
    AddNoise,
    ClearLayer,
    Command,
    Paint,
    Redo,
    RemoveLane,
    Restart,
    Scrub,
    SetModel,
    SetSpeed,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.frames import Frame, Loaded, ModelNote
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.dialogs.example import Example
from mrfstudio.ui.panels.iteration_strip import IterationStrip
from mrfstudio.ui.panels.tool_palette import ToolPalette
from mrfstudio.ui.panels.transport import SPEEDS, TransportBar
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.shell import Advice
from mrfstudio.ui.theme import px
from mrfstudio.ui.workspaces.base import ExtraDock, Workspace
from mrfstudio.ui.workspaces.canvases import GIVEN, Canvases
from mrfstudio.ui.workspaces.segment_controls import SegmentControls
from mrfstudio.ui.workspaces.segment_files import FIRST_EXAMPLE, SegmentFiles

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.curves_panel import CurvesPanel

ADVICE = (
    "Try it: draw on the contour, or erase it with the right button, and watch the labels follow. N adds noise.",
    "Say what you know: press 3 and paint a few IN pixels. Full stop and comma step through the iterations.",
    "Look inside: Ctrl+B shows what each clone has learned, Ctrl+K compares two models.",
)
FIRST_SPEED = 30.0
"""Iterations a second at the start: slow enough to see each of the fifteen."""
ALWAYS = ("histogram", "strip")
"""What frames carry besides the visible layers."""


class SegmentWorkspace(Workspace):
    """Builds its widgets, turns actions into commands and hands frames to whoever shows them."""

    name = "segment"
    title = "Segment"
    icon = "segment"
    help = "Draw a contour and watch belief propagation find what is inside."
    first_example: ClassVar[Example] = FIRST_EXAMPLE

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.canvases = Canvases()
        self.canvas = self.canvases.first
        self.transport = TransportBar()
        self.advice = Advice()
        self.palette = ToolPalette(self.canvas)
        self.strip = IterationStrip()
        self.controls = self.panel = SegmentControls()
        self.centre = self._centre()
        self.files = SegmentFiles(self)
        self.curves: CurvesPanel | None = None
        self._seed = 0
        self._advised = 0
        self._inspected: tuple[int, int] | None = None
        self._view: SetView | None = None
        self._connect()
        self.advice.show_text(ADVICE[0])

    def _centre(self) -> QWidget:
        centre = QWidget()
        column = QVBoxLayout(centre)
        margin = px(centre, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(px(centre, 6))
        column.addWidget(self.transport)
        column.addWidget(self.advice)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.palette)
        row.addWidget(self.canvases, 1)
        column.addLayout(row, 1)
        column.addWidget(self.strip)
        return centre

    def _connect(self) -> None:
        for source in (self.canvases, self.transport, self.panel, self.strip):
            source.command.connect(self.post)
        self.canvases.play_pause.connect(self.transport.toggle_play)
        self.canvases.view_changed.connect(self._send_view)
        self.canvases.pixel_clicked.connect(self.inspect)
        self.panel.layers_changed.connect(self._show_layers)
        self.panel.other_model.connect(self.files.open_model)
        self.controller.posted.connect(self._posted)

    def post(self, command: Command) -> None:
        self.controller.post(command)

    def doers(self) -> tuple[QObject, ...]:
        return (self, self.files)

    # Frames -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        self.panel.on_loaded(engine, self.name)

    def on_frame(self, frame: Frame) -> None:
        comparing = len(frame.lanes) > 1
        if comparing != self.canvases.comparing:
            self._show_comparing(comparing)
        self.canvases.set_frame(frame)
        self.transport.set_frame(frame)
        self.transport.set_speed(frame.speed)
        self.panel.set_frame(frame)
        self.strip.set_frame(frame)
        if self.curves is not None:
            self.curves.set_frame(frame)

    def _posted(self, command: Command, number: int) -> None:
        self.canvases.posted(command, number)
        stage = 2 if getattr(command, "layer", "") == "hints" else 1
        if stage > self._advised and isinstance(command, Paint):
            self._advised = stage
            self.advice.show_text(ADVICE[stage])

    def start(self) -> None:
        self.post(SetSpeed(FIRST_SPEED))
        self._send_view()
        self.controller.ask("begin", lambda _: None)

    def open_path(self, path: Path) -> bool:
        return self.files.open_path(path)

    # View -------------------------------------------------------------------------------------------------------------

    def _show_layers(self) -> None:
        self.canvases.set_visible_layers(self.panel.layers.visible(), self.panel.layers.direction)
        self._send_view()

    def _send_view(self) -> None:
        """Ask for exactly the pictures that are shown."""
        layers = {*self.panel.layers.visible(), *ALWAYS, "belief"} - set(GIVEN)
        if self.canvases.comparing and "difference" in self.panel.layers.visible():
            layers.add("difference")
        view = SetView(tuple(sorted(layers)), self.canvases.wanted_rectangle(), self._inspected)
        if view != self._view:
            self._view = view
            self.post(view)

    def inspect(self, row: int, column: int) -> None:
        """Show what is believed at a pixel, and why."""
        self._inspected = (row, column)
        for canvas in self.canvases.both():
            canvas.pin(self._inspected)
        self._send_view()

    # Actions ----------------------------------------------------------------------------------------------------------

    def undo(self) -> None:
        self.post(Undo())

    def redo(self) -> None:
        self.post(Redo())

    def play_pause(self) -> None:
        self.transport.toggle_play()

    def step(self) -> None:
        self.post(Step(1))

    def step_back(self) -> None:
        self.post(Step(-1))

    def to_start(self) -> None:
        self.post(Scrub(0))

    def to_end(self) -> None:
        newest = self.controller.newest
        if newest is not None:
            self.post(Scrub(newest.newest))

    def restart(self) -> None:
        self.post(Restart())

    def slower(self) -> None:
        self._change_speed(-1)

    def faster(self) -> None:
        self._change_speed(1)

    def _change_speed(self, by: int) -> None:
        newest = self.controller.newest
        speed = newest.speed if newest is not None else None
        index = SPEEDS.index(speed) if speed in SPEEDS else len(SPEEDS) - 1
        self.post(SetSpeed(SPEEDS[min(max(index + by, 0), len(SPEEDS) - 1)]))

    def add_edges(self) -> None:
        self._seed += 1
        self.post(AddNoise(edges=8, deletion=0.0, seed=self._seed))

    def delete_contours(self) -> None:
        self._seed += 1
        self.post(AddNoise(edges=0, deletion=0.2, seed=self._seed))

    def clear_observed(self) -> None:
        self.post(ClearLayer("observed"))

    def clear_hints(self) -> None:
        self.post(ClearLayer("hints"))

    def zoom_in(self) -> None:
        self.canvas.zoom(1.25)

    def zoom_out(self) -> None:
        self.canvas.zoom(0.8)

    def zoom_fit(self) -> None:
        for canvas in self.canvases.both():
            canvas.fit()

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])

    # Comparing --------------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """Add a second lane, or take it away."""
        newest = self.controller.newest
        if newest is None or not newest.lanes:
            return
        if len(newest.lanes) > 1:
            self.post(RemoveLane(newest.lanes[-1].lane))
            return
        first = newest.lanes[0]
        other = next((model for model in self.panel.models if model != first.model), None)
        # Without a second model the second lane differs in its number of iterations.
        self.post(AddLane(other or first.model, first.algorithm, dict(first.parameters), None if other else 5))

    def _show_comparing(self, on: bool) -> None:
        self.canvases.compare(on)
        self.panel.compare(on)
        self._show_layers()

    # Parts ------------------------------------------------------------------------------------------------------------

    def use_model(self, note: ModelNote) -> None:
        """A model from a file was checked: choose it."""
        self.panel.add_model(note)
        self.post(SetModel(0, note.name))

    def make_curves(self) -> QWidget:
        from mrfstudio.ui.workspaces.curves_panel import CurvesPanel

        self.curves = CurvesPanel()
        self.curves.command.connect(self.post)
        if self.controller.newest is not None:
            self.curves.set_frame(self.controller.newest)
        return self.curves

    def extra_docks(self) -> list[ExtraDock]:
        return []


RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
