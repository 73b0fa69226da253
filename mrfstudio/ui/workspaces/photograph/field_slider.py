"""From the network alone to network and field: one slider that shows what neighbours add."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QWidget

from mrfstudio.engine.protocol.commands import SetParameter
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.style.theme import px

STEPS = 100
HELP = (
    "<b>What the field adds</b><br>At the left each pixel is decided by its own scores: colour, distance to your "
    "strokes, and a network where there is one. To the right neighbours count more and more."
)


class FieldSlider(QWidget):
    """Emits `SetParameter` for every lane that is shown; one drag is one step of undo."""

    command = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lanes: tuple[int, ...] = (0,)
        self._gesture = 0
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, STEPS)
        self.slider.setValue(STEPS)
        self.slider.setAccessibleName("From network alone to network and field")
        self.slider.setMaximumWidth(px(self, 420))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(QLabel("Network alone"))
        row.addWidget(self.slider, 4)
        row.addWidget(QLabel("Network and field"))
        row.addStretch(1)
        for widget in (self, self.slider):
            widget.setToolTip(HELP)
        self.slider.sliderPressed.connect(self._begin)
        self.slider.sliderReleased.connect(self._end)
        self.slider.valueChanged.connect(self._moved)

    def _begin(self) -> None:
        self._gesture = next_gesture()

    def _end(self) -> None:
        self._gesture = 0

    def _moved(self, position: int) -> None:
        for lane in self._lanes:
            self.command.emit(SetParameter(lane, "field", position / STEPS, self._gesture))

    def set_frame(self, frame: Frame) -> None:
        """Show the first lane's value."""
        with_field = [lane for lane in frame.lanes if "field" in lane.parameters]
        self._lanes = tuple(lane.lane for lane in with_field)
        if with_field and not self.slider.isSliderDown():
            with QSignalBlocker(self.slider):
                self.slider.setValue(round(STEPS * float(with_field[0].parameters["field"])))
