"""What workspaces with labels share beyond the canvas: label layers, hints and the histogram of marginals."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.commands import ClearLayer
from mrfstudio.ui.canvas.layers import Layer
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.panels.iteration_strip import IterationStrip
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.workspaces.controls import LabelControls
from mrfstudio.ui.workspaces.image_workspace import ImageWorkspace


class LabelWorkspace(ImageWorkspace):
    """Every pixel or variable has one of a few labels."""

    always = ("belief", "histogram", "strip")

    def __init__(
        self,
        controller: Controller,
        settings: Settings,
        parent: QObject | None,
        layers: Sequence[Layer],
        labels: Sequence[str],
    ) -> None:
        self.labels = tuple(labels)
        self.panel = LabelControls(layers, labels)
        super().__init__(controller, settings, parent, self.panel, IterationStrip())

    def new_curves(self) -> QWidget:
        from mrfstudio.ui.workspaces.curves_panel import CurvesPanel

        return CurvesPanel(self.labels)

    def clear_hints(self) -> None:
        self.post(ClearLayer("hints"))
