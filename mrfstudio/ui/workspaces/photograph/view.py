"""Photograph: open one, scribble on it, and watch the object come out, coarse to fine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.commands import AddLane, ClearLayer, Command, Label, Paint, SetPhotograph, SetSpeed
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.studio import Begin
from mrfstudio.ui.canvas.tools import Target
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.window.actions import SHOW_HINT, ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.photograph import actions as own
from mrfstudio.ui.workspaces.photograph.controls import PhotographControls
from mrfstudio.ui.workspaces.photograph.field_slider import FieldSlider
from mrfstudio.ui.workspaces.photograph.files import PhotographFiles
from mrfstudio.ui.workspaces.photograph.sign import SIGN
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView
from mrfstudio.ui.workspaces.shared.view import workspace_view

ADVICE = (
    "Try it: paint on the white rim of the helmet with 1, on what does not belong with 2. The right button erases. "
    "K shows the cut-out.",
    "J goes to where a stroke would help most; O held shows the photograph alone.",
    keyed(
        "Drag the slider below to the left to see what the scores say without their neighbours. Ctrl+Shift+X copies "
        "the cut-out."
    ),
)
TOO_FEW = "Paint on what you want with 1 and on the rest with 2: nothing can be decided before two labels have strokes."
EMPTY = "One moment: the first photograph is on its way.\nYou can also open or paste one."
PAINTS = "Paint on pixels that are {0}: they have this label for certain. With less than full strength they lean to it."
OTHER_RULE = "cutout-mean-field"
"""What Compare puts beside the first lane."""
BRUSH = 150
"""The first brush is the longer side divided by this wide, in radius."""
WIDEST = 30
"""And the widest of the slider by this."""
AROUND = 0.25
"""What frames carry around the visible part, in parts of it, so that panning finds it there."""
TILE = 16
"""Parts begin at multiples of so many samples: the checkerboard then stands still while one pans."""
GRID_FROM = 40.0
LABELLED = ("photograph", "overlay", "boundary", "strokes")
SEEN_AT = 8.0
"""How much of the canvas the place of Where next? takes up, at least one part in so many."""


@workspace_view
class PhotographView(CanvasView):
    """Photographs, strokes and labels."""

    sign = SIGN
    always = ("strip", "overlay", "next")

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        self.panel, self.field = PhotographControls(), FieldSlider()
        super().__init__(controller, settings, parent, self.panel, IterationStrip())
        self.files = PhotographFiles(self)
        self._labels: tuple[Label, ...] = ()
        self._photograph: object = None
        self._advised = 0
        self.field.command.connect(self.post)
        self.panel.other_model.connect(self.files.open_model)
        self.panel.cut.changed.connect(self.send_view)
        self.panel.cut.save.clicked.connect(self.files.export_cutout)
        self.panel.cut.copy.clicked.connect(self.files.copy_cutout)
        for canvas in (self.canvases.first, self.canvases.second):
            canvas.empty_text = EMPTY
            canvas.grid_from = GRID_FROM
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
            own.CLEAR_STROKES: self.clear_strokes,
            own.WHERE_NEXT: self.where_next,
            own.SHOW_CUTOUT: self.show_cutout,
            SHOW_HINT: self.show_hint,
        }

    def below_canvas(self) -> Sequence[QWidget]:
        return (self.field,)

    def new_curves(self) -> QWidget:
        from mrfstudio.ui.plots.curves import CurvePlots

        return CurvePlots()

    # Engine -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.controller.ask(Begin(self.name), lambda _: None)
        self.post(SetSpeed(None))  # there are many iterations, most of them on small copies of the picture
        self.send_view(again=True)

    def on_frame(self, frame: Frame) -> None:
        if frame.labels != self._labels:
            self._show_labels(frame.labels)
        if frame.backdrop is not self._photograph:
            self._photograph = frame.backdrop
            self.palette.set_largest(max(frame.shape) / WIDEST)
            self.canvas.set_radius(max(2.0, max(frame.shape) / BRUSH))
        for canvas in (self.canvases.first, self.canvases.second):
            found = frame.lanes[0].pictures.get("next") if frame.lanes and not frame.playing else None
            canvas.scene.place = None if found is None else (float(found[0]), float(found[1]), float(found[2]))
        super().on_frame(frame)
        self._advise(frame)

    def _show_labels(self, labels: tuple[Label, ...]) -> None:
        chosen = self.canvas.tools.target_index
        self._labels = labels
        targets = (
            Target(
                each.title,
                "strokes",
                each.number,
                each.colour,
                PAINTS.format(each.title),
                soft=True,
                leaning=each.number + LEANING,
            )
            for each in labels
        )
        self.palette.set_targets(tuple(targets))
        self.canvas.choose_target(min(chosen, len(labels) - 1))
        self.strip.set_label_colours(tuple((each.number, each.colour) for each in labels))

    def _advise(self, frame: Frame) -> None:
        """Say what is missing before anything can be decided."""
        decided = bool(frame.lanes) and "overlay" in frame.lanes[0].pictures
        if not decided and not frame.playing:
            self.advice.show_text(TOO_FEW)
        elif decided and self.advice.text() == TOO_FEW:
            self.advice.show_text(ADVICE[1])

    def on_posted(self, command: Command, number: int) -> None:
        super().on_posted(command, number)
        if isinstance(command, Paint) and self.controller.workspace == self.name and not self._advised:
            self._advised = 1
            self.advice.show_text(ADVICE[1])
        elif isinstance(command, SetPhotograph) and self.controller.workspace == self.name:
            self.canvases.first.scene.place = self.canvases.second.scene.place = None

    def open_path(self, path: Path) -> bool:
        return self.files.open_path(path)

    def open_image(self, image: QImage) -> bool:
        return self.files.open_image(image)

    # View -------------------------------------------------------------------------------------------------------------

    def wanted_pictures(self) -> set[str]:
        wanted = super().wanted_pictures() - {"boundary"}
        chosen = self.panel.cut.word
        return {f"{name}:{chosen}" if name in ("cutout", "scores") else name for name in wanted}

    def wanted_part(self) -> tuple[tuple[int, int, int, int] | None, int]:
        """What can be seen and a little around it, a sample for each pixel of the screen."""
        stride = max(1, int(1 / self.canvas.transform.scale))
        top, left, height, width = self.canvas.visible_rectangle()
        rows, columns = self.canvas.scene.shape
        if not height or not width or (height >= rows and width >= columns):
            return None, stride
        tile = TILE * stride
        more_rows, more_columns = int(AROUND * height), int(AROUND * width)
        first = max(top - more_rows, 0) // tile * tile, max(left - more_columns, 0) // tile * tile
        last = min(top + height + more_rows, rows), min(left + width + more_columns, columns)
        return (*first, last[0] - first[0], last[1] - first[1]), stride

    def _show_panel(self, frame: Frame) -> None:
        super()._show_panel(frame)
        self.field.set_frame(frame)

    # Actions ----------------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """Add a lane that runs mean field on the same scores, or take the last one away."""
        newest = self.controller.newest
        if newest is None or len(newest.lanes) != 1:
            super().compare()
            return
        first = newest.lanes[0]
        same = {name: value for name, value in first.parameters.items() if name != "alpha"}
        self.post(AddLane(first.model, OTHER_RULE, same))

    def clear_strokes(self) -> None:
        self.post(ClearLayer("strokes"))

    def show_cutout(self) -> None:
        """The cut-out without anything else, or labels and strokes again."""
        names = LABELLED if "cutout" in self.panel.layers.visible() else ("photograph", "cutout")
        self.panel.layers.set_visible(dict.fromkeys(names, 1.0))

    def where_next(self) -> None:
        """Bring the place where a stroke would help most into the middle, large enough to paint on."""
        place = self.canvas.scene.place
        if place is None:
            self.controller.message.emit("No place is in doubt: look around, and paint where the answer is wrong.")
            return
        row, column, radius = place
        wanted = min(self.canvas.width(), self.canvas.height()) / (SEEN_AT * max(radius, 1.0))
        if self.canvas.transform.scale < wanted:
            self.canvas.zoom(wanted / self.canvas.transform.scale)
        middle = self.canvas.transform.to_widget(column + 0.5, row + 0.5)
        self.canvas.move_by(self.canvas.width() / 2 - middle.x(), self.canvas.height() / 2 - middle.y())
        self.canvas.setFocus()

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])
