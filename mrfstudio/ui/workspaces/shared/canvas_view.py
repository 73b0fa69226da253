"""What workspaces with a canvas share: canvases, transport, strip, layers, curves, and the actions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.commands import (
    AddLane,
    Command,
    RemoveLane,
    SetModel,
    SetView,
)
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.widgets.tool_palette import ToolPalette
from mrfstudio.ui.widgets.transport import TransportBar
from mrfstudio.ui.window.actions import COMPARE, ZOOM_FIT, ZOOM_IN, ZOOM_OUT, ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.window.shell import AdviceLine
from mrfstudio.ui.workspaces.shared.canvases import GIVEN, Canvases
from mrfstudio.ui.workspaces.shared.centre import ActionButton, Centre
from mrfstudio.ui.workspaces.shared.comparison_dock import ComparisonDock
from mrfstudio.ui.workspaces.shared.controls import LaneControls
from mrfstudio.ui.workspaces.shared.lane_manager import Pair
from mrfstudio.ui.workspaces.shared.run_actions import RunActions
from mrfstudio.ui.workspaces.shared.view import ExtraDock, FrameThrottle, WorkspaceView

FIRST_SPEED = 60.0
"""Iterations a second at the start: slow enough to see each of fifteen."""
FEW = 5  # iterations of the second lane where there is no second model to compare with


class CanvasView(RunActions, WorkspaceView):
    """Builds the widgets, turns actions into commands and hands frames to whoever shows them."""

    always: ClassVar[tuple[str, ...]] = ("strip",)
    """What frames carry besides the visible layers."""

    def __init__(
        self,
        controller: Controller,
        settings: Settings,
        parent: QObject | None,
        panel: LaneControls,
        strip: IterationStrip,
    ) -> None:
        super().__init__(controller, settings, parent)
        self.canvases = Canvases()
        self.canvas: Canvas = self.canvases.first
        self.transport, self.advice = TransportBar(), AdviceLine()
        self.palette, self.strip = ToolPalette(self.canvas), strip
        self.controls = self.lane_controls = panel
        below = (*self.below_canvas(), self.strip)
        self.centre: Centre = Centre(
            self.transport, self.advice, self.palette, self.canvases, below, self.action_buttons()
        )
        self.curves: Any = None
        """The panel below, once it is made: see `new_curves`."""
        self._inspected: tuple[int, int] | None = None
        self._view: SetView | None = None
        self.comparison_dock = ComparisonDock(self, self)
        self.throttle = FrameThrottle((self._show_panel, self._show_curves, self.comparison_dock.set_frame), self)
        for source in (self.canvases, self.transport, self.lane_controls, self.strip):
            source.command.connect(self.post)
        self.canvases.play_pause.connect(self.transport.toggle_play)
        self.canvases.view_changed.connect(self.send_view)
        self.canvases.pixel_clicked.connect(self.inspect)
        self.lane_controls.layers_changed.connect(self.show_layers)
        self.lane_controls.pair_changed.connect(self.show_pair)
        controller.posted.connect(self.on_posted)

    def below_canvas(self) -> Sequence[QWidget]:
        """What a workspace puts between its canvas and the strip of iterations."""
        return ()

    def action_buttons(self) -> Sequence[ActionButton]:
        """What a workspace does to its picture with one click."""
        return ()

    def new_curves(self) -> QWidget:
        """The panel below, with `set_frame`, `to_csv` and a signal `command`."""
        raise NotImplementedError

    def make_curves(self) -> QWidget:
        self.curves = self.new_curves()
        self.curves.command.connect(self.post)
        if self.controller.newest is not None:
            self.curves.set_frame(self.controller.newest)
        self.comparison_dock.make()
        return self.curves

    @property
    def can_be_staged(self) -> bool:
        return True

    def stage_canvas(self) -> QWidget:
        canvas = Canvas()
        canvas.tools = self.canvas.tools  # what is in hand stays in hand
        canvas.set_lane(self.canvases.pair[0])
        layers = self.lane_controls.layers
        canvas.set_visible_layers(layers.visible())
        return canvas

    def canvas_drawing(self) -> Drawing:
        return self.canvas.drawing()

    def set_narrow(self, narrow: bool) -> None:
        self.centre.set_narrow(narrow)

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.comparison_dock.action_handlers(),
            **super().action_handlers(),
            ZOOM_IN: self.zoom_in,
            ZOOM_OUT: self.zoom_out,
            ZOOM_FIT: self.zoom_fit,
            COMPARE: self.compare,
        }

    def extra_docks(self) -> list[ExtraDock]:
        return [self.comparison_dock.dock()]

    def on_dock(self, name: str, shown: bool) -> None:
        if name == self.comparison_dock.dock_name:
            self.comparison_dock.on_shown(shown)

    def post(self, command: Command) -> None:
        """Send a command to this workspace's session, even if another workspace is shown by now."""
        self.controller.post(command, self.name)

    def use_model(self, note: ModelNote) -> None:
        """A model from a file or from training was checked: choose it."""
        self.lane_controls.add_model(note)
        self.controller.post(SetModel(0, note.name), self.name)

    # Frames -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        self.lane_controls.on_loaded(engine, self.name)
        self.comparison_dock.on_loaded(engine)
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:  # it came before the catalogue
            self.lane_controls.set_frame(newest)

    def on_frame(self, frame: Frame) -> None:
        comparing = len(frame.lanes) > 1
        if comparing != self.canvases.comparing:
            self.canvases.compare(comparing)
            self.lane_controls.compare(comparing)
            self.show_layers()
        self.canvases.set_frame(frame)
        self.transport.set_frame(frame)
        self.throttle.take(frame)

    def _show_panel(self, frame: Frame) -> None:
        self.lane_controls.set_frame(frame)
        if frame.lanes:
            left = self.canvases.shown(frame)[0]
            self.strip.lane = left.lane
            self.lane_controls.show_details(self.details(left))
        self.strip.set_frame(frame)

    def _show_curves(self, frame: Frame) -> None:
        if self.curves is not None:
            self.curves.set_frame(frame)

    def on_opened(self) -> None:
        self.send_view(again=True)

    def details(self, lane: LaneFrame) -> Mapping[str, object]:
        """What the inspector shows of a lane."""
        return lane.details

    def on_posted(self, command: Command, number: int) -> None:
        """An edit of this workspace is on its way."""
        if self.controller.workspace == self.name:
            self.canvases.posted(command, number)
            self.lane_controls.posted(number)

    # View -------------------------------------------------------------------------------------------------------------

    def show_layers(self) -> None:
        """Show the layers that are ticked, and ask for their pictures."""
        self.canvases.set_visible_layers(self.lane_controls.layers.visible(), self.lane_controls.layers.direction)
        self.send_view()

    def wanted_pictures(self) -> set[str]:
        """Exactly what is shown: other pictures are not computed."""
        ticked = set(self.lane_controls.layers.visible())
        wanted = {*self.always, *(ticked - set(GIVEN)), *self.comparison_dock.wanted_pictures()}
        return wanted | {"difference"} if self.canvases.comparing and "difference" in ticked else wanted

    def wanted_part(self) -> tuple[tuple[int, int, int, int] | None, int]:
        """The part of the picture that frames carry, None is all, and every how many pixels."""
        return self.canvases.wanted_rectangle(), 1

    def send_view(self, again: bool = False) -> None:
        """Tell the session what is looked at; `again` even if it was told, because it is another session."""
        rectangle, stride = self.wanted_part()
        view = SetView(
            tuple(sorted(self.wanted_pictures())),
            rectangle,
            self._inspected,
            stride,
            apart=self.canvases.pair[0] if self.canvases.comparing else None,
            reference=self.comparison_dock.reference,
        )
        if again or view != self._view:
            self._view = view
            self.post(view)

    def show_pair(self, pair: Pair) -> None:
        """Show other lanes side by side."""
        self.canvases.pair = pair
        newest = self.controller.newest
        if newest is not None and newest.workspace == self.name:
            self.canvases.set_frame(newest)
            self._show_panel(newest)
        self.send_view()

    def inspect(self, row: int, column: int) -> None:
        """Show what is believed at a pixel, and why."""
        self._inspected = (row, column)
        for canvas in self.canvases.both():
            canvas.pin(self._inspected)
        self.lane_controls.reveal_inspector()
        self.send_view()

    # Actions ----------------------------------------------------------------------------------------------------------

    def zoom_in(self) -> None:
        self.canvas.zoom(1.25)

    def zoom_out(self) -> None:
        self.canvas.zoom(0.8)

    def zoom_fit(self) -> None:
        for canvas in self.canvases.both():
            canvas.fit()

    def comparable(self, model: str, other: str) -> bool:
        """Whether a second lane may run this model beside the other one."""
        return model != other

    def compare(self) -> None:
        """Add a second lane, or take it away."""
        newest = self.controller.newest
        if newest is None or not newest.lanes:
            return
        if len(newest.lanes) > 1:
            self.post(RemoveLane(newest.lanes[-1].lane))
            return
        first = newest.lanes[0]
        other = next((model for model in self.lane_controls.models if self.comparable(model, first.model)), None)
        self.post(AddLane(other or first.model, first.algorithm, dict(first.parameters), None if other else FEW))
