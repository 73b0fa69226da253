"""A stage for a projector: the canvas, one large plot, a caption, and nothing else.

Letters are as high as 24 points are on a screen of 1080 lines. Keys are shown as they are pressed, and the pointer has
a halo, so that a hall can follow. A lesson stands beside the canvas as slides, one for each step. Esc or F5 leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.words import Words
from mrfstudio.ui.graph_canvas.on_stage import StageGraph
from mrfstudio.ui.lessons.slide import Slide, SlideView
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import DARK, LIGHT
from mrfstudio.ui.style.theme import palette_of
from mrfstudio.ui.words.view import WordsView, plain_words

LINES, POINTS = 1080, 24
"""Letters of so many points on a screen of so many lines; larger screens have larger letters."""
DPI = 96.0
KEY_SHOWN = 1600  # milliseconds
HALO = 60.0  # design pixels across at 1080 lines
KEYS = "Space plays · . and , step · P other plot · T types a caption · Esc ends"
SLIDE_KEYS = "Left and Right turn slides · Enter shows it · digits answer · " + KEYS
WIDTHS = (5, 8)
"""Parts of the stage that the words of a lesson take, and what they are about."""
Key = Qt.Key


def letter_height(lines: int) -> int:
    """Pixels of the letters on a stage so many pixels high, for `QFont.setPixelSize`."""
    return round(POINTS * DPI / 72 * max(lines, LINES / 2) / LINES)


def growth(text: float) -> float:
    """How many times as large letters are for a person whose text is `text` times as large: half as much more.

    A line has to hold some words. Smaller text in the window is no wish for a hall.
    """
    return max(1.0, (1 + text) / 2)


class Halo(QWidget):
    """A bright ring around the pointer, above everything and in nobody's way."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.at: QPointF | None = None

    def move_to(self, at: QPointF | None) -> None:
        self.at = at
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.at is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius = HALO / 2 * self.height() / LINES
        painter.setBrush(QColor(255, 200, 0, 70))
        painter.setPen(QPen(QColor(224, 120, 0), max(3.0, radius / 9)))
        painter.drawEllipse(self.at, radius, radius)


class Stage(QWidget):
    """A window of its own. `canvas` and `plots` show the same as those of the workspace, larger."""

    left = Signal()
    typed_in = Signal(str)
    """A caption was typed; `set_words` may bring it back with its formulas."""
    went = Signal(int)
    """Steps of the lesson to go: 1 forward, -1 back."""
    answer_wanted = Signal()
    picked = Signal(int)

    def __init__(
        self,
        canvas: QWidget,
        plots: Sequence[Plot],
        slide: Slide | None = None,
        keys: dict[str, Callable[[], None]] | None = None,
        text: float = 1.0,
    ) -> None:
        """`keys` are actions by the letter that does them; `text` is how large a person wants letters, 1 as usual."""
        super().__init__(None, Qt.WindowType.Window)
        self.canvas, self.plots = canvas, list(plots)
        self.shown_plot: Plot | None = None
        self._chosen_plot = False  # somebody pressed P: nothing else changes it then
        self._palette = self.palette()
        self._keys = keys or {}
        self._growth = growth(text)
        self.setWindowTitle("MRF Studio on stage")
        self.setObjectName("stage")
        self.caption, self.typed, self.pressed = WordsView("heading"), QLineEdit(), QLabel(self)
        self.pressed.setProperty("role", "key")
        self.pressed.hide()
        self.caption.hide()
        self.typed.hide()
        self.typed.setAccessibleName("Caption")
        self.typed.returnPressed.connect(self._take_typed)
        self.slide = SlideView()
        self._sights = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._sights.addWidget(canvas, 3)
        for plot in self.plots:
            self._sights.addWidget(plot, 2)
            plot.hide()
            plot.content.changed.connect(self._pick_plot)
        row = QHBoxLayout()
        row.addWidget(self.slide, WIDTHS[0])
        row.addLayout(self._sights, WIDTHS[1])
        column = QVBoxLayout(self)
        column.addWidget(self.caption)
        column.addWidget(self.typed)
        column.addLayout(row, 1)
        self.halo = Halo(self)
        self._hide_key = QTimer(self, singleShot=True, interval=KEY_SHOWN)
        self._hide_key.timeout.connect(self.pressed.hide)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.set_slide(slide)
        self._pick_plot()
        self._watch(self)

    def _watch(self, widget: QWidget) -> None:
        """See the pointer wherever it is."""
        for each in (widget, *widget.findChildren(QWidget)):
            each.setMouseTracking(True)
            each.installEventFilter(self)

    # Looks ------------------------------------------------------------------------------------------------------------

    def dress(self, dark: bool) -> None:
        """Black on white, or white on black; colours are those of the theme."""
        colours = DARK if dark else LIGHT
        palette = palette_of(colours)
        ground, ink = (QColor("#000000"), QColor("#ffffff")) if dark else (QColor("#ffffff"), QColor("#000000"))
        for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Base):
            palette.setColor(role, ground)
        for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
            palette.setColor(role, ink)
        self._palette = palette
        self._dress_all()
        self.setAutoFillBackground(True)
        line, room = "border: 2px solid", "border-radius: 6px; padding: 4px 10px;"
        self.setStyleSheet(
            f"QWidget#stage, QLabel {{ background: {ground.name()}; color: {ink.name()}; }}"
            f'QLabel[role="praise"] {{ color: {colours.good}; }} QLabel[role="muted"] {{ color: {colours.muted}; }}'
            f'QLabel[role="choice"] {{ {line} {colours.border}; {room} }}'
            f'QLabel[role="picked"] {{ {line} {colours.accent}; {room} }}'
        )

    def _dress_all(self) -> None:
        """Palettes and letters do not go down by themselves where there is a stylesheet."""
        font = QFont(self.font())
        font.setPixelSize(round(letter_height(self.height()) * self._growth))
        self.setFont(font)
        if isinstance(self.canvas, StageGraph):
            self.canvas.grow(self._growth)
        for plot in self.plots:
            plot.full_contrast = True
        canvas = (self.canvas, *self.canvas.findChildren(QWidget))
        for widget in (self, *canvas, *self.plots):
            widget.setPalette(self._palette)
        for widget in (self.typed, self.pressed, *canvas, *self.plots):
            widget.setFont(font)
        self.slide.dress(font, self._palette)
        bold = QFont(font)
        bold.setBold(True)
        self.caption.set_letters(bold, self._palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._dress_all()  # the first look at a stylesheet gives some of them the window's

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._dress_all()
        self.halo.resize(self.size())
        self.halo.raise_()
        self._place_key()

    def _place_key(self) -> None:
        self.pressed.adjustSize()
        margin = letter_height(self.height()) // 2
        self.pressed.move(margin, self.height() - self.pressed.height() - margin)

    # What is shown ----------------------------------------------------------------------------------------------------

    def set_frame(self, frame: Frame) -> None:
        show = getattr(self.canvas, "set_frame", None)
        if show is not None:
            show(frame)

    def set_slide(self, slide: Slide | None) -> None:
        """Another step of the lesson, or another state of it; None takes the words away."""
        self.slide.setVisible(slide is not None)
        upright = slide is not None  # words at the left leave less width than height
        self._sights.setDirection(QBoxLayout.Direction.TopToBottom if upright else QBoxLayout.Direction.LeftToRight)
        if slide is not None:
            self.slide.set_slide(slide)
            self._watch(self.slide)

    def set_words(self, words: Words) -> None:
        """What the hall reads above everything; nothing takes the line away."""
        self.caption.set_words(words)
        self.caption.setVisible(bool(words.source))
        self._dress_all()
        self._watch(self.caption)

    def _pick_plot(self) -> None:
        """The first plot that has anything to show, until somebody chooses another."""
        if not self._chosen_plot:
            self._show_plot(next((plot for plot in self.plots if plot.content.anything), None))

    def _show_plot(self, plot: Plot | None) -> None:
        if plot is not self.shown_plot:
            self.shown_plot = plot
            for each in self.plots:
                each.setVisible(each is plot)
            self._dress_all()

    def next_plot(self) -> None:
        """The next plot with something in it, and after the last one none."""
        self._chosen_plot = True
        order = [*(plot for plot in self.plots if plot.content.anything), None]
        at = order.index(self.shown_plot) if self.shown_plot in order else -1
        self._show_plot(order[(at + 1) % len(order)])

    def type_caption(self) -> None:
        """Let a person write what the hall is to read."""
        self.typed.setText(self.caption.text())
        self.typed.show()
        self.typed.setFocus()

    def _take_typed(self) -> None:
        self.typed.hide()
        self.setFocus()
        self.set_words(plain_words(self.typed.text()))
        self.typed_in.emit(self.typed.text())

    def show_key(self, words: str) -> None:
        """Say which key was pressed, for a while."""
        self.pressed.setText(words)
        self._place_key()
        self.pressed.show()
        self.pressed.raise_()
        self._hide_key.start()

    # Hands ------------------------------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseMove and isinstance(event, QMouseEvent):
            self.halo.move_to(QPointF(self.mapFromGlobal(event.globalPosition())))
            self.halo.raise_()
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and watched is not self.typed:
            return self._press(event)
        return False

    def _press(self, event: QKeyEvent) -> bool:
        found = self._slide_action(event) if self.slide.isVisible() else None
        own: dict[int, tuple[str, Callable[[], None]]] = {
            Key.Key_Escape: ("Esc", self.close_stage),
            Key.Key_F5: ("F5", self.close_stage),
            Key.Key_P: ("P", self.next_plot),
            Key.Key_T: ("T", self.type_caption),
        }
        found = found or own.get(event.key())
        if found is None and event.text() in self._keys:
            found = "Space" if event.text() == " " else event.text(), self._keys[event.text()]
        if found is None:
            return False
        self.show_key(found[0])
        found[1]()
        return True

    def _slide_action(self, event: QKeyEvent) -> tuple[str, Callable[[], None]] | None:
        """What a key does to the lesson. Clickers send Page Down and Page Up."""
        slide, key = self.slide.slide, event.key()
        if slide is None:
            return None
        if key in (Key.Key_Right, Key.Key_PageDown):
            return "→", lambda: None if slide.last else self.went.emit(1)
        if key in (Key.Key_Left, Key.Key_PageUp):
            return "←", lambda: self.went.emit(-1)
        if key in (Key.Key_Return, Key.Key_Enter):
            return "Enter", self.answer_wanted.emit
        if key in (Key.Key_Up, Key.Key_Down):
            down = key == Key.Key_Down
            return "↓" if down else "↑", lambda: self.slide.turn(1 if down else -1)
        number = key - Key.Key_1
        if slide.picked is None and 0 <= number < len(slide.choices):
            return str(number + 1), lambda: self.picked.emit(number)
        return None

    def close_stage(self) -> None:
        self._hide_key.stop()
        self.left.emit()
        self.close()
