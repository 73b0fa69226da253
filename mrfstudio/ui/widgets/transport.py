"""Play, pause, step, scrub, speed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QToolButton, QWidget

from mrfstudio.engine.protocol.commands import Pause, Play, Restart, Scrub, SetSpeed, Step
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import px

SPEEDS: tuple[float | None, ...] = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 200.0, None)
DEFAULT_LIMIT = 15


class TransportBar(QWidget):
    """One row above the canvas. Emits transport commands; `set_frame` shows where the run is."""

    command = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._end = DEFAULT_LIMIT
        self._newest = 0
        self._oldest = 0
        self._iteration = 0
        self._playing = self._narrow = False
        self.restart = self._button("restart", "Restart", "Restart with the same evidence and the same seed.")
        self.back = self._button("step-back", "Step back", "Go back one iteration; messages are restored too.", ",")
        self.play = self._button("play", "Play", "Run iteration after iteration, or pause.", "Space")
        self.forward = self._button("step-forward", "Step", "Compute one iteration.", ".")
        self.slider = self._slider()
        self.counter = QLabel()
        self.counter.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.counter.setAccessibleName("Iteration")
        self.speed = self._speed()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (self.restart, self.back, self.play, self.forward):
            row.addWidget(widget)
        row.addWidget(self.slider, 1)
        row.addWidget(self.counter)
        row.addWidget(self.speed)
        self._connect()
        self._follow_theme()
        self._show()

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_frame(self, frame: Frame) -> None:
        """Show where the run is, how far it can go back, and where it will stop by itself."""
        end = max((lane.base + lane.limit for lane in frame.lanes), default=DEFAULT_LIMIT)
        self.set_state(frame.iteration, frame.playing, frame.oldest, frame.newest, end)
        self.set_speed(frame.speed)

    def set_state(
        self, iteration: int, playing: bool, oldest: int = 0, newest: int | None = None, end: int = DEFAULT_LIMIT
    ) -> None:
        """Show an iteration, whether the run goes on by itself, which iterations exist and where it would end."""
        was_playing, self._playing = self._playing, playing
        self._iteration, self._oldest = iteration, oldest
        self._newest = iteration if newest is None else newest
        self._end = end
        if was_playing != playing:
            self._show_play()
        self._show()

    def set_speed(self, iterations_per_second: float | None) -> None:
        """Show a speed that was set elsewhere."""
        if self.speed.currentData() != iterations_per_second:
            self.speed.setCurrentIndex(self.speed.findData(iterations_per_second))

    def set_narrow(self, narrow: bool) -> None:
        """Fewer words where there is little room."""
        if narrow != self._narrow:
            self._narrow = narrow
            for index, speed in enumerate(SPEEDS):
                self.speed.setItemText(index, spoken(speed, narrow))
            self._follow_theme()
            self._show()

    def toggle_play(self) -> None:
        """Play, or pause: what Space does."""
        self.command.emit(Pause() if self._playing else Play())

    # Inside -----------------------------------------------------------------------------------------------------------

    def _button(self, picture: str, name: str, help: str, key: str = "") -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(picture)
        button.setAccessibleName(name)
        button.setToolTip(f"<b>{name}</b>{f' ({key})' if key else ''}<br>{help}")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus, and so the keys, with the canvas
        button.setAutoRepeat(name.startswith("Step"))
        return button

    def _slider(self) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal, self)
        slider.setAccessibleName("Iteration")
        slider.setToolTip("<b>Scrub</b><br>Drag to any iteration; the run pauses there.")
        slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        slider.setPageStep(5)
        return slider

    def _speed(self) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName("Speed")
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        box.setToolTip("<b>Speed</b><br>How many iterations are shown each second while playing.")
        for speed in SPEEDS:
            box.addItem(spoken(speed, False), speed)
        box.setCurrentIndex(len(SPEEDS) - 1)
        box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return box

    def _connect(self) -> None:
        self.restart.clicked.connect(lambda: self.command.emit(Restart()))
        self.back.clicked.connect(lambda: self.command.emit(Step(-1)))
        self.play.clicked.connect(self.toggle_play)
        self.forward.clicked.connect(lambda: self.command.emit(Step(1)))
        self.slider.valueChanged.connect(self._scrubbed)
        self.speed.activated.connect(lambda index: self.command.emit(SetSpeed(self.speed.itemData(index))))

    def _scrubbed(self, iteration: int) -> None:
        if iteration > self._newest:  # nothing was computed there: the handle stops at the newest iteration
            with QSignalBlocker(self.slider):
                self.slider.setValue(self._newest)
            iteration = self._newest
        if iteration != self._iteration:
            self.command.emit(Scrub(iteration))
        self._show_counter(iteration)

    @property
    def last(self) -> int:
        """The right end of the slider: where the run will stop, or where it has come to."""
        return max(self._end, self._newest, 1)

    def _show(self) -> None:
        if not self.slider.isSliderDown():  # the hand on the slider wins over frames
            with QSignalBlocker(self.slider):
                self.slider.setRange(self._oldest, self.last)
                self.slider.setValue(self._iteration)
            self._show_counter(self._iteration)
        self.back.setEnabled(self._iteration > self._oldest)

    def _show_counter(self, iteration: int) -> None:
        self.counter.setText(f"{'' if self._narrow else 'iteration '}{iteration} / {self.last}")

    def _show_play(self) -> None:
        name = "Pause" if self._playing else "Play"
        self.play.setIcon(icon(name.lower(), self))
        self.play.setAccessibleName(name)

    def _follow_theme(self) -> None:
        size = QSize(px(self, 20), px(self, 20))
        for button in (self.restart, self.back, self.play, self.forward):
            button.setIcon(icon(button.objectName(), self))
            button.setIconSize(size)
        self._show_play()
        # Room for the longest text: nothing moves while the numbers grow.
        longest = "8888 / 8888" if self._narrow else "iteration 88888 / 88888"
        room = self.counter.fontMetrics().horizontalAdvance(longest)
        self.counter.setMinimumWidth(room + px(self, 4))
        self.slider.setMinimumWidth(px(self, 40))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._follow_theme()


def spoken(speed: float | None, narrow: bool) -> str:
    """A number of iterations a second in words, or in as few as are understood."""
    if speed is None:
        return "full" if narrow else "full speed"
    return f"{speed:g} / s" if narrow else f"{speed:g} a second"
