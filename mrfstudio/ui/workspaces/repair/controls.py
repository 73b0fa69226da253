"""The right side of the Repair workspace: finding damage, then what every workspace with a canvas has."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSlider, QVBoxLayout, QWidget

from mrfstudio.ui.widgets.layer_list import LayerList
from mrfstudio.ui.widgets.legend import Legend
from mrfstudio.ui.workspaces.repair.layers import LAYERS
from mrfstudio.ui.workspaces.shared.controls import LaneControls

STEPS = 10
"""Of the slider for one deviation."""
LOWEST, HIGHEST, USUAL = 2, 20, 6
EMPTY = "Click a pixel with the Inspect tool (I) to see what fills it and how sure that is."


class DamagePanel(QWidget):
    """Finds dust and scratches, draws another picture, holds a component."""

    sought = Signal(float)
    drawn = Signal()
    released = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.threshold = QSlider(Qt.Orientation.Horizontal)
        self.threshold.setRange(LOWEST * STEPS, HIGHEST * STEPS)
        self.threshold.setValue(USUAL * STEPS)
        self.threshold.setAccessibleName("How improbable dust is")
        self.value = QLabel()
        self.find_button, self.draw_button = QPushButton("Find"), QPushButton("Draw again")
        self.release_button = QPushButton("Let go")
        self.held = QLabel("Any component may fill in.", wordWrap=True)
        help = "How many deviations a pixel lies from what its surroundings say. Lower finds more."
        self.threshold.setToolTip(f"<b>Dust and scratches</b><br>{help}")
        self.find_button.setToolTip("<b>Find</b> (U)<br>Paint over dust and scratches: one step of undo.")
        self.draw_button.setToolTip("<b>Draw again</b> (M)<br>Another picture that the model finds probable.")
        self.release_button.setToolTip("<b>Let go</b><br>Any component may fill in again.")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(QLabel("Dust and scratches"), 0, 0, 1, 2)
        grid.addWidget(self.find_button, 0, 2)
        grid.addWidget(self.threshold, 1, 0, 1, 2)
        grid.addWidget(self.value, 1, 2)
        grid.addWidget(self.held, 2, 0, 1, 2)
        grid.addWidget(self.release_button, 2, 2)
        grid.addWidget(self.draw_button, 3, 2)
        grid.setColumnStretch(0, 1)
        self.release_button.setEnabled(False)
        self.threshold.valueChanged.connect(self._show_value)
        self.find_button.clicked.connect(lambda: self.sought.emit(self.chosen))
        self.draw_button.clicked.connect(self.drawn)
        self.release_button.clicked.connect(self.released)
        self._show_value()

    @property
    def chosen(self) -> float:
        """The threshold in deviations."""
        return self.threshold.value() / STEPS

    def _show_value(self) -> None:
        self.value.setText(f"above {self.chosen:.1f} σ")

    def show_held(self, component: int | None) -> None:
        """Say which component is held."""
        free = "Any component may fill in."
        self.held.setText(free if component is None else f"Component {component} fills in everything.")
        self.release_button.setEnabled(component is not None)


class RepairInspector(QWidget):
    """What fills a pixel, and how sure that is."""

    hold = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = QLabel(EMPTY, wordWrap=True)
        self.button = QPushButton("Hold this component")
        self.button.setToolTip(
            "<b>Hold this component</b><br>It fills in everything: watch what changes. Of an RBM it is a hidden unit."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.text)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self._component: int | None = None
        self.button.clicked.connect(self._hold)
        self.set_details({})

    def _hold(self) -> None:
        if self._component is not None:
            self.hold.emit(self._component)

    def set_details(self, details: Mapping[str, object]) -> None:
        """`pixel`, `colour`, `damaged` and, of a filled pixel, `repaired`, `deviation`, `component`."""
        pixel, component = details.get("pixel"), details.get("component")
        self._component = component if isinstance(component, int) and component >= 0 else None
        self.button.setVisible(self._component is not None)
        if not isinstance(pixel, tuple):
            self.text.setText(EMPTY)
            return
        lines = [f"<b>Pixel</b> row {pixel[0]}, column {pixel[1]}", f"Photograph {_rgb(details.get('colour'))}"]
        if "repaired" in details:
            lines.append(f"Repaired {_rgb(details['repaired'])} ± {float(str(details['deviation'])):.0f}")
            lines.append(f"Filled in by component {component}")
        elif details.get("damaged"):
            lines.append("Damaged; its answer is on the way")
        self.text.setText("<br>".join(lines))


def _rgb(colour: object) -> str:
    return ", ".join(map(str, colour)) if isinstance(colour, tuple) else "unknown"


class RepairControls(LaneControls):
    """Damage comes first: it is what a person does most."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.inspector = RepairInspector()
        super().__init__(LayerList(LAYERS), Legend(LAYERS, ()), self.inspector, (), parent)
        self.damage = DamagePanel()
        group = self._group("Damage", self.damage)
        self._column.removeWidget(group)
        self._column.insertWidget(0, group)
