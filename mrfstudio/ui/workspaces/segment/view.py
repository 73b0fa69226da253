"""Segment: draw or open contours, watch CONTOUR, IN and OUT appear, compare lanes, look at clones."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from mrfstudio.engine.protocol.commands import AddNoise, ClearLayer, CloseGaps, Command, Paint, SetSpeed, Thin
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.segment import MakeFigure
from mrfstudio.engine.protocol.requests.studio import Begin
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.window.actions import (
    ADD_EDGES,
    CLEAR_OBSERVED,
    CLOSE_GAPS,
    DELETE_CONTOURS,
    SHOW_HINT,
    THIN,
    ActionHandlers,
)
from mrfstudio.ui.window.dialogs.common import show_dialog
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.segment.clones import DOCK as CLONES
from mrfstudio.ui.workspaces.segment.clones import Clones
from mrfstudio.ui.workspaces.segment.drawing_dialogs import GapDialog
from mrfstudio.ui.workspaces.segment.files import FIRST_EXAMPLE, SegmentFiles
from mrfstudio.ui.workspaces.segment.sign import SIGN
from mrfstudio.ui.workspaces.shared.centre import ActionButton
from mrfstudio.ui.workspaces.shared.label_view import LabelView
from mrfstudio.ui.workspaces.shared.view import ExtraDock, workspace_view

LABELS = ("CONTOUR", "OUT", "IN")
ADVICE = (
    "Try it: draw on the contour, or erase it with the right button, and watch the labels follow. N or D adds noise.",
    "Say what you know: press 3 and paint a few IN pixels. Full stop and comma step through the iterations.",
    keyed("Look inside: Ctrl+B shows what each clone has learned, Ctrl+K compares two models."),
)


FIRST_SPEED = 200.0
"""Iterations a second at the start: the answer of the first model, 48 of them, is seen to grow and there at once."""


@workspace_view
class SegmentView(LabelView):
    """Contours, hints, noise, pictures and clones."""

    sign = SIGN
    first_example: ClassVar[MakeFigure] = FIRST_EXAMPLE

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent, SEGMENT_LAYERS, LABELS)
        self.files = SegmentFiles(self)
        self.panel.other_model.connect(self.files.open_model)
        self._seed = 0
        self._advised = 0
        self._gap = CloseGaps().gap
        self.advice.show_text(ADVICE[0])
        self.clones = Clones(self)

    def action_buttons(self) -> tuple[ActionButton, ...]:
        edges = ActionButton("edges", "Add edges", "Noise: add eight short edges that bound nothing.", "N")
        gaps = ActionButton("noise", "Delete pixels", "Noise: hide a fifth of the contour pixels.", "D")
        edges.clicked.connect(self.add_edges)
        gaps.clicked.connect(self.delete_contours)
        return edges, gaps

    @property
    def recorder(self) -> Recorder:
        return self.files.recorder

    def action_handlers(self) -> ActionHandlers:
        return {
            **self.clones.action_handlers(),
            **self.files.action_handlers(),
            **super().action_handlers(),
            ADD_EDGES: self.add_edges,
            DELETE_CONTOURS: self.delete_contours,
            THIN: self.thin,
            CLOSE_GAPS: self.close_gaps,
            CLEAR_OBSERVED: self.clear_observed,
            SHOW_HINT: self.show_hint,
        }

    def extra_docks(self) -> list[ExtraDock]:
        return [*super().extra_docks(), self.clones.dock()]

    def on_dock(self, name: str, shown: bool) -> None:
        if name == CLONES:
            self.clones.on_shown(shown)
        else:
            super().on_dock(name, shown)

    def on_frame(self, frame: Frame) -> None:
        super().on_frame(frame)
        self.clones.on_frame(frame)

    def wanted_pictures(self) -> set[str]:
        return super().wanted_pictures() | self.clones.wanted_pictures()

    def on_posted(self, command: Command, number: int) -> None:
        super().on_posted(command, number)
        stage = 2 if getattr(command, "layer", "") == "hints" else 1
        if stage > self._advised and isinstance(command, Paint):
            self._advised = stage
            self.advice.show_text(ADVICE[stage])

    def start(self) -> None:
        self.controller.ask(Begin(self.name), lambda _: None)
        self.post(SetSpeed(FIRST_SPEED))
        self.send_view(again=True)

    def open_path(self, path: Path) -> bool:
        return self.files.open_path(path)

    def open_image(self, image: QImage) -> bool:
        return self.files.open_image(image)

    # Actions ----------------------------------------------------------------------------------------------------------

    def add_edges(self) -> None:
        self._seed += 1
        self.post(AddNoise(edges=8, deletion=0.0, seed=self._seed))

    def delete_contours(self) -> None:
        self._seed += 1
        self.post(AddNoise(edges=0, deletion=0.2, seed=self._seed))

    def thin(self) -> None:
        self.post(Thin())

    def close_gaps(self) -> None:
        """Ask how wide gaps may be, beginning with the answer of last time."""
        dialog = GapDialog(self._gap, self.centre.window())

        def chosen() -> None:
            self._gap = dialog.gap.value()
            self.post(CloseGaps(self._gap))

        dialog.accepted.connect(chosen)
        show_dialog(dialog)

    def clear_observed(self) -> None:
        self.post(ClearLayer("observed"))

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])
