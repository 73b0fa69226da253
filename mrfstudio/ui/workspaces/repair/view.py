"""Repair: paint over what is damaged in a photograph, and watch it being filled in, with its doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.commands import ClampUnit, ClearLayer, Command, FindDamage, Paint, Redo, SetSpeed, Undo
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.repair import HeldComponent, LookForDamage
from mrfstudio.engine.protocol.requests.studio import Begin
from mrfstudio.ui.canvas.tools import Target
from mrfstudio.ui.canvas.wipe import WipeBar
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.window.actions import NEXT_LAYER, SHOW_HINT, TOGGLE_WIPE, ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.repair import actions as own
from mrfstudio.ui.workspaces.repair.controls import RepairControls
from mrfstudio.ui.workspaces.repair.files import RepairFiles
from mrfstudio.ui.workspaces.repair.sign import SIGN
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView
from mrfstudio.ui.workspaces.shared.view import workspace_view

ADVICE = (
    "Try it: paint over a scratch, the writing, a person in the background. The right button takes paint away.",
    "U finds dust and scratches. W, or the grip below the picture, wipes to before. File → Export repaired… saves it.",
    "Tick Doubt to see how sure it is, One draw to see what else it could be; the Inspect tool (I) says who filled it.",
)
EMPTY = "One moment: the first photograph is on its way.\nYou can also open or paste one."
TARGETS = (
    Target("Damage", "strokes", 1, "#d55e00", "Paint over what is wrong: it is filled in."),
    Target("Doubtful", "strokes", 2, "#56b4e9", "These pixels are known, but not firmly: windows may overrule them."),
)
RESULTS = ("repaired", "draw")
BRUSH = 150
"""The first brush is the longer side divided by this wide, in radius."""
GRID_FROM = 40.0


@workspace_view
class RepairView(CanvasView):
    """Photographs, damage and what fills it in."""

    sign = SIGN

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        self.panel = RepairControls()
        self.wipe = WipeBar()
        super().__init__(controller, settings, parent, self.panel, IterationStrip())
        self.files = RepairFiles(self)
        self.palette.set_targets(TARGETS)
        self._photograph: object = None
        self._advised = self._draw = 0
        self._held: int | None = None
        self._model = ""
        self.panel.damage.sought.connect(self.find_damage)
        self.panel.damage.drawn.connect(self.draw_again)
        self.panel.damage.released.connect(lambda: self.hold(None))
        self.panel.inspector.hold.connect(self.hold)
        self.panel.other_model.connect(self.files.open_model)
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.empty_text = EMPTY
            canvas.grid_from = GRID_FROM
            canvas.joins_neighbours = False
            canvas.scene.look = replace(canvas.scene.look, hollow=True)
            canvas.set_wipe(0.0)
            canvas.wiped.connect(self.set_wipe)
        self.wipe.moved.connect(self.set_wipe)
        controller.sent.connect(self._on_sent)
        self.canvases.set_visible_layers(self.panel.layers.visible(), None)
        self.advice.show_text(ADVICE[0])

    # Places -----------------------------------------------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder:
        return self.files.recorder

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.files.action_handlers(),
            **super().action_handlers(),
            own.CLEAR_DAMAGE: self.clear_damage,
            own.FIND_DAMAGE: lambda: self.find_damage(self.panel.damage.chosen),
            own.DRAW_AGAIN: self.draw_again,
            TOGGLE_WIPE: self.toggle_wipe,
            NEXT_LAYER: self.next_layer,
            SHOW_HINT: self.show_hint,
        }

    def below_canvas(self) -> Sequence[QWidget]:
        return (self.wipe,)

    def new_curves(self) -> QWidget:
        from mrfstudio.ui.plots.curves import CurvePlots

        return CurvePlots()

    # Engine -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.controller.ask(Begin(self.name), lambda _: None)
        self.post(SetSpeed(None))
        self.send_view(again=True)

    def on_frame(self, frame: Frame) -> None:
        if frame.backdrop is not self._photograph:
            self._photograph = frame.backdrop
            self.canvas.set_radius(max(2.0, max(frame.shape) / BRUSH))
        if frame.lanes and frame.lanes[0].model != self._model:
            self._model = frame.lanes[0].model
            self._ask_held()
        super().on_frame(frame)

    def on_posted(self, command: Command, number: int) -> None:
        super().on_posted(command, number)
        if isinstance(command, Paint) and self.controller.workspace == self.name and not self._advised:
            self._advised = 1
            self.advice.show_text(ADVICE[1])

    def open_path(self, path: Path) -> bool:
        return self.files.open_path(path)

    def open_image(self, image: QImage) -> bool:
        return self.files.open_image(image)

    # View -------------------------------------------------------------------------------------------------------------

    def wanted_pictures(self) -> set[str]:
        wanted = super().wanted_pictures()
        return {f"draw:{self._draw}" if name == "draw" else name for name in wanted}

    def wanted_part(self) -> tuple[tuple[int, int, int, int] | None, int]:
        """Every pixel of what fits on the screen; of a larger photograph a sample for each pixel of the screen."""
        return None, max(1, int(1 / self.canvas.transform.scale))

    def set_wipe(self, wipe: float) -> None:
        """Show this part of the picture as it was before, on every canvas."""
        self.wipe.show_wipe(wipe)
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.set_wipe(wipe)

    # Actions ----------------------------------------------------------------------------------------------------------

    def toggle_wipe(self) -> None:
        self.set_wipe(0.0 if (self.canvas.scene.wipe or 0.0) > 0 else 1.0)

    def next_layer(self) -> None:
        shown = self.panel.layers.visible()
        self.panel.layers.set_shown(RESULTS[1] if RESULTS[0] in shown else RESULTS[0], True)

    def clear_damage(self) -> None:
        self.post(ClearLayer("strokes"))

    def find_damage(self, threshold: float) -> None:
        """Look beside the engine's other work, then paint."""
        model, photograph = self._model, self._photograph

        def found(count: int) -> None:
            if photograph is not self._photograph:
                return  # another one was opened meanwhile
            if count:
                self.post(FindDamage(threshold, model))
            self.controller.message.emit(f"{count} pixels of dust and scratches found above {threshold:.1f} σ.")

        self.controller.ask(LookForDamage(threshold, model), found)

    def draw_again(self) -> None:
        """Show another draw; the first time, show draws."""
        if "draw" in self.panel.layers.visible():
            self._draw += 1
            self.send_view()
        else:
            self.panel.layers.set_shown("draw", True)

    def hold(self, component: int | None) -> None:
        """Let one component fill in everything, or any one again."""
        if self._held is not None and component is None:
            self.post(ClampUnit(self._model, self._held, None))
        elif component is not None:
            self.post(ClampUnit(self._model, component, 1))

    def _on_sent(self, command: Command, number: int) -> None:
        if isinstance(command, ClampUnit | Undo | Redo) and self.controller.workspace == self.name and self._model:
            self._ask_held()

    def _ask_held(self) -> None:
        """Say which component is held: a person, Undo or another model changes it."""

        def held(component: int | None) -> None:
            self._held = component
            self.panel.damage.show_held(component)

        self.controller.ask(HeldComponent(self._model), held)

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])
