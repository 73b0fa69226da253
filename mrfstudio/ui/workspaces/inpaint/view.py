"""Inpaint: hide a part of a face or a digit, watch the mean and its uncertainty fill it in, look at hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import GreyPicture, Loaded, ModelNote
from mrfstudio.engine.protocol.commands import (
    AddNoise,
    ClearLayer,
    Command,
    Invert,
    PaintRectangle,
    Play,
    SetImage,
    SetModel,
    SetSpeed,
)
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.inpaint import PictureFor
from mrfstudio.engine.protocol.requests.studio import Begin, DescribeModel
from mrfstudio.ui.canvas.layers import INPAINT_LAYERS
from mrfstudio.ui.canvas.tools import INPAINT_TARGETS
from mrfstudio.ui.canvas.wipe import WipeBar
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.widgets.layer_list import LayerList
from mrfstudio.ui.widgets.legend import Legend
from mrfstudio.ui.window.actions import (
    CLEAR_MASK,
    HIDE_ALL,
    INVERT_MASK,
    NEXT_LAYER,
    SHOW_HINT,
    TOGGLE_WIPE,
    ActionHandlers,
)
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.inpaint import actions as own
from mrfstudio.ui.workspaces.inpaint.files import InpaintFiles
from mrfstudio.ui.workspaces.inpaint.gallery import Gallery
from mrfstudio.ui.workspaces.inpaint.pixel_inspector import PixelInspector
from mrfstudio.ui.workspaces.inpaint.sign import SIGN
from mrfstudio.ui.workspaces.inpaint.units import Units
from mrfstudio.ui.workspaces.shared.canvas_view import FIRST_SPEED, CanvasView
from mrfstudio.ui.workspaces.shared.centre import ActionButton
from mrfstudio.ui.workspaces.shared.controls import LaneControls
from mrfstudio.ui.workspaces.shared.view import ExtraDock, workspace_view

RESULTS = ("mean", "deviation", "sample", "mistake")
"""What the key V goes through."""
DRAW_EVERY = 120
"""Milliseconds between two samples: slow enough to see each."""
FIRST_RADIUS = 2.0
GRID_FROM = 28.0
"""Screen pixels for one of the picture from which on a grid is drawn: over a face it would be in the way."""
ADVICE = (
    "Try it: paint over a part of the picture and watch it fill in; the right button shows pixels again. "
    "PgDn takes the next picture.",
    "V shows the mean, its deviation, a sample, the error in turn. W or the grip below the picture wipes to before.",
    keyed("Look inside: Ctrl+H shows the hidden units; click one to switch it on or off. Ctrl+K compares two models."),
)
EMPTY = "One moment: the first picture is on its way.\nYou can also open or paste one."


class InpaintControls(LaneControls):
    """Layers of grey pictures, and an inspector with a histogram."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.inspector = PixelInspector()
        super().__init__(LayerList(INPAINT_LAYERS), Legend(INPAINT_LAYERS, ()), self.inspector, (), parent)

    def set_frame(self, frame: Frame) -> None:
        super().set_frame(frame)
        known = "truth" in frame.layers
        if self.layers.boxes["mistake"].isEnabled() != known:
            self.layers.set_available("mistake", known)


@workspace_view
class InpaintView(CanvasView):
    """Pictures, masks, samples, galleries and hidden units."""

    sign = SIGN

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        self.panel = InpaintControls()
        self.wipe = WipeBar()
        super().__init__(controller, settings, parent, self.panel, IterationStrip())
        self.files, self.gallery, self.units = InpaintFiles(self), Gallery(self), Units(self)
        self.panel.other_model.connect(self.files.open_model)
        self.palette.set_targets(INPAINT_TARGETS)
        self._is_open = False
        self._newest: Frame | None = None
        self._waiting: ModelNote | None = None
        self._pinned = False
        self._advised = self._draw = self._seed = 0
        self._shapes: dict[str, tuple[int, int] | None] = {}
        self._drawing = QTimer(self, singleShot=True, interval=DRAW_EVERY)
        self._drawing.timeout.connect(self._draw_again)
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.empty_text = EMPTY
            canvas.set_signed(True)
            canvas.grid_from = GRID_FROM
            canvas.joins_neighbours = False
            canvas.set_wipe(0.0)
            canvas.wiped.connect(self.set_wipe)
        self.canvas.set_radius(FIRST_RADIUS)
        self.wipe.moved.connect(self.set_wipe)
        self.canvases.hovered.connect(self._hover)
        self.canvases.set_visible_layers(self.panel.layers.visible(), None)
        self.advice.show_text(ADVICE[0])

    # Places -----------------------------------------------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder:
        return self.files.recorder

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.units.action_handlers(),
            **self.gallery.action_handlers(),
            **self.files.action_handlers(),
            **super().action_handlers(),
            TOGGLE_WIPE: self.toggle_wipe,
            NEXT_LAYER: self.next_layer,
            INVERT_MASK: self.invert_mask,
            CLEAR_MASK: self.clear_mask,
            HIDE_ALL: self.hide_all,
            own.ADD_NOISE: self.add_noise,
            own.CUT_HOLE: self.cut_hole,
            SHOW_HINT: self.show_hint,
        }

    def action_buttons(self) -> tuple[ActionButton, ...]:
        noise = ActionButton("noise", "Add noise", own.ADD_NOISE.help, "Shift+N")
        hole = ActionButton("rectangle", "Cut a hole", own.CUT_HOLE.help, "Shift+D")
        noise.clicked.connect(self.add_noise)
        hole.clicked.connect(self.cut_hole)
        return noise, hole

    def extra_docks(self) -> list[ExtraDock]:
        return [self.gallery.dock(), self.units.dock(), *super().extra_docks()]

    def on_dock(self, name: str, shown: bool) -> None:
        super().on_dock(name, shown)
        if name == self.units.dock_name:
            self.units.on_shown(shown)

    def below_canvas(self) -> Sequence[QWidget]:
        return (self.wipe,)

    def new_curves(self) -> QWidget:
        from mrfstudio.ui.plots.curves import CurvePlots

        return CurvePlots()

    # Engine -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        super().on_loaded(engine)
        self._shapes |= {note.name: note.shape for note in engine.models}

    def start(self) -> None:
        self.controller.ask(Begin(self.name), lambda _: self._begun(), self._no_model)

    def _begun(self) -> None:
        self._is_open = True
        self.post(SetSpeed(FIRST_SPEED))
        self.send_view(again=True)
        if self._waiting is not None:
            self.use_model(self._waiting)

    def on_opened(self) -> None:
        self._is_open = True
        super().on_opened()

    def _no_model(self, sentence: str) -> None:
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.empty_text = sentence
            canvas.update()

    def on_frame(self, frame: Frame) -> None:
        self._newest = frame
        super().on_frame(frame)
        self.gallery.on_frame(frame)
        self.units.on_frame(frame)
        if frame.lanes and "sample" in frame.lanes[0].pictures and not self._drawing.isActive():
            self._drawing.start()

    def on_posted(self, command: Command, number: int) -> None:
        super().on_posted(command, number)
        if getattr(command, "layer", "") == "mask" and self.controller.workspace == self.name and not self._advised:
            self._advised = 1
            self.advice.show_text(ADVICE[1])

    def post(self, command: Command) -> None:
        """Send a command; a model that takes pictures of another size brings one along."""
        if not self._is_open and not isinstance(command, SetImage):
            return  # a stroke or a key that came before there was anything to paint on
        if isinstance(command, SetModel) and command.picture is None:
            self._choose_model(command)
        else:
            super().post(command)

    def use_model(self, note: ModelNote) -> None:
        if not self._is_open:  # there is no session yet that could use it
            self._waiting = note
            return
        self._waiting = None
        self.panel.add_model(note)
        self.controller.ask(DescribeModel(self.name, note.name), self._known_model)

    def _known_model(self, note: ModelNote) -> None:
        self._shapes[note.name] = note.shape
        self._choose_model(SetModel(0, note.name))

    def _choose_model(self, command: SetModel) -> None:
        shape, frame = self._shapes.get(command.model), self._newest
        # Before the first frame nobody knows what is shown: a picture that surely fits comes along.
        if shape is None or (frame is not None and shape == frame.shape):
            self.controller.post(command, self.name)
        else:
            self.controller.ask(PictureFor(command.model), partial(self._with_picture, command))

    def _with_picture(self, command: SetModel, picture: GreyPicture) -> None:
        opened = SetImage(picture.picture, picture.picture, picture.name, picture.mask)
        self.controller.post(SetModel(command.lane, command.model, opened), self.name)

    def use_picture(self, picture: GreyPicture) -> None:
        """Show a picture; the mask stays. What it has under the mask is taken for the truth."""
        self.post(SetImage(picture.picture, picture.picture, picture.name, picture.mask))
        self.post(Play())  # a new picture is looked at, whatever was paused

    def open_path(self, path: Path) -> bool:
        return self.files.open_path(path)

    def open_image(self, image: QImage) -> bool:
        return self.files.open_image(image)

    # View -------------------------------------------------------------------------------------------------------------

    def send_view(self, again: bool = False) -> None:
        if self._is_open:  # before that there is no session that could be looked at
            super().send_view(again)

    def wanted_pictures(self) -> set[str]:
        wanted = super().wanted_pictures()
        if "sample" in wanted:
            wanted = wanted - {"sample"} | {f"sample:{self._draw}"}
        return wanted | self.units.wanted_pictures()

    def _draw_again(self) -> None:
        if self.controller.workspace == self.name and "sample" in self.panel.layers.visible():
            self._draw += 1
            self.send_view()

    def _hover(self, pixel: tuple[int, int] | None) -> None:
        """The inspector follows the pointer until a pixel is kept by a click."""
        if not self._pinned and pixel != self._inspected:
            self._inspected = pixel
            self.send_view()

    def inspect(self, row: int, column: int) -> None:
        kept = self._pinned and self._inspected == (row, column)
        self._pinned = not kept
        super().inspect(row, column)
        if kept:  # a second click lets go
            for canvas in self.canvases.both():
                canvas.pin(None)

    def set_wipe(self, wipe: float) -> None:
        """Show this part of the picture as it was before, on every canvas."""
        self.wipe.show_wipe(wipe)
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.set_wipe(wipe)

    # Actions ----------------------------------------------------------------------------------------------------------

    def comparable(self, model: str, other: str) -> bool:
        return model != other and self._shapes.get(model) == self._shapes.get(other)  # lanes share one picture

    def toggle_wipe(self) -> None:
        self.set_wipe(0.0 if (self.canvas.scene.wipe or 0.0) > 0 else 1.0)

    def next_layer(self) -> None:
        shown = self.panel.layers.visible()
        now = next((name for name in RESULTS if name in shown), "")
        known = [name for name in RESULTS if self.panel.layers.boxes[name].isEnabled()]
        following = known[(known.index(now) + 1) % len(known)] if now in known else known[0]
        self.panel.layers.set_shown(following, True)

    def invert_mask(self) -> None:
        self.post(Invert("mask"))

    def clear_mask(self) -> None:
        self.post(ClearLayer("mask"))

    def add_noise(self) -> None:
        self._seed += 1
        self.post(AddNoise(edges=0, deletion=own.NOISE, seed=self._seed))

    def cut_hole(self) -> None:
        frame = self.controller.newest
        if frame is None:
            return
        self._seed += 1
        places = Random(self._seed)
        top, left = (places.randrange(max(size - own.SIDE, 0) + 1) for size in frame.shape)
        self.post(PaintRectangle("mask", 1, (top, left, own.SIDE, own.SIDE)))

    def hide_all(self) -> None:
        frame = self.controller.newest
        if frame is not None:
            self.post(PaintRectangle("mask", 1, (0, 0, *frame.shape)))

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])
