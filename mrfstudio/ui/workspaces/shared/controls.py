"""The right side of a workspace with a canvas: model and algorithm, the second lane, layers and legend, inspector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QGroupBox, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.canvas.layers import Layer
from mrfstudio.ui.plots.heat_map import DirectionMaps
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.lane_names import LETTERS
from mrfstudio.ui.widgets.layer_list import LayerList
from mrfstudio.ui.widgets.legend import Legend
from mrfstudio.ui.workspaces.segment.inspector import Inspector
from mrfstudio.ui.workspaces.shared.lane_manager import LaneManager
from mrfstudio.ui.workspaces.shared.model_panel import ModelPanel


class LaneControls(QWidget):
    """One column of groups; emits commands and says when other layers are wanted."""

    command = Signal(object)
    layers_changed = Signal()
    pair_changed = Signal(object)
    """Other lanes are to be shown side by side: see `LaneManager.pair`."""
    other_model = Signal()

    def __init__(
        self,
        layers: LayerList,
        legend: Legend,
        inspector: QWidget,
        below: Sequence[QWidget] = (),
        parent: QWidget | None = None,
    ) -> None:
        """`inspector` has `set_details`; `below` are shown between the list of layers and the legend."""
        super().__init__(parent)
        self._newest_edit = 0
        self._reveal = False
        self.first, self.second = ModelPanel(0), ModelPanel(1)
        self.layers, self.legend = layers, legend
        self._inspector = inspector
        self._column = QVBoxLayout(self)
        margin = px(self, 10)
        self._column.setContentsMargins(margin, margin, margin, margin)
        self._column.setSpacing(px(self, 10))
        self.lanes = LaneManager()
        self._group("Lanes", self.lanes)
        self.first_group = self._group("First lane", self.first)
        self.second_group = self._group("Second lane", self.second)
        self._group("Layers", self.layers, *below, self.legend)
        self._group("Inspector", inspector)
        self._column.addStretch(1)
        for panel in (self.first, self.second):
            panel.command.connect(self.command)
            panel.other_model.connect(self.other_model)
        self.lanes.command.connect(self.command)
        self.lanes.pair_changed.connect(self.pair_changed)
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
        for panel in (self.first, self.second, self.lanes):
            panel.on_loaded(engine, workspace)

    def set_frame(self, frame: Frame) -> None:
        """Show what the lanes run, and which layers have a meaning."""
        if frame.applied >= self._newest_edit:  # an older frame would pull a slider out of the hand
            self.lanes.set_frame(frame)
            shown = {lane.lane: lane for lane in frame.lanes}
            for panel, group, number in zip(
                (self.first, self.second), (self.first_group, self.second_group), self.lanes.pair, strict=True
            ):
                if number in shown:
                    panel.set_lane(shown[number], frame.lanes[0], frame.limits)
                    group.setTitle(f"Lane {LETTERS[number]}")
        truth = self.layers.boxes.get("truth")
        known = "truth" in frame.layers
        if truth is not None and truth.isEnabled() != known:
            self.layers.set_available("truth", known)

    def show_details(self, details: Mapping[str, object]) -> None:
        """What the engine says of the chosen pixel."""
        self._inspector.set_details(details)  # type: ignore[attr-defined]  # see __init__
        if details and self._reveal:
            self._reveal = False
            QTimer.singleShot(0, self._scroll_to_inspector)  # after the layout has made room for it

    def reveal_inspector(self) -> None:
        """Scroll to the inspector as soon as it has something to show."""
        self._reveal = True

    def _scroll_to_inspector(self) -> None:
        place = self.parentWidget()
        while place is not None and not isinstance(place, QScrollArea):
            place = place.parentWidget()
        if place is not None:
            place.ensureWidgetVisible(self._inspector)

    def posted(self, number: int) -> None:
        """An edit got this number; frames before it do not show it yet."""
        self._newest_edit = number

    def compare(self, on: bool) -> None:
        """Show the controls of the second lane."""
        self.second_group.setVisible(on)
        self.layers.set_available("difference", on)

    def add_model(self, note: ModelNote) -> None:
        for panel in (self.first, self.second):
            panel.add_model(note)


class LabelControls(LaneControls):
    """With the directions of the residual, and an inspector of labels and clones."""

    def __init__(self, layers: Sequence[Layer], labels: Sequence[str], parent: QWidget | None = None) -> None:
        self.directions, self.inspector = DirectionMaps(), Inspector()
        self.directions.hide()
        super().__init__(LayerList(layers), Legend(layers, labels), self.inspector, (self.directions,), parent)
        self.directions.chosen.connect(self.layers.choose_direction)

    def _layers_changed(self) -> None:
        self.directions.setVisible("residual" in self.layers.visible())
        self.directions.choose(self.layers.direction)
        super()._layers_changed()

    def set_frame(self, frame: Frame) -> None:
        super().set_frame(frame)
        if frame.lanes and not self.directions.isHidden():
            self.directions.set_residual(frame.lanes[0].pictures.get("residual"))
