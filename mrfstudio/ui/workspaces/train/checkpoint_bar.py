"""A slider over the snapshots of a run, and whether it follows the newest one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QToolButton, QWidget

from mrfstudio.ui.style.theme import px


class CheckpointBar(QWidget):
    """Emits the step to look at. While `following`, that is always the newest."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.steps: tuple[int, ...] = ()
        self.step = 0
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setToolTip(
            "<b>Look back</b><br>Drag to see the same queries answered by the model of an earlier step."
        )
        self.slider.setAccessibleName("Snapshot")
        self.slider.setPageStep(5)
        self.slider.valueChanged.connect(self._slid)
        self.label = QLabel()
        self.label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.follow = QToolButton()
        self.follow.setText("Newest")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.setToolTip("Always show the newest snapshot; dragging the slider switches this off.")
        self.follow.setAccessibleName("Follow the newest snapshot")
        self.follow.toggled.connect(self._follow_toggled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(px(self, 8))
        self._heading = QLabel("Snapshots")
        row.addWidget(self._heading)
        row.addWidget(self.slider, 1)
        row.addWidget(self.label)
        row.addWidget(self.follow)
        self._show()

    @property
    def following(self) -> bool:
        return self.follow.isChecked()

    @property
    def dragged(self) -> bool:
        """Whether somebody holds the slider."""
        return self.slider.isSliderDown()

    def set_narrow(self, narrow: bool) -> None:
        """Without the word in front."""
        self._heading.setHidden(narrow)

    def set_steps(self, steps: Sequence[int]) -> None:
        """The snapshots there are; asks for the newest if it is followed."""
        steps = tuple(steps)
        if steps == self.steps:
            return
        self.steps = steps
        if steps and (self.following or self.step not in steps):
            self.go_to(steps[-1] if self.following else self._nearest(self.step))
        self._show()

    def clear(self) -> None:
        """Another run: nothing is known of it yet."""
        self.steps, self.step = (), -1
        with QSignalBlocker(self.follow):
            self.follow.setChecked(True)
        self._show()

    def go_to(self, step: int) -> None:
        """Look at a snapshot."""
        self.step = step
        self._show()
        self.chosen.emit(step)

    def go_near(self, step: int) -> None:
        """Look at the last snapshot that is not after a step: a click on a curve. The newest is then followed."""
        if self.steps:
            nearest = self._nearest(step)
            with QSignalBlocker(self.follow):
                self.follow.setChecked(nearest == self.steps[-1])
            self.go_to(nearest)

    def _nearest(self, step: int) -> int:
        return self.steps[max(bisect_right(self.steps, step) - 1, 0)]

    def _slid(self, index: int) -> None:
        if 0 <= index < len(self.steps) and self.steps[index] != self.step:
            with QSignalBlocker(self.follow):
                self.follow.setChecked(index == len(self.steps) - 1)
            self.go_to(self.steps[index])

    def _follow_toggled(self, on: bool) -> None:
        if on and self.steps:
            self.go_to(self.steps[-1])

    def _show(self) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, max(len(self.steps) - 1, 0))
            if self.step in self.steps:
                self.slider.setValue(self.steps.index(self.step))
        self.slider.setEnabled(len(self.steps) > 1)
        self.follow.setEnabled(bool(self.steps))
        number = self.steps.index(self.step) + 1 if self.step in self.steps else 0
        self.label.setText(f"step {self.step:,} ({number} of {len(self.steps)})" if number else "none yet")
        self.label.setMinimumWidth(self.label.fontMetrics().horizontalAdvance("step 888,888 (88 of 88)"))
