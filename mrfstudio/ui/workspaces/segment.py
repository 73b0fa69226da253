"""Segment: draw or open contours, watch CONTOUR, IN and OUT appear, compare lanes, look at clones."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from mrfstudio.engine.commands import AddNoise, ClearLayer, Command, Paint, SetSpeed
from mrfstudio.engine.frames import Frame
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.centre import DeedButton
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.dialogs.example import Example
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.workspaces.base import ExtraDock
from mrfstudio.ui.workspaces.clones import DOCK as CLONES
from mrfstudio.ui.workspaces.clones import Clones
from mrfstudio.ui.workspaces.image_workspace import FIRST_SPEED
from mrfstudio.ui.workspaces.label_workspace import LabelWorkspace
from mrfstudio.ui.workspaces.segment_files import FIRST_EXAMPLE, SegmentFiles

LABELS = ("CONTOUR", "OUT", "IN")
ADVICE = (
    "Try it: draw on the contour, or erase it with the right button, and watch the labels follow. N or D adds noise.",
    "Say what you know: press 3 and paint a few IN pixels. Full stop and comma step through the iterations.",
    "Look inside: Ctrl+B shows what each clone has learned, Ctrl+K compares two models.",
)


class SegmentWorkspace(LabelWorkspace):
    """Contours, hints, noise, pictures and clones."""

    name = "segment"
    title = "Segment"
    icon = "segment"
    help = "Draw a contour and watch belief propagation find what is inside."
    model_kinds = ("grid",)
    first_example: ClassVar[Example] = FIRST_EXAMPLE

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent, SEGMENT_LAYERS, LABELS)
        self.files = SegmentFiles(self)
        self.panel.other_model.connect(self.files.open_model)
        self._seed = 0
        self._advised = 0
        self.advice.show_text(ADVICE[0])
        self.clones = Clones(self)

    def deeds(self) -> tuple[DeedButton, ...]:
        edges = DeedButton("edges", "Add edges", "Noise: add eight short edges that bound nothing.", "N")
        gaps = DeedButton("noise", "Delete pixels", "Noise: hide a fifth of the contour pixels.", "D")
        edges.clicked.connect(self.add_edges)
        gaps.clicked.connect(self.delete_contours)
        return edges, gaps

    def doers(self) -> tuple[QObject, ...]:
        return (*super().doers(), self.files, self.clones)

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
        self.controller.ask("begin", lambda _: None)
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

    def clear_observed(self) -> None:
        self.post(ClearLayer("observed"))

    def show_hint(self) -> None:
        self._advised = (self._advised + 1) % len(ADVICE)
        self.advice.show_text(ADVICE[self._advised])
