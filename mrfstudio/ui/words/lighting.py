"""What a symbol of an equation stands for beside the canvas: a plot, tiles, the slider of a parameter.

A widget says which symbols it stands for (`stands_for`); rows of parameters are found by their topic. Where the
canvas has no place for a symbol, these light up; a symbol that nothing on screen stands for says so in its tool tip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDockWidget, QScrollArea, QWidget
from shiboken6 import isValid

from mrfstudio.engine.protocol.words import SYMBOLS
from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.symbols import symbol_colours
from mrfstudio.ui.words.topics import TOPIC

STANDS_FOR = "stands for"
NEAR = 3
"""How far up a folded row looks for something that can be seen."""
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    r"\alpha": ("alpha",),
    "d": ("damping",),
    "T": ("temperature",),
    r"\beta": ("coupling",),
    "f": ("field",),
    "w": ("smoothness",),
    r"\eta": ("learning_rate",),
    r"\eta_t": ("decay",),
    r"\lambda": ("penalty",),
    "n": ("iterations",),
    "k": ("steps",),
    r"\varepsilon": ("tolerance", "strength"),
}
"""The letters of numbers that a person sets, and the parameters that they are."""
ELSEWHERE: Mapping[str, str] = {
    "hidden": "The panels of clones and of hidden units show it, and Train the inside of a model.",
    "energy": "The curve of the free energy shows it, where the algorithm has one.",
    "message": "Messages are seen on graphs and between pixels, in Converge, Segment and Photograph.",
    "coupling": "Of a model with hidden units, their panel shows it; of others the canvas does.",
    "evidence": "Give some on the canvas to see it.",
    "control": "It is a parameter of another algorithm or learner than the one that is chosen.",
}
"""Where to look for what is not on screen."""


@dataclass
class Pointed:
    """A symbol that is pointed at. Who lights something for it says so."""

    symbol: str
    letter: str = ""
    """As it is written, such as `\\alpha`: which number it is of those that a person sets."""
    seen: bool = False

    def words(self) -> str:
        """For a tool tip: what it stands for, and where that is if it cannot be seen."""
        said = SYMBOLS.get(self.symbol, "")
        if not said or self.seen:
            return said
        return f"<p>{said}.</p><p>Nothing on screen stands for it now. {ELSEWHERE.get(self.symbol, '')}</p>"


def stands_for(widget: QWidget, *symbols: str) -> None:
    """Say which symbols of `protocol.words.SYMBOLS` a widget shows."""
    widget.setProperty(STANDS_FOR, list(symbols))


class SymbolLight(QObject):
    """Frames around the widgets that stand for one symbol."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.frames: list[LitFrame] = []

    def show(self, around: QWidget, pointed: Pointed) -> bool:
        """Light what can be seen in a window, instead of what was lit before; whether there is anything."""
        for frame in self.frames:
            if isValid(frame):
                frame.hide()
                frame.deleteLater()
        # A form that was just filled has rows of no height until its layout runs: they could not be seen.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        places = dict.fromkeys(_seen(widget) for widget in _standing(around, pointed)) if pointed.symbol else {}
        self.frames = [LitFrame(place, pointed.symbol) for place in places if place is not None]
        return bool(self.frames)


def _standing(around: QWidget, pointed: Pointed) -> list[QWidget]:
    inside = around.findChildren(QWidget)
    if pointed.symbol == "control":
        topics = [f"parameter/{name}" for name in PARAMETERS.get(pointed.letter, ())]
        return [widget for widget in inside if widget.property(TOPIC) in topics]
    return [each for each in inside if each.isVisible() and pointed.symbol in (each.property(STANDS_FOR) or ())]


def _seen(widget: QWidget) -> QWidget | None:
    """The widget where it can be seen, scrolled to; of a folded row the fold; None where its panel is closed."""
    near: QWidget | None = widget
    for _ in range(NEAR):
        if near is None or near.isVisible() or isinstance(near, QDockWidget | QScrollArea):
            break
        near = near.parentWidget()
    if near is None or not near.isVisible() or isinstance(near, QDockWidget | QScrollArea) or near.isWindow():
        return None
    above = near.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(near)
        above = above.parentWidget()
    return None if near.visibleRegion().isEmpty() else near


class LitFrame(QWidget):
    """Lies over a widget in the colour of a symbol, and follows its size."""

    def __init__(self, place: QWidget, symbol: str) -> None:
        super().__init__(place)
        self.symbol = symbol
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setGeometry(place.rect())
        place.installEventFilter(self)
        self.raise_()
        self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour, width = QColor(symbol_colours(colours_of(self))[self.symbol]), px(self, 2)
        painter.setPen(QPen(colour, width))
        painter.setBrush(faded(colour.name(), 0.14))
        inside = QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.drawRoundedRect(inside, 2 * width, 2 * width)
