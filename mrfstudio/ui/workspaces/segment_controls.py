"""The right side of Segment: model and algorithm, the second lane, layers with their legend, inspector."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGroupBox, QVBoxLayout, QWidget

from mrfstudio.engine.frames import Frame, Loaded, ModelNote
from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.panels.layer_list import LayerList
from mrfstudio.ui.panels.legend import Legend
from mrfstudio.ui.theme import px
from mrfstudio.ui.workspaces.model_panel import ModelPanel


class SegmentControls(QWidget):
    """One column of groups; emits commands and says when other layers are wanted."""

    command = Signal(object)
    layers_changed = Signal()
    other_model = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.first, self.second = ModelPanel(0), ModelPanel(1)
        self.layers, self.legend = LayerList(SEGMENT_LAYERS), Legend(SEGMENT_LAYERS)
        self._column = QVBoxLayout(self)
        margin = px(self, 10)
        self._column.setContentsMargins(margin, margin, margin, margin)
        self._column.setSpacing(px(self, 10))
        self._column.addWidget(self.first)
        self.second_group = self._group("Second lane", self.second)
        self._group("Layers", self.layers, self.legend)
        self._column.addStretch(1)
        for panel in (self.first, self.second):
            panel.command.connect(self.command)
            panel.other_model.connect(self.other_model)
        self.layers.changed.connect(self._layers_changed)
        self.compare(False)

    def _group(self, title: str, *widgets: QWidget) -> QGroupBox:
        group = QGroupBox(title)
        column = QVBoxLayout(group)
        column.setContentsMargins(0, px(self, 4), 0, 0)
        for widget in widgets:
            column.addWidget(widget)
        self._column.addWidget(group)
        return group

    def _layers_changed(self) -> None:
        self.legend.set_visible_layers(self.layers.visible())
        self.layers_changed.emit()

    @property
    def models(self) -> list[str]:
        """The names of the models that can be chosen."""
        return self.first.models

    def on_loaded(self, engine: Loaded, workspace: str) -> None:
        for panel in (self.first, self.second):
            panel.on_loaded(engine, workspace)

    def set_frame(self, frame: Frame) -> None:
        """Show what the lanes run, and which layers have a meaning."""
        for panel, lane in zip((self.first, self.second), frame.lanes, strict=False):
            panel.set_lane(lane)
        known = "truth" in frame.layers
        if self.layers.boxes["truth"].isEnabled() != known:
            self.layers.set_available("truth", known)

    def compare(self, on: bool) -> None:
        """Show the controls of the second lane."""
        self.second_group.setVisible(on)
        self.layers.set_available("difference", on)

    def add_model(self, note: ModelNote) -> None:
        for panel in (self.first, self.second):
            panel.add_model(note)
