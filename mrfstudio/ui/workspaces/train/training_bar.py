"""Start, pause, step, stop, how far a run is, and the way to the other workspaces."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.training import RunNote
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.icons import icon, tinted
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided

PAUSE_HELP = "Let the run wait, or go on with it. (Space)"
PAUSE_TIP = f"<b>Pause</b><br>{PAUSE_HELP}"
MORE = "More time"
MORE_HELP = "Go on with this run, though it has ended, for as many minutes as the plan at the right says."
STATES = {
    "planned": "planned",
    "running": "running",
    "paused": "paused",
    "finished": "finished",
    "stopped": "stopped",
    "time": "time is up",
    "early": "stopped early",
    "diverged": "diverged",
    "failed": "failed",
    "interrupted": "interrupted",
    "damaged": "damaged",
}


class TrainingBar(QWidget):
    """One row of buttons above a line that says how far the run is. Emits what was pressed."""

    start = Signal()
    toggle = Signal()
    step = Signal()
    stop = Signal()
    use = Signal()
    more = Signal()
    """More time for a run that has ended."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start_button = QPushButton("Start")
        self.start_button.setDefault(True)  # its colour: the one thing to press here
        self.start_button.setToolTip(keyed("Begin a new run with the plan at the right. (Ctrl+Return)"))
        self.pause_button = self._button("pause", "Pause", PAUSE_HELP)
        self.step_button = self._button("step-forward", "One batch", "Compute one batch and wait. (Full stop)")
        self.stop_button = self._button("stop", "Stop", "End the run after this batch; the best model is kept.")
        self.use_button = QPushButton("Use this model now")
        self.use_button.setToolTip(
            keyed("Hand the parameters that are shown to the other workspaces, under the run's name. (Ctrl+U)")
        )
        self.words, self.progress = Elided(), ProgressLine()
        self.words.setAccessibleName("Progress")
        buttons = QHBoxLayout()
        buttons.setSpacing(px(self, 6))
        for widget in (self.start_button, self.pause_button, self.step_button, self.stop_button):
            buttons.addWidget(widget)
        buttons.addSpacing(px(self, 8))
        buttons.addWidget(self.words, 1)
        buttons.addWidget(self.use_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 6))
        column.addLayout(buttons)
        column.addWidget(self.progress)
        for button, signal in (
            (self.start_button, self.start),
            (self.pause_button, self._toggled),
            (self.step_button, self.step),
            (self.stop_button, self.stop),
            (self.use_button, self.use),
        ):
            button.clicked.connect(signal)
        self._paused_shown = self._ended = False
        self._follow_theme()
        self.set_state(None, None, False)

    def _button(self, picture: str, name: str, help: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(picture)
        button.setText(name)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setAccessibleName(name)
        button.setToolTip(f"<b>{name}</b><br>{help}")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def set_state(
        self,
        active: RunNote | None,
        shown: RunNote | None,
        ready: bool,
        snapshots: int = 0,
        stopping: bool = False,
    ) -> None:
        """Which buttons make sense: `active` is the run that goes on here, `shown` the one that is looked at."""
        obeys = active is not None and not stopping
        self.start_button.setEnabled(active is None and ready)
        resumable = active is None and shown is not None and shown.resumable and not shown.elsewhere
        ended = active is None and shown is not None and shown.extendable and not shown.elsewhere
        self.pause_button.setEnabled(obeys or resumable or ended)
        self.step_button.setEnabled(obeys)
        self.stop_button.setEnabled(obeys)
        self.use_button.setEnabled(shown is not None and (snapshots > 0 or shown.step > 0))
        waiting = resumable or ended or (active is not None and active.state == "paused")
        if (waiting, ended) != (self._paused_shown, self._ended):
            self._paused_shown, self._ended = waiting, ended
            self.pause_button.setText(MORE if ended else "Resume" if waiting else "Pause")
            self.pause_button.setAccessibleName(self.pause_button.text())
            self.pause_button.setToolTip(f"<b>{MORE}</b><br>{MORE_HELP}" if ended else PAUSE_TIP)
            self._follow_theme()

    def _toggled(self) -> None:
        (self.more if self._ended else self.toggle).emit()

    def set_narrow(self, narrow: bool) -> None:
        """Pictures alone where there is no room for words; tool tips have them."""
        style = Qt.ToolButtonStyle
        for button in (self.pause_button, self.step_button, self.stop_button):
            button.setToolButtonStyle(style.ToolButtonIconOnly if narrow else style.ToolButtonTextBesideIcon)
        self._follow_theme()

    def set_words(self, words: str, part: float | None, help: str = "") -> None:
        """The line of progress; `part` in [0, 1], None where nothing runs."""
        self.words.set_words(words, help)
        self.progress.set_part(part)

    def _follow_theme(self) -> None:
        size = QSize(px(self, 18), px(self, 18))
        for button in (self.pause_button, self.step_button, self.stop_button):
            name = "play" if button is self.pause_button and self._paused_shown else button.objectName()
            button.setIcon(icon(name, self))
            button.setIconSize(size)
        colours = colours_of(self)
        self.start_button.setIcon(tinted("play", colours.accent_text, colours.outline))
        # The longest of its words: nothing moves when Pause becomes Resume.
        room = max(self.fontMetrics().horizontalAdvance(word) for word in ("Pause", "Resume", MORE))
        narrow = self.pause_button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
        self.pause_button.setMinimumWidth(0 if narrow else room + size.width() + px(self, 26))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._follow_theme()


class ProgressLine(QWidget):
    """A thin line that fills from left to right; it keeps its place when there is nothing to show."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.part: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Part of the run that is done")

    def set_part(self, part: float | None) -> None:
        if part != self.part:
            self.part = part
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 100), px(self, 4))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(colours.border))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if self.part:
            painter.setBrush(QColor(colours.accent))
            painter.drawRoundedRect(QRectF(0, 0, self.width() * min(self.part, 1.0), self.height()), 2, 2)


def duration(seconds: float) -> str:
    """`3 min 20 s` for a person."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
