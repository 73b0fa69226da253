"""What workspaces with labels share beyond the canvas: label layers, hints and the histogram of marginals."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.commands import ClearLayer
from mrfstudio.ui.canvas.layers import Layer
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.widgets.iteration_strip import IterationStrip
from mrfstudio.ui.window.actions import CLEAR_HINTS, ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView
from mrfstudio.ui.workspaces.shared.controls import LabelControls


class LabelView(CanvasView):
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

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            **super().action_handlers(),
            CLEAR_HINTS: self.clear_hints,
        }

    def new_curves(self) -> QWidget:
        from mrfstudio.ui.plots.curves import CurvesPanel

        return CurvesPanel(self.labels)

    def clear_hints(self) -> None:
        self.post(ClearLayer("hints"))
