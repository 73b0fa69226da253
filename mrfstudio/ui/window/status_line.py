"""The line at the bottom of the window: the state of the run, its speed, and where help is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.badge import Badge

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow

RATES_EVERY = 500  # milliseconds; faster numbers could not be read


class StatusLine(QObject):
    """Fills the window's status bar, and follows the shown workspace."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._last_rates: dict[str, float] = {}  # iterations a second of the newest run in each workspace
        bar = window.statusBar()
        bar.setSizeGripEnabled(False)
        self.badge, self.rates, self.help_label = Badge(), Rates(), QLabel("Help: F1")
        self.help_label.setToolTip(keyed("F1 shows every key; Shift+F1 explains what you click on."))
        margin = px(window, 8)
        self.badge.setContentsMargins(margin, 0, 0, 0)
        self.rates.setContentsMargins(0, 0, margin, 0)
        self.help_label.setContentsMargins(0, 0, margin, 0)
        bar.addWidget(self.badge, 1)
        bar.addPermanentWidget(self.rates)
        bar.addPermanentWidget(self.help_label)
        self._timer = QTimer(self, interval=RATES_EVERY)
        self._timer.timeout.connect(self.show_rates)
        self._timer.start()

    def show_words_of_workspace(self) -> None:
        """The state of a workspace that has no frames."""
        said = self._window.workspace.status()
        if said is not None:
            self.badge.set_words(*said)
            self.show_rates()

    def show_rates(self) -> None:
        """How quick the run is, or the last one was."""
        words = self._window.workspace.rates()
        if words is not None:
            self.rates.show_words(words)
            return
        controller = self._window.controller
        newest, name = controller.newest, controller.workspace
        if newest is not None and newest.iterations_per_second > 0:
            self._last_rates[name] = newest.iterations_per_second
        if newest is not None and newest.playing:
            self.rates.show_rates(newest.iterations_per_second, controller.frames_per_second)
        else:
            self.rates.show_last(self._last_rates.get(name, 0.0))

    def stop(self) -> None:
        """The window closes."""
        self._timer.stop()


class Rates(QLabel):
    """Iterations and frames a second, in a place wide enough for every number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setToolTip("How many iterations the engine computes and how many pictures the window shows each second.")

    def show_rates(self, iterations: float, frames: float) -> None:
        self.show_words(f"{iterations:.0f} iterations/s · {frames:.0f} frames/s")

    def show_last(self, iterations: float) -> None:
        """Nothing runs: most runs are over before a number could be read."""
        self.show_words(f"last run: {iterations:.0f} iterations/s" if iterations else "")

    def show_words(self, words: str) -> None:
        """Any other speed."""
        self.setText(words)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        room = self.fontMetrics().horizontalAdvance("88888 iterations/s · 888 frames/s")
        margins = self.contentsMargins()
        return QSize(room + margins.left() + margins.right(), hint.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()
