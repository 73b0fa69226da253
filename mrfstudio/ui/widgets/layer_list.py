"""Which layers the canvas shows, and how strongly."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QSlider, QWidget

from mrfstudio.ui.canvas.layers import ARROWS, Layer, direction_names
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.elided import ElidedCheckBox
from mrfstudio.ui.words.lighting import stands_for

STEPS = 20


class LayerList(QWidget):
    """A check box and an opacity for each layer; the residual also has a direction."""

    changed = Signal()
    """Something about what is shown changed: read `visible()` and `direction`."""

    def __init__(self, layers: Sequence[Layer], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QCheckBox] = {}
        self._instead = {layer.name: layer.instead for layer in layers if layer.instead}
        self.sliders: dict[str, QSlider] = {}
        self.directions = ChoiceBox(14, self)
        self.directions.setAccessibleName("Direction of messages")
        self.directions.setToolTip("<b>Direction</b><br>Only messages that travel this way, or the largest of all.")
        self.directions.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.directions.activated.connect(lambda _: self.changed.emit())
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(px(self, 4))
        self._grid.setColumnStretch(0, 1)
        row = 0
        for layer in layers:
            self._add(layer, row)
            row += 1
            if layer.name == "residual":
                self._grid.addWidget(self.directions, row, 0, 1, 2)
                row += 1
        self.set_directions(8)
        self._enable()

    def visible(self) -> dict[str, float]:
        """The shown layers with their opacity in (0, 1]."""
        return {name: self.sliders[name].value() / STEPS for name, box in self.boxes.items() if box.isChecked()}

    @property
    def direction(self) -> int | None:
        """Which residual to show; None is the largest of all directions."""
        return self.directions.currentData()

    def set_shown(self, name: str, shown: bool) -> None:
        """Show or hide a layer, as a click would."""
        if name in self.boxes:
            self.boxes[name].setChecked(shown)

    def set_visible(self, visible: dict[str, float]) -> None:
        """Show exactly these layers; emits `changed` once."""
        for name, box in self.boxes.items():
            with QSignalBlocker(box), QSignalBlocker(self.sliders[name]):
                box.setChecked(name in visible)
                self.sliders[name].setValue(round(visible.get(name, 1.0) * STEPS))
        self._enable()
        self.changed.emit()

    def set_available(self, name: str, available: bool) -> None:
        """Leave a layer out while it has no meaning, such as the truth of a drawn picture."""
        self.boxes[name].setEnabled(available)
        self._enable()

    def set_directions(self, count: int) -> None:
        """How many directions messages travel in."""
        chosen = self.direction
        self.directions.clear()
        self.directions.addItem("All directions, the largest", None)
        for index, name in enumerate(direction_names(count)):
            self.directions.addItem(f"{ARROWS[name]}  travelling {name}", index)
        self.directions.setCurrentIndex(max(self.directions.findData(chosen), 0))

    def choose_direction(self, direction: int | None) -> None:
        """Choose a direction, as a click on its small map does."""
        self.directions.setCurrentIndex(0 if direction is None else direction + 1)
        self.changed.emit()

    def _add(self, layer: Layer, row: int) -> None:
        box = ElidedCheckBox(layer.title)
        box.setChecked(layer.shown)
        box.setToolTip(f"<b>{layer.title}</b><br>{layer.help}")
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(1, STEPS)
        slider.setValue(STEPS)
        slider.setFixedWidth(px(self, 72))
        slider.setAccessibleName(f"Opacity of {layer.title}")
        slider.setToolTip(f"<b>Opacity</b> of {layer.title.lower()}")
        slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.toggled.connect(lambda on, name=layer.name: self._toggled(name, on))
        slider.valueChanged.connect(lambda _: self.changed.emit())
        self._grid.addWidget(box, row, 0)
        self._grid.addWidget(slider, row, 1)
        self.boxes[layer.name], self.sliders[layer.name] = box, slider
        if layer.symbol:
            stands_for(box, layer.symbol)

    def _toggled(self, name: str, on: bool) -> None:
        group = self._instead.get(name)
        if on and group:
            for other in (each for each, word in self._instead.items() if word == group and each != name):
                with QSignalBlocker(self.boxes[other]):
                    self.boxes[other].setChecked(False)
        self._enable()
        self.changed.emit()

    def _enable(self) -> None:
        for name, box in self.boxes.items():
            self.sliders[name].setEnabled(box.isEnabled() and box.isChecked())
        residual = self.boxes.get("residual")
        # Hidden, not greyed out: it only matters for one layer, and the list is long enough.
        self.directions.setVisible(residual is not None and residual.isChecked())
